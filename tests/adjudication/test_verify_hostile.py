"""A release that a stranger made ends the verifier with differences or as no release, whatever is in it, and what is
printed of it is text alone (R39)."""

import ast
import io
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adjudication.schema import release_format as form
from adjudication.schema import release_tables
from adjudication.verifier import findings as findings_of
from adjudication.verifier import pictures, untrusted_files
from adjudication.verifier.findings import Findings
from adjudication.verifier.pictures import ListedPicture
from adjudication.verifier.release import begin_table
from adjudication.verifier.release_reader import read_table
from adjudication.verifier.rows import RowMemory
from adjudication.verifier.terminal import MAX_LINE_CHARACTERS, encodable, printable, show
from adjudication.verifier.untrusted_files import (
    MAX_FILE_BYTES,
    MAX_LINE_BYTES,
    NotARelease,
    UnreadableFile,
    names_in,
    read_bytes,
)
from adjudication.verify import DIFFERENT, NO_RELEASE, main, verify
from tests.adjudication.test_verify import ROOT, Forger

pytestmark = pytest.mark.django_db


# What verify() says where an error came that no check expects.
UNEXPECTED = "a check ended early"
# What the verifier may take of a stranger's release.
MEMORY_BYTES = 1 << 29


def checked(folder: Path) -> Findings | None:
    """What the verifier finds; None where it says that this is no release. It expects all that is wrong here."""
    try:
        findings = verify(folder)
    except NotARelease as error:
        assert len(str(error)) < 2_000
        return None
    assert not [line for line in findings.differences if UNEXPECTED in line], findings.differences
    return findings


# The manifest ---------------------------------------------------------------------------------------------------------

DEEP: Any = []
for _ in range(60):
    DEEP = [DEEP]
MANIFESTS: dict[str, tuple[str, Any]] = {
    "half of a surrogate pair in the name": ("name", "release-\ud800"),
    "half of a surrogate pair in the week": ("week", "\udfff"),
    "a name of 5,000 letters": ("name", "n" * 5_000),
    "a release before of 5,000 letters": ("previous_name", "n" * 5_000),
    "a release before outside": ("previous_name", "../../../../../../etc"),
    "a release before with a zero byte": ("previous_name", "release-2026-W46\0"),
    "a release before with a newline": ("previous_name", "release-2026-W46\n"),
    "escape codes": ("previous_name", "\x1b[2J\x1b[1;1HNothing differs."),
    "a file of 5,000 letters": ("files", {"n" * 5_000: "0" * 64}),
    "a picture's file of 5,000 letters": ("files", {f"images/{'0' * 5_000}.png": "0" * 64}),
    "a file with a zero byte": ("files", {"images/\0.png": "0" * 64}),
    "a file outside": ("files", {"images/../../../../../../../../../etc/passwd": "0" * 64}),
    "an absolute file": ("files", {"/dev/zero": "0" * 64}),
    "a file that is a device": ("files", {"images//dev/zero": "0" * 64}),
    "a file without a name": ("files", {"": "0" * 64}),
    "the manifest itself": ("files", {"manifest.json": "0" * 64}),
    "hashes that are numbers": ("files", {"images.csv": 5}),
    "a part below zero": ("part", -(10**18)),
    "a part that is true": ("part", True),
    "a part of many digits": ("part", 10**100),
    "a revision that is true": ("revision", True),
    "a revision that is a list": ("revision", []),
    "a revision of another rule book": ("revision", 1),
    "a rule book of another revision": ("rule_book", "1"),
    "a rule book that is a list": ("rule_book", ["2"]),
    "a rule book to come": ("rule_book", "3"),
    "no number": ("kept_out", float("nan")),
    "infinity": ("kept_out", float("inf")),
    "fewer kept out than none": ("kept_out", -(10**15)),
    "what waits is nested": ("waiting", {"runs": DEEP}),
    "what waits is words": ("waiting", {"\x1b[2J": "\u202e\u2066", "runs": "many", "panel": None}),
    "what waits is below zero": ("waiting", {"runs": -1, "panel": -(10**15)}),
    "counts of words": ("counts", {"images": "x" * 100_000, "\u200b": [1, {"a": 2}]}),
    "no policies": ("policy", {}),
    "a policy that is a list": ("policy", {"1": [1, 2]}),
    "a policy of words": ("policy", {"1": "numbers"}),
    "a policy with wrong kinds": (
        "policy",
        {"1": {"name": [], "min_box_fraction": 7, "outline_gate": {}, "panel_size": "3", "evaluation_runs": 1e300}},
    ),
    "a share of nothing": (
        "policy",
        {"1": {"name": "", "min_box_fraction": "1/0", "outline_gate": "", "panel_size": 3, "evaluation_runs": 3}},
    ),
    "times that are words": ("week_end", "\u202e"),
    "a list for a table": ("files", []),
}


