"""A stranger's copy of everything published: fetched, resumed, checked, and told what differs (R39). Also of a contest
that lists, sends and packs whatever it likes: the mirror says so, keeps its bounds, and goes on."""

import hashlib
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest
from django.core.management import call_command

from adjudication import mirror
from adjudication.verifier import release_zip
from adjudication.verifier.chain import check_listed_release, parse_listed_release
from adjudication.verifier.findings import Findings
from adjudication.verifier.release_reader import read_manifest
from contest.core.models import Release
from contest.releases.folders import same_folder
from contest.releases.selectors import listed_releases, published_releases
from contest.releases.services import ReleaseResult
from contest.web import file_responses
from tests.contest.pages import lacking
from tests.contest.record import cast
from tests.contest.record.cast import ERRATA, FIRST, SECOND
from tests.processes import ROOT

pytestmark = pytest.mark.django_db


class Run(NamedTuple):
    status: int
    differences: list[str]
    error: str = ""


SAME = Run(mirror.NOTHING_DIFFERS, [])
Again = Callable[[str], Run]


@pytest.fixture
def url(parts: list[ReleaseResult]) -> Iterator[str]:
    with cast.served() as address:
        yield address


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path / "mirror"


@pytest.fixture
def run(here: Path, capsys: Any) -> Again:
    def again(address: str) -> Run:
        status, told = mirror.main([address, str(here), "--quiet"]), capsys.readouterr()
        return Run(status, told.out.splitlines(), told.err)

    return again


