"""A release that a stranger made ends the verifier with differences or as no release, whatever is in it (R39)."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adjudication import release_format as form
from adjudication.untrusted_files import MOST_FILE_BYTES, MOST_LINE_BYTES
from adjudication.verify import DIFFERENT, NO_RELEASE, main, verify
from adjudication.verify_reading import Findings, NotARelease
from tests.adjudication.test_verify import Forger

ROOT = Path(__file__).resolve().parents[2]
# What verify() says where an error came that no check expects.
UNEXPECTED = "a check ended early"
# Enough for the small release here and for the largest line, not for the files below.
MEMORY_BYTES = 1 << 30

pytestmark = pytest.mark.django_db


def checked(folder: Path) -> Findings | None:
    """What the verifier finds; None where it says that this is no release. It expects all that is wrong here."""
    try:
        findings = verify(folder)
    except NotARelease as error:
        assert len(str(error)) < 2_000
        return None
    assert not [line for line in findings.differences if UNEXPECTED in line], findings.differences
    return findings


# The manifest --------------------------------------------------------------------------------------------------------

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


@pytest.mark.parametrize("what", MANIFESTS)
def test_a_hostile_value_in_the_manifest_is_a_difference_or_no_release(what: str, forger: Forger) -> None:
    key, value = MANIFESTS[what]
    values = json.loads((forger.folder / form.MANIFEST).read_text())
    _write(forger.folder, json.dumps(values | {key: value}, indent=1).encode())
    findings = checked(forger.folder)
    assert findings is None or findings.differences
    assert findings is None or all(line.isprintable() for line in [*findings.differences, *findings.notes])


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
    _write(forger.folder, TEXTS[what]((forger.folder / form.MANIFEST).read_bytes()))
    findings = checked(forger.folder)
    assert findings is None or findings.differences


def _write(folder: Path, text: bytes) -> None:
    (folder / form.MANIFEST).write_bytes(text)


# What lies in the folder ---------------------------------------------------------------------------------------------


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's address is short
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


ENTRIES: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a socket": _socket,
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
    assert findings is not None
    assert "manifest.json: images: recorded an extra file, follows no such file" in findings.differences
    assert "0 pictures decoded" in findings.figures


def test_names_that_are_no_text_are_differences(forger: Forger, capsys: pytest.CaptureFixture[str]) -> None:
    Path(os.fsdecode(os.fsencode(forger.folder) + b"/\xff\x1b[2J.csv")).touch()
    assert main([str(forger.folder)]) == DIFFERENT
    assert "an extra file" in (said := capsys.readouterr().out)
    assert "\x1b" not in said


def test_a_release_beside_that_cannot_be_read_holds_nothing_up(forger: Forger) -> None:
    (beside := forger.folder.parent / "release-2026-W46").mkdir()
    os.mkfifo(beside / form.MANIFEST)
    forger.manifest(lambda values: values.update(previous_name=beside.name, previous_sha256="0" * 64))
    findings = checked(forger.folder)
    assert findings is not None
    assert "chain: release-2026-W46 is not here to compare with" in findings.notes


# Tables --------------------------------------------------------------------------------------------------------------

TABLES: dict[str, Callable[[bytes], bytes]] = {
    "a cell that is too long": lambda text: text + b'"' + b"x" * (1 << 18) + b'",' * 3 + b"\n",
    "a quote that never ends": lambda text: text + b'"' + b"x\n" * 1_000,
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


def _long_line(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(600 << 20)


def _larger_than_all(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(MOST_FILE_BYTES + 1)


@pytest.mark.long("memory at size: the line that is too long is named below")
@pytest.mark.parametrize("name", [form.RESPONSES, form.COCO, form.PARQUET, form.MANIFEST])
@pytest.mark.parametrize("make", [_long_line, _larger_than_all])
def test_a_file_or_a_line_without_end_is_not_held_in_memory(
    make: Callable[[Path], None], name: str, forger: Forger
) -> None:
    make(forger.folder / name)
    program = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES}, {MEMORY_BYTES})); "
        "from adjudication.verify import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, str(forger.folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, UNEXPECTED in done.stdout) == (NO_RELEASE if name == form.MANIFEST else DIFFERENT, False)
    assert "Traceback" not in done.stderr


def test_a_line_that_is_too_long_is_named(forger: Forger) -> None:
    path = forger.folder / form.RESPONSES
    path.write_bytes(path.read_bytes() + b"x" * (MOST_LINE_BYTES + 1))
    forger.rehash()
    findings = checked(forger.folder)
    assert findings and [line for line in findings.differences if "has more than 1,048,576 bytes" in line]


# Whatever else -------------------------------------------------------------------------------------------------------

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
def original(forger: Forger) -> Iterator[Path]:
    kept = forger.folder.with_name("kept")
    forger.folder.rename(kept)
    yield kept


@given(changes=st.dictionaries(KEYS, VALUES, min_size=1, max_size=3), inner=st.dictionaries(WORDS, VALUES, max_size=2))
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
def test_no_manifest_ends_it_with_an_error(original: Path, changes: dict[str, Any], inner: dict[str, Any]) -> None:
    text = (original / form.MANIFEST).read_bytes()
    values = json.loads(text) | changes
    for key in INNER:
        if isinstance(values[key], dict):
            values[key] = values[key] | inner
    try:
        _write(original, json.dumps(values, indent=1).encode())
        checked(original)
    finally:
        _write(original, text)


@given(
    name=st.sampled_from(sorted({*form.TABLES, form.TASKER_DATA, form.COCO} - {form.PROVENANCE})),
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