@pytest.mark.parametrize(("key", "value"), MANIFESTS.values(), ids=MANIFESTS)
def test_a_hostile_value_in_the_manifest_is_a_difference_or_no_release(key: str, value: Any, forger: Forger) -> None:
    values = json.loads((forger.folder / form.MANIFEST).read_text())
    (forger.folder / form.MANIFEST).write_text(json.dumps(values | {key: value}, indent=1))
    findings = checked(forger.folder)
    assert findings is None or findings.differences and "".join([*findings.differences, *findings.notes]).isprintable()


TEXTS: dict[str, Callable[[bytes], bytes]] = {
    "a number that is too large": lambda text: text.replace(b'"part": 0', b'"part": 1e999'),
    "a number of 5,000 digits": lambda text: text.replace(b'"part": 0', b'"part": ' + b"9" * 5_000),
    "a number of 30 digits": lambda text: text.replace(b'"part": 0', b'"part": ' + b"9" * 30),
    "a key twice": lambda text: text.replace(b'"part": 0', b'"part": 1, "part": 0'),
    "lists without end": lambda text: text.replace(b'"part": 0', b'"part": ' + b"[" * 200_000),
    "deep lists": lambda text: text.replace(b'"part": 0', b'"part": 0, "more": ' + b"[" * 500 + b"]" * 500),
    "deep objects": lambda text: text.replace(
        b'"part": 0', b'"part": 0, "more": ' + b'{"a":' * 500 + b"1" + b"}" * 500
    ),
    "many lists": lambda text: text.replace(b'"part": 0', b'"part": 0, "more": [' + b"[]," * 100_000 + b"0]"),
    "many values": lambda text: text.replace(b'"part": 0', b'"part": 0, "more": [' + b"0," * 1_000_000 + b"0]"),
    "a mark of the byte order": lambda text: b"\xef\xbb\xbf" + text,
    "UTF-16": lambda text: text.decode().encode("utf-16"),
    "no UTF-8": lambda text: b"\xff" + text,
    "carriage returns": lambda text: text.replace(b"\n", b"\r\n"),
    "a zero byte": lambda text: text + b"\0",
    "nothing": lambda text: b"",
    "cut in its middle": lambda text: text[: len(text) // 2],
}


@pytest.mark.parametrize("what", TEXTS)
def test_a_hostile_text_of_the_manifest_is_a_difference_or_no_release(what: str, forger: Forger) -> None:
    path = forger.folder / form.MANIFEST
    path.write_bytes(TEXTS[what](path.read_bytes()))
    findings = checked(forger.folder)
    assert findings is None or findings.differences


# What lies in the folder ----------------------------------------------------------------------------------------------

ENTRIES: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
    "a folder": Path.mkdir,
    "a link to the file": lambda path: path.symlink_to(path.parent.parent / "elsewhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
}
FILES = (form.MANIFEST, form.IMAGES, form.AUDIT, form.COCO, form.PARQUET)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("what", ENTRIES)
def test_what_is_no_regular_file_is_not_opened(what: str, name: str, forger: Forger) -> None:
    (forger.folder / name).rename(forger.folder.parent / "elsewhere")
    ENTRIES[what](forger.folder / name)
    findings = checked(forger.folder)
    assert (findings is None) if name == form.MANIFEST else (findings and findings.differences)


@pytest.mark.parametrize("what", ["a pipe", "a socket", "a folder", "a link to a device"])
def test_a_picture_that_is_no_regular_file_is_a_difference(what: str, forger: Forger) -> None:
    picture = forger.folder / form.PICTURES / f"{forger.sha_of['valid bird']}.png"
    picture.unlink()
    ENTRIES[what](picture)
    findings = checked(forger.folder)
    assert findings and [line for line in findings.differences if picture.name[:40] in line]


def test_pictures_behind_a_link_are_not_read(forger: Forger) -> None:
    pictures = forger.folder / form.PICTURES
    pictures.rename(forger.folder.parent / "elsewhere")
    pictures.symlink_to(forger.folder.parent / "elsewhere")
    findings = checked(forger.folder)
    assert findings and "pictures: 0 decoded" in findings.figures
    assert "manifest.json: images: recorded an extra file, follows no such file [R39]" in findings.differences


def test_what_file_managers_leave_is_no_difference(forger: Forger) -> None:
    for name in (".DS_Store", "images/.DS_Store", "images/Thumbs.db", "desktop.ini"):
        (forger.folder / name).write_bytes(b"x")
    findings = checked(forger.folder)
    assert not findings.differences
    assert ".DS_Store: left by a file manager, and no part of the release" in findings.notes


def test_names_that_are_no_text_are_differences(forger: Forger, capsys: pytest.CaptureFixture[str]) -> None:
    Path(os.fsdecode(os.fsencode(forger.folder) + b"/\xff\x1b[2J.csv")).touch()
    assert main([str(forger.folder)]) == DIFFERENT
    assert "an extra file" in (said := capsys.readouterr().out) and "\x1b" not in said


def test_a_release_beside_that_cannot_be_read_holds_nothing_up(forger: Forger) -> None:
    (beside := forger.folder.parent / "release-2026-W46").mkdir()
    os.mkfifo(beside / form.MANIFEST)
    forger.manifest(lambda values: values.update(previous_name=beside.name, previous_sha256="0" * 64))
    findings = checked(forger.folder)
    assert findings and "chain: release-2026-W46 is not here to compare with" in findings.notes


# Tables ---------------------------------------------------------------------------------------------------------------

TABLES: dict[str, Callable[[bytes], bytes]] = {
    "a cell that is too long": lambda text: text + b'"' + b"x" * (1 << 18) + b'",' * 3 + b"\n",
    "a quote that never ends": lambda text: text + b'"' + b"x\n" * 1_000,
    "a record that never ends": lambda text: text + b'"\n",' * (1 << 18),
    "a quote within a cell": lambda text: text + b'a"b"\n',
    "zero bytes": lambda text: text.replace(b"true", b"\0", 1) + b"\0\0\0\n",
    "a mark of the byte order": lambda text: b"\xef\xbb\xbf" + text,
    "carriage returns": lambda text: text.replace(b"\n", b"\r\n"),
    "a carriage return within a line": lambda text: text.replace(b",", b",\r", 1),
    "empty lines": lambda text: text + b"\n" * 1_000,
    "no end of the last line": lambda text: text.rstrip(b"\n"),
    "no UTF-8": lambda text: text + b"\xff\xfe\n",
    "nothing": lambda text: b"",
    "another heading": lambda text: b"=HYPERLINK()\n" + text,
    "all rows twice": lambda text: text + text.partition(b"\n")[2],
}


@pytest.mark.parametrize("name", [form.RESPONSES, form.RULINGS, form.COCO, form.TASKER_DATA])
@pytest.mark.parametrize("what", TABLES)
def test_a_hostile_table_is_a_difference(what: str, name: str, forger: Forger) -> None:
    path = forger.folder / name
    path.write_bytes(TABLES[what](path.read_bytes()))
    forger.rehash()
    findings = checked(forger.folder)
    assert findings and [line for line in findings.differences if line.startswith(f"{name}: ")]


@pytest.mark.long("memory at size: the line that is too long is named below")
@pytest.mark.parametrize("name", [form.RESPONSES, form.COCO, form.PARQUET, form.MANIFEST])
@pytest.mark.parametrize("size", [600 << 20, MAX_FILE_BYTES + 1], ids=["a long line", "larger than all"])
def test_a_file_or_a_line_without_end_is_not_held_in_memory(size: int, name: str, forger: Forger) -> None:
    (forger.folder / name).write_bytes(b"")
    os.truncate(forger.folder / name, size)
    assert in_little_memory(forger.folder) == (NO_RELEASE if name == form.MANIFEST else DIFFERENT)


def in_little_memory(folder: Path) -> int:
    """The exit status of the verifier with no more memory than it may take."""
    program = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES}, {MEMORY_BYTES})); "
        "from adjudication.verify import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert not [said for said in (UNEXPECTED, "Traceback", "MemoryError") if said in done.stdout + done.stderr]
    return done.returncode