def test_all_is_fetched_once_and_checked_each_time(
    parts: list[ReleaseResult], here: Path, url: str, run: Again, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(url) == SAME
    for part in parts:
        assert same_folder(part.folder, here / part.folder.name)
        assert (here / part.archive.name).read_bytes() == part.archive.read_bytes()
    assert [path.name for path in here.iterdir() if not path.name.startswith("release-")] == [mirror.LIST]
    assert len(json.loads((here / mirror.LIST).read_text())["releases"]) == 3

    monkeypatch.setattr(mirror, "_fetch", lambda *_: pytest.fail("fetched again"))
    assert run(url) == SAME
    (here / SECOND / "breaks.csv").write_text("")
    status, differences, _ = run(url)
    assert status == mirror.DIFFERENT and any(line.startswith(f"{SECOND}: breaks.csv: ") for line in differences)


def test_the_command_is_the_same(url: str, here: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit) as over:
        call_command("release_mirror", f"{url}/", str(here))
    told = capsys.readouterr()
    assert (over.value.code, told.out) == (0, "Nothing differs.\n")
    assert lacking(told.err, f"{FIRST} unpacked: ", "releases checked: 3") == []


def test_a_stranger_needs_only_python(url: str, here: Path) -> None:
    """Isolated from every installed package."""
    command = [sys.executable, "-S", "-c", "import sys; from adjudication.mirror import main; sys.exit(main())"]
    done = subprocess.run([*command, url, str(here)], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "Nothing differs.\n"), done.stderr


class Wire:
    """Cuts the first answers after some bytes, and counts what the server sent of files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cuts, self.after, self.sent = 0, 0, 0
        self._read = file_responses.FileSlice.read
        monkeypatch.setattr(file_responses.FileSlice, "read", lambda part, size=-1: self.read(part, size))

    def read(self, part: file_responses.FileSlice, size: int) -> bytes:
        data = self._read(part, min(size, 1_000) if size > 0 else 1_000)
        self.sent += len(data)
        if self.cuts and self.sent >= self.after:
            self.cuts -= 1
            raise ConnectionResetError("the wire is cut")
        return data


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    return Wire(monkeypatch)


def test_a_cut_wire_costs_only_what_was_in_flight(parts: list[ReleaseResult], wire: Wire, url: str, run: Again) -> None:
    wire.cuts, wire.after = 3, 4_000
    assert (run(url), wire.cuts) == (SAME, 0)
    whole = sum(part.archive.stat().st_size for part in parts)
    assert whole <= wire.sent <= whole + 3 * 1_000, "each byte once, but for those that were lost"


def test_an_interrupted_run_goes_on(parts: list[ReleaseResult], here: Path, wire: Wire, url: str, run: Again) -> None:
    wire.cuts, wire.after = 100, 5_000
    status, differences, _ = run(url)
    assert status == mirror.DIFFERENT and "not fetched" in differences[0]
    assert 0 < (here / f"{FIRST}.zip.part").stat().st_size < parts[0].archive.stat().st_size
    wire.cuts, wire.sent = 0, 0
    assert run(url) == SAME
    whole = sum(each.archive.stat().st_size for each in parts)
    assert whole - 3 * 6_000 < wire.sent < whole, "not from the beginning"
    assert not list(here.glob("*.part")) and not list(here.glob("*.etag"))


@pytest.mark.parametrize("note", [b'"another"', b"\xff\xfe\r\nX: y"], ids=["of another file", "damaged"])
def test_what_lay_here_and_is_of_no_use_is_fetched_anew(note: bytes, here: Path, url: str, run: Again) -> None:
    """A part of a file that changed meanwhile at once; a damaged zip is told, and fetched by the next run."""
    here.mkdir()
    (here / f"{FIRST}.zip.part").write_bytes(b"other bytes")
    (here / f"{FIRST}.zip.etag").write_bytes(note)
    (here / f"{SECOND}.zip").write_bytes(b"no zip")
    status, differences, _ = run(url)
    assert (status, len(differences)) == (mirror.DIFFERENT, 1) and f"{SECOND}: the zip is damaged" in differences[0]
    assert (run(url), {path.name for path in here.iterdir() if path.is_dir()}) == (SAME, {FIRST, SECOND, ERRATA})
    assert not list(here.glob("*.etag")) and not list(here.glob("*.part"))


def test_a_past_that_was_rewritten_is_found(parts: list[ReleaseResult], url: str, run: Again) -> None:
    run(url)
    of_second = Release.objects.filter(pk=parts[1].release.pk)
    of_second.update(manifest_sha256="0" * 64)
    for _ in range(2):  # and stays found
        status, differences, _error = run(url)
        assert status == mirror.DIFFERENT
        assert any(f"list: {SECOND}: recorded 000" in line and "as it was before" in line for line in differences)
        wrong = (f"list: {ERRATA}: recorded previous", f"list: {SECOND}: recorded manifest 000")
        assert lacking("\n".join(differences), *wrong) == []
    of_second.update(manifest_sha256=parts[1].release.manifest_sha256)
    parts[2].release.delete()
    status, differences, _ = run(url)
    assert (status, len(differences)) == (mirror.DIFFERENT, 1), "one that is taken back"
    assert f"list: {ERRATA}: recorded nothing" in differences[0]


def test_a_release_whose_file_is_not_there_is_told(
    parts: list[ReleaseResult], here: Path, url: str, run: Again
) -> None:
    parts[1].archive.unlink()
    status, differences, _ = run(url)
    assert status == mirror.DIFFERENT and differences[0].startswith(f"{SECOND}: not fetched: HTTP Error 404")
    assert not (here / mirror.LIST).exists(), "the list is kept once everything agrees"


def test_who_does_not_answer_is_told(run: Again) -> None:
    status, _, error = run("http://127.0.0.1:9")
    assert status == mirror.NOT_CHECKED and "does not answer" in error


# A contest that is not honest ----------------------------------------------------------------------------------------


class Server(ThreadingHTTPServer):
    """A stranger's contest: `rows` is its list, `zips` name -> what it sends, `headers` what it says before that."""

    daemon_threads = True

    def __init__(self, rows: list[dict[str, Any]], zips: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.rows, self.zips, self.headers, self.asked = rows, dict(zips), b"", [""]
        self.status, self.endless, self.list_text = b"200 OK", False, ""
        self.url = f"http://127.0.0.1:{self.server_port}/"

    def handle_error(self, *_: object) -> None:
        """Whoever hung up has had enough."""


class _Answer(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path == "/api/v1/releases/":
            text = self.server.list_text or json.dumps({"releases": self.server.rows})
            self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n" + text.encode())
            return
        name = self.path.rsplit("/", 1)[1].removesuffix(".zip")
        self.wfile.write(b"HTTP/1.0 " + self.server.status + b"\r\n" + self.server.headers + b"\r\n")
        self.wfile.write(self.server.zips[name])
        while self.server.endless:
            self.wfile.write(bytes(1 << 20))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(parts: list[ReleaseResult]) -> Iterator[Server]:
    """It begins as an honest one."""
    rows = [listed_releases(each) for each in published_releases()]
    with Server(rows, {each.folder.name: each.archive.read_bytes() for each in parts}) as contest:
        Thread(target=contest.serve_forever, args=(0.05,), daemon=True).start()
        yield contest
        contest.shutdown()


# The list ------------------------------------------------------------------------------------------------------------


def _in_another_order(rows: list[dict[str, Any]]) -> None:
    rows[1], rows[2] = rows[2], rows[1]
    for before, row in zip(rows, rows[1:], strict=False):
        row["previous_sha256"] = before["manifest_sha256"]


LISTS: dict[str, tuple[Callable[[list[dict[str, Any]]], None], str]] = {
    "a release cut out, and the list mended": (cast.cut_out, f"list: {ERRATA}: recorded previous "),
    "the first one left out": (cast.without_the_first, f"list: {SECOND}: recorded previous nothing, follows "),
    "the order changed": (_in_another_order, f"list: {SECOND}: recorded previous "),
    "another week": (lambda rows: rows[1].update(week="2026-W49"), f"list: {SECOND}: recorded week 2026-W49, follows"),
    "another part": (lambda rows: rows[2].update(part=0), f"list: {ERRATA}: recorded part 0, follows 1"),
    "no chain": (lambda rows: rows[0].update(previous_sha256="0" * 64), f"list: {FIRST}: recorded previous 000"),
}


@pytest.mark.parametrize(("change", "words"), LISTS.values(), ids=LISTS)
def test_a_list_that_is_not_what_the_manifests_say_is_told(
    change: Callable[[list[dict[str, Any]]], None], words: str, server: Server, run: Again, here: Path
) -> None:
    change(server.rows)
    status, differences, _ = run(server.url)
    assert status == mirror.DIFFERENT and any(line.startswith(words) for line in differences), differences
    assert not (here / mirror.LIST).exists(), "so that the next run says it again"


def test_a_release_under_another_name_is_told(server: Server, run: Again, here: Path) -> None:
    run(server.url)
    first, second, errata = map(parse_listed_release, server.rows)
    manifest, found = read_manifest(here / SECOND), Findings()
    check_listed_release(second, first, manifest, found)
    assert found.differences == []
    check_listed_release(second, errata, manifest, found)
    check_listed_release(replace(second, name=ERRATA), first, manifest, found)
    wrong = [line.split(": recorded ")[1].split(" release")[0] for line in found.differences]
    assert wrong == ["previous name", "name"]


def _row(**values: Any) -> str:
    """A list of one release of which one value is wrong."""
    good = {"name": FIRST, "week": "2026-W47", "part": 0, "bytes": 1}
    return json.dumps({"releases": [good | {"manifest_sha256": "0" * 64, "previous_sha256": ""} | values]})


SIZES = ["Infinity", "NaN", "1e400", "-1", "0", "true", '"12"', "null", "[]", "1.5", '"many"']
NO_LISTS: dict[str, str] = {
    "a list": "[]",
    "an object": "{}",
    "lists without end": "[" * 100_000,
    "a number of releases": '{"releases": 1}',
    "a release that is a word": '{"releases": ["x"]}',
    "escape codes": "\x1b[2J",
    "a path for a name": _row(name="../../etc/cron.d/x"),
    "a path behind a name": _row(name="release-2026-W47/.."),
    "no hash": _row(manifest_sha256="x"),
    "an empty hash": _row(manifest_sha256=""),
    "no week": _row(week="2026-W47/.."),
    "a part below zero": _row(part=-1),
    **{f"{size} bytes": _row(bytes="X").replace('"X"', size) for size in SIZES},
}


@pytest.mark.parametrize("what", NO_LISTS)
def test_what_is_no_list_is_told_and_nothing_is_written(what: str, server: Server, run: Again, here: Path) -> None:
    server.list_text = NO_LISTS[what]
    status, _, error = run(server.url)
    assert status == mirror.NOT_CHECKED and "not with a list of releases" in error
    assert "\x1b" not in error and list(here.iterdir()) == []


# The zip -------------------------------------------------------------------------------------------------------------


def _packed_again(data: bytes, change: Callable[[dict[str, bytes]], None]) -> bytes:
    """The same zip with other files in it, its sums right."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {each.filename: archive.read(each) for each in archive.infolist()}
    change(files)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def _damaged_deflate(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entry = archive.getinfo(f"{FIRST}/rulings.csv")
    damaged = bytearray(data)
    start = entry.header_offset + 30 + len(entry.filename) + struct.unpack_from("<H", data, entry.header_offset + 28)[0]
    damaged[start : start + 60] = b"\xff" * 60
    return bytes(damaged)


def _in_the_list(name: str, place: int, layout: str, value: int) -> Callable[[bytes], bytes]:
    """Change one field of an entry of the zip's list; `place` counts from its first byte."""

    def changed(data: bytes) -> bytes:
        at, damaged = data.rindex(f"{FIRST}/{name}".encode()) - 46, bytearray(data)
        struct.pack_into(layout, damaged, at + place, value)
        return bytes(damaged)

    return changed


def _name_of_other_length(data: bytes) -> bytes:
    """The entry itself has a name of 65,535 letters, the list another one."""
    at, damaged = data.index(f"{FIRST}/".encode()) - 4, bytearray(data)
    struct.pack_into("<H", damaged, at, 0xFFFF)
    return bytes(damaged)


def _twice(data: bytes) -> bytes:
    out = io.BytesIO(data)
    with zipfile.ZipFile(out, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(f"{FIRST}/images.csv", "x")
    return out.getvalue()


def _with(name: str, content: bytes) -> Callable[[bytes], bytes]:
    return lambda data: _packed_again(data, lambda files: files.update({name: content}))


ZIPS: dict[str, Callable[[bytes], bytes]] = {
    "no zip": lambda data: b"no zip".ljust(len(data), b"."),
    "cut off": lambda data: data[:-200].ljust(len(data), b"\0"),
    "a damaged stream": _damaged_deflate,
    "a damaged picture": lambda data: data.replace(b"IDAT", b"IDAX"),
    "a file of its own": _with(f"{FIRST}/notes.txt", b"x"),
    "a file of another release": _with(f"{SECOND}/images.csv", b"x"),
    "a path that climbs": _with(f"{FIRST}/../../x", b"x"),
    "a path from the root": _with("/etc/passwd", b"x"),
    "a name of control characters": _with("\x1b[2J", b"x"),
    "a picture that is not listed": _with(f"{FIRST}/images/{'0' * 64}.png", b"x"),
    "a changed table with sums that are right": _with(f"{FIRST}/ledger.csv", b"x"),
    "another manifest": _with(f"{FIRST}/manifest.json", b"{}"),
    "no manifest": lambda data: _packed_again(data, lambda files: files.pop(f"{FIRST}/manifest.json")),
    "a table left out": lambda data: _packed_again(data, lambda files: files.pop(f"{FIRST}/ledger.csv")),
    "a file twice": _twice,
    "a name without end": _name_of_other_length,
    "something that looks like a signature": _with(f"{FIRST}/manifest.sig", b"\x1b[2J"),
    "a way of packing that the library has not": _in_the_list("rulings.csv", 10, "<H", 99),
    "a way of packing that no release has": _in_the_list("rulings.csv", 10, "<H", zipfile.ZIP_BZIP2),
    "an encrypted file": _in_the_list("rulings.csv", 8, "<H", 1),
    "a later version of the format": _in_the_list("rulings.csv", 6, "<H", 99),
    "an entry beyond the end": _in_the_list("rulings.csv", 42, "<I", 0xFFFFFFF0),
    "a file said to be shorter": _in_the_list("rulings.csv", 24, "<I", 3),
    "a size that no disk has": _in_the_list("rulings.csv", 24, "<I", 0xFFFFFFFE),
}


@pytest.mark.parametrize("what", ZIPS)
def test_a_bad_zip_is_told_and_holds_nothing_up(
    what: str, server: Server, run: Again, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release_zip, "MAX_RELEASE_BYTES", 1 << 26)
    good = server.zips[FIRST]
    server.zips[FIRST] = ZIPS[what](good)
    assert server.zips[FIRST] != good
    del server.rows[2]
    server.rows[0]["bytes"] = len(server.zips[FIRST])
    status, differences, _ = run(server.url)
    assert (status, len(differences)) == (mirror.DIFFERENT, 1), differences
    assert differences[0].startswith(f"{FIRST}: the zip is damaged (") and "\x1b" not in differences[0]
    assert len(differences[0]) < 500
    assert {path.name for path in here.iterdir()} == {SECOND, f"{SECOND}.zip", f"{FIRST}.zip.damaged"}


def test_a_zip_with_more_files_than_memory_holds_is_damaged(
    server: Server, run: Again, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release_zip, "MAX_ENTRIES", 20)
    assert lacking(run(server.url).differences[0], f"{FIRST}: the zip is damaged", "more than 20 files") == []


def _hostile(**values: Any) -> Callable[[Path], object]:
    """Rewrite a manifest with other values."""

    def change(folder: Path) -> None:
        path = folder / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | values, indent=1))

    return change


def _pipe(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    os.mkfifo(folder / "manifest.json")


FOLDERS: dict[str, Callable[[Path], object]] = {
    "half of a surrogate pair in the manifest": _hostile(name="release-\ud800"),
    "a name of 5,000 letters": _hostile(previous_name="n" * 5_000),
    "escape codes": _hostile(waiting={"\x1b[2J": 1}),
    "files that are numbers": _hostile(files={"images.csv": 5}),
    "a manifest that is nested deeply": lambda folder: (folder / "manifest.json").write_bytes(b"[" * 100_000),
    "a manifest of bytes": lambda folder: (folder / "manifest.json").write_bytes(b"\xff\0"),
    "a pipe for a manifest": _pipe,
    "no folder any more": lambda folder: folder.rename(folder.with_name("elsewhere")),
}


@pytest.mark.parametrize("what", FOLDERS)
def test_whatever_lies_in_one_release_the_next_one_is_checked(
    what: str, server: Server, run: Again, here: Path
) -> None:
    assert run(server.url) == SAME
    FOLDERS[what](here / FIRST)
    (here / SECOND / "breaks.csv").write_text("")
    status, differences, error = run(server.url)
    assert (status, error) == (mirror.DIFFERENT, "") and all(line.isprintable() for line in differences)
    assert [line for line in differences if line.startswith(f"{SECOND}: breaks.csv: ")], differences
    if what != "no folder any more":  # that one is unpacked again
        assert [line for line in differences if FIRST in line and "breaks.csv" not in line]


def test_a_hostile_manifest_that_is_listed_holds_nothing_up(server: Server, run: Again, here: Path) -> None:
    """A contest that lists the hash of a manifest that nobody can read."""
    hostile = b"[" * 100_000
    server.zips[FIRST] = _with(f"{FIRST}/manifest.json", hostile)(server.zips[FIRST])
    server.rows[0] |= {"bytes": len(server.zips[FIRST]), "manifest_sha256": hashlib.sha256(hostile).hexdigest()}
    status, differences, _ = run(server.url)
    assert status == mirror.DIFFERENT and f"{FIRST}: not unpacked: " in "".join(differences)
    assert (here / SECOND).is_dir() and (here / ERRATA).is_dir()


def test_a_bomb_writes_nothing(server: Server, run: Again, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables may say what they like: what they unpack to is bounded before the first byte is written."""
    most = sum(len(data) for data in server.zips.values()) + (1 << 20)
    monkeypatch.setattr(release_zip, "MAX_RELEASE_BYTES", most)
    server.zips[FIRST] = _with(f"{FIRST}/ledger.csv", bytes(most))(server.zips[FIRST])
    server.rows[0]["bytes"] = len(server.zips[FIRST])
    assert lacking(run(server.url).differences[0], "the zip is damaged", f"{most:,} are the most") == []
    assert not list(here.glob(f".{FIRST}*"))


def test_what_the_disk_has_no_room_for_is_not_written(
    server: Server, run: Again, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release_zip, "_SPARE_BYTES", 1 << 62)  # more than any disk has free
    status, differences, _ = run(server.url)
    assert (status, list(here.iterdir())) == (mirror.DIFFERENT, [])
    assert differences[0].startswith(f"{FIRST}: not fetched: ") and "0 can be taken on this disk" in differences[0]
    monkeypatch.undo()
    run(server.url)
    shutil.rmtree(here / FIRST)
    monkeypatch.setattr(release_zip, "_SPARE_BYTES", 1 << 62)
    assert [line.split(":")[1] for line in run(server.url).differences] == [" not unpacked"]
    assert (here / f"{FIRST}.zip").exists() and not list(here.glob(".*")), "the zip is as good as it was"


# Fetching ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        (b'ETag: "\xe9\xff"\r\n', "no ASCII"),
        (b'ETag: "a\x0bb"\r\n', "control characters"),
        (b'ETag: "' + b"x" * 5_000 + b'"\r\n', "longer than any"),
        (b"Content-Length: many\r\n", "no number"),
        (b"Content-Length: -5\r\n", "no length"),
        (b"Content-Range: bytes x-y/z\r\n", "nobody asked"),
    ],
)
def test_headers_that_mean_nothing_do_no_harm(headers: bytes, why: str, server: Server, run: Again) -> None:
    del server.rows[1:]
    server.headers = headers
    assert run(server.url) == SAME, why


@pytest.mark.parametrize(
    ("status", "headers", "why"),
    [
        (b"200 OK", b"Content-Length: 5\r\n", "ends early"),
        (b"200 OK", b"Transfer-Encoding: chunked\r\n", "chunks that are none"),
        (b"302 Found", b"Location: http://[\r\n", "no address"),
        (b"302 Found", b"Location: file:///etc/passwd\r\n", "not of the web"),
        (b"302 Found", b"Location: http://x:y/\r\n", "no port"),
        (b"416 No", b"", "a range that nobody asked for"),
        (b"404 \x1b[2J", b"", "a reason that is no text"),
        (b"many OK", b"", "no status"),
    ],
)
def test_an_answer_that_is_none_is_told(status: bytes, headers: bytes, why: str, server: Server, run: Again) -> None:
    server.status, server.headers = status, headers
    code, differences, _ = run(server.url)
    assert code == mirror.DIFFERENT and "\x1b" not in "".join(differences), why
    assert [line.split(":")[:2] for line in differences] == [[name, " not fetched"] for name in (FIRST, SECOND, ERRATA)]


def test_an_answer_without_end_is_cut(server: Server, run: Again, here: Path) -> None:
    server.endless = True
    sizes = {row["name"]: f"{row['bytes']:,} bytes" for row in server.rows}
    told = [f"{name}: not fetched: more came than the {size} that are listed" for name, size in sizes.items()]
    assert run(server.url)[:2] == (mirror.DIFFERENT, told)
    assert sum(path.stat().st_size for path in here.iterdir() if path.suffix != ".etag") == 0
    server.endless = False
    assert run(server.url).status == mirror.NOTHING_DIFFERS, "the next run fetches what the contest mended"


def test_a_release_said_to_be_larger_than_any_is_not_asked_for(server: Server, run: Again) -> None:
    server.rows[1]["bytes"] = mirror.MAX_RELEASE_BYTES + 1
    status, (told,), _ = run(server.url)
    assert status == mirror.DIFFERENT
    assert told.startswith(f"{SECOND}: not fetched: ") and "the most that is taken" in told
    assert f"/releases/{SECOND}.zip" not in server.asked