AT = "2026-11-18T12:00:00.000000Z"
MANY: dict[str, tuple[str, Callable[[int], str], int]] = {
    "predictions": (form.PREDICTIONS, lambda n: f"{n},D-{n},x,P-{n},1,bird,0,0,x,1,1,1,1,1,1,{AT},1", NO_RELEASE),
    "attacks": (form.ATTACKS, lambda n: f"{n},A-{n},P-{n},G-{n},{AT},2026-W47,1,,,", NO_RELEASE),
    "rows with too few cells": (form.LEDGER, lambda n: "1,2", DIFFERENT),
    "empty rows": (form.LEDGER, lambda n: "", DIFFERENT),
}


@pytest.mark.long("memory at size: that rows are counted is shown below")
@pytest.mark.parametrize("what", MANY)
def test_more_rows_than_memory_holds_are_not_held(what: str, forger: Forger) -> None:
    name, row, status = MANY[what]
    with (forger.folder / name).open("a") as file:
        file.writelines(f"{row(number)}\n" for number in range(1, 2_000_000))
    forger.rehash()
    assert in_little_memory(forger.folder) == status


def test_rows_that_take_more_memory_than_is_allowed_are_no_release(forger: Forger) -> None:
    assert read_table(forger.folder, form.RESPONSES, Findings())
    with pytest.raises(NotARelease, match=r"responses.csv: its rows take more than 0 MiB of memory"):
        read_table(forger.folder, form.RESPONSES, Findings(), memory=RowMemory(forger.folder, 2_000))


def test_a_table_that_is_read_beside_takes_the_same_memory(forger: Forger) -> None:
    alone, beside = RowMemory(forger.folder), RowMemory(forger.folder)
    read_table(forger.folder, form.RESPONSES, Findings(), memory=alone)
    with ProcessPoolExecutor(1) as processes:
        read = begin_table(forger.folder, form.RESPONSES, beside, processes, revision=form.REVISION)
        assert len(read(Findings())) > 0 and beside.left == alone.left
        for at_first, later, reason in ((2_000, 2_000, "never enough"), (1 << 20, 0, "others took it meanwhile")):
            little = RowMemory(forger.folder, at_first)
            read = begin_table(forger.folder, form.RESPONSES, little, processes, revision=form.REVISION)
            little.left = later
            with pytest.raises(NotARelease, match=r"responses.csv: its rows take more than \d+ MiB of memory"):
                read(Findings())
            assert (little.left == later) == (at_first == later), reason


PLAIN = ("images/x", "x")
NOT_PLAIN = (
    "",
    "/x",
    "..",
    "../x",
    "images/../x",
    "images//x",
    "./x",
    "images/./x",
    "images/",
    "x\0",
    "link/x",
    "none/x",
)


def test_only_plain_names_of_files_are_opened(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "link").symlink_to("images")
    for name in PLAIN:
        (tmp_path / name).write_bytes(b"it")
    assert [read_bytes(tmp_path, name) for name in PLAIN] == [b"it", b"it"]
    for name in NOT_PLAIN:
        with pytest.raises(UnreadableFile):
            read_bytes(tmp_path, name)


@pytest.mark.parametrize(("stated", "holds"), [(3, 3), (3, 10), (0, 10), (3, 11), (10, 11)])
def test_a_file_that_grows_while_it_is_read_is_read_to_its_end_or_to_the_most(
    stated: int, holds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").write_bytes(b"x" * holds)
    fstat = os.fstat
    monkeypatch.setattr(os, "fstat", lambda file: os.stat_result((*fstat(file)[:6], stated, 0, 0, 0)))
    if holds <= 10:
        assert read_bytes(tmp_path, "x", max_bytes=10) == b"x" * holds
    else:
        with pytest.raises(UnreadableFile, match="more than 10 bytes"):
            read_bytes(tmp_path, "x", max_bytes=10)


def test_several_processes_find_what_one_finds(forger: Forger, monkeypatch: pytest.MonkeyPatch) -> None:
    path = forger.folder / form.RESPONSES
    heading, first, second, *lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([heading, second, first, "1,2\n", *lines[:-1], lines[-1].replace(",", ",x", 1)]))
    forger.rehash()
    alone = verify(forger.folder)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    monkeypatch.setattr(pictures, "_FEW", 2)
    assert len(alone.differences) > 3 and verify(forger.folder) == alone


@pytest.mark.parametrize("row", ["1,2\n", "\n"], ids=["ragged", "empty"])
def test_a_table_is_read_as_far_as_differences_are_kept(
    row: str, forger: Forger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings_of, "_MAX_DIFFERENCES", 50)
    with (forger.folder / form.RESPONSES).open("a") as file:
        file.write(row * 100)
    findings = Findings()
    assert read_table(forger.folder, form.RESPONSES, findings)
    assert (len(findings.found), findings.not_kept) == (50, 1)


def test_names_of_a_folder_are_read_as_far_as_memory_holds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "names").mkdir()
    for number in range(10):
        (folder / f"{number:0200}").touch()
    assert len(names_in(folder)) == 10
    monkeypatch.setattr(untrusted_files, "_MAX_NAMES_CHARACTERS", 1_000)
    assert len(names_in(folder)) == 5


def test_two_answers_of_one_number_are_a_difference(forger: Forger) -> None:
    """Found by the fuzzer: they were put into an order by their boxes, which have none."""

    def twice(rows: list[dict[str, str]]) -> None:
        outlined = next(row for row in rows if row["outline"] == "[[[5,5],[35,5],[35,35],[5,35]]]")
        rows.insert(rows.index(outlined), outlined | {"outline": "[[[5,5],[34,5],[34,34],[5,34]]]"})

    forger.rows(form.RESPONSES, twice)
    forger.rehash()
    findings = checked(forger.folder)
    assert findings and [line for line in findings.all_differences() if "ascending, each once" in str(line)]


def test_a_line_that_is_too_long_is_named(forger: Forger) -> None:
    path = forger.folder / form.RESPONSES
    path.write_bytes(path.read_bytes() + b"x" * (MAX_LINE_BYTES + 1))
    forger.rehash()
    findings = checked(forger.folder)
    assert findings and [line for line in findings.differences if "has more than 1,048,576 bytes" in line]


def end_at_once(folder: Path, listed: Sequence[ListedPicture]) -> NoReturn:
    """What a process that looks at pictures does when the system takes its memory back."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("nothing comes after that")


def test_a_process_that_is_ended_from_outside_is_a_difference(forger: Forger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    monkeypatch.setattr(pictures, "_FEW", 2)
    assert verify(forger.folder).differences == []
    monkeypatch.setattr(pictures, "look_at", end_at_once)
    (difference,) = verify(forger.folder).differences
    assert UNEXPECTED in difference and "BrokenProcessPool" in difference


# Whatever else --------------------------------------------------------------------------------------------------------

WORDS = st.text(st.characters(codec=None), max_size=40) | st.sampled_from(["\x1b[2J", "1/0", "\ud800", "n" * 300, ""])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        *("name", "week", "part", "previous_name", "previous_sha256", "week_start", "week_end", "time_zone"),
        *("policy", "waiting", "counts", "files", "revision", "rule_book", "format", "kept_out"),
    ]
)
INNER = ("policy", "waiting", "counts", "files")


@pytest.fixture
def original(forger: Forger) -> Path:
    return forger.folder.rename(forger.folder.with_name("kept"))


@given(changes=st.dictionaries(KEYS, VALUES, min_size=1, max_size=3), inner=st.dictionaries(WORDS, VALUES, max_size=2))
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
def test_no_manifest_ends_it_with_an_error(original: Path, changes: dict[str, Any], inner: dict[str, Any]) -> None:
    path = original / form.MANIFEST
    text = path.read_bytes()
    values = json.loads(text) | changes
    for key in INNER:
        if isinstance(values[key], dict):
            values[key] = values[key] | inner
    try:
        path.write_text(json.dumps(values, indent=1))
        checked(original)
    finally:
        path.write_bytes(text)


@given(
    name=st.sampled_from(sorted({*release_tables.TABLES, form.TASKER_DATA, form.COCO} - {form.PROVENANCE})),
    at=st.floats(0, 1),
    away=st.integers(0, 30),
    put=st.binary(max_size=30) | st.sampled_from([b"\n", b'"', b",", b"\r\n", b"9" * 40, b"[[[", b"nan", b"-1", b"\0"]),
)
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
def test_no_bytes_of_a_table_end_it_with_an_error(original: Path, name: str, at: float, away: int, put: bytes) -> None:
    path = original / name
    text = path.read_bytes()
    start = int(at * len(text))
    try:
        path.write_bytes(text[:start] + put + text[start + away :])
        checked(original)
    finally:
        path.write_bytes(text)


# The terminal ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("\x1b[2J", "an escape code clears the screen"),
        ("\x9b2J", "and so does its one-byte form (C1)"),
        ("a\nNothing differs.", "an end of line begins a line of its own"),
        ("a\r\x08b", "what goes back writes over"),
        ("a\u2028b\u2029c\x85d", "other ends of lines"),
        ("\u202eabc\u202c \u2066a\u2069 \u200f", "marks of direction show text the other way round"),
        ("a\u200bb\u200dc\u2060d\ufeff", "marks without width"),
        ("a\u3164b\u115fc\u034fd\ufe0fe\u2800f", "letters that nobody sees"),
        ("\ud800", "half of a surrogate pair has no bytes"),
        ("\0\t\x7f", "control codes"),
        ("\ue000\uffff", "letters of nobody"),
    ],
)
def test_only_text_is_printed(text: str, why: str) -> None:
    said = printable(text)
    assert said.isprintable() and len(said) == len(text) and "\N{REPLACEMENT CHARACTER}" in said, why


def test_text_stays_as_it_is() -> None:
    assert printable("Vögel, 鳥, طائر: 1/4") == "Vögel, 鳥, طائر: 1/4"


def test_a_long_value_is_cut_in_its_middle() -> None:
    said = printable("a" * 10**6 + "b")
    assert (len(said), said[-1]) == (MAX_LINE_CHARACTERS + 1, "b")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "cp437"])
def test_every_terminal_can_print_it(encoding: str) -> None:
    stream = io.TextIOWrapper(raw := io.BytesIO(), encoding=encoding, write_through=True)
    show("鳥 \ud800 \x1b", stream=stream)
    assert raw.getvalue().endswith(b"\n") and b"\x1b" not in raw.getvalue()


def test_a_terminal_that_names_no_encoding_gets_ascii() -> None:
    assert encodable("ä", None) == "\\xe4"


def test_the_verifier_prints_names_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "\x1b[2J")]) == NO_RELEASE
    assert "\x1b" not in capsys.readouterr().err


WRITES = ("stdout.write", "stdout.writelines", "stderr.write", "stderr.writelines")


def test_nothing_else_prints() -> None:
    modules = [path for path in (ROOT / "adjudication").rglob("*.py") if path.name != "terminal.py"]
    assert len(modules) > 25
    for path in modules:
        nodes = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name | ast.Attribute))
        names = map(ast.unparse, nodes)
        assert not [name for name in names if name in ("print", "input") or name.endswith(WRITES)], path.name
