"""A contest that lists, sends and packs whatever it likes: the mirror says so, keeps its bounds, and goes on (R39)."""

import io
import json
import shutil
import struct
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest

from adjudication import mirror, mirror_zip
from adjudication.verify_chain import Listed, check_listed, read_listed
from adjudication.verify_reading import Findings, read_manifest
from contest.record.selectors import as_listed, releases
from contest.releases import Released

FIRST, SECOND, ERRATA = "release-2026-W47", "release-2026-W48", "release-2026-W47-errata-1"


class Server(ThreadingHTTPServer):
    """A stranger's contest: `rows` is its list, `zips` name -> what it sends, `headers` what it says before that."""

    daemon_threads = True

    def __init__(self, rows: list[dict[str, Any]], zips: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.rows, self.zips, self.headers, self.asked = rows, dict(zips), b"", [""]
        self.status, self.endless, self.list_text = b"200 OK", False, ""
        self.url = f"http://127.0.0.1:{self.server_port}/"


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

    def handle(self) -> None:
        """Answer; whoever hung up has had enough."""
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True


@pytest.fixture(scope="module")
def published(two_weeks_released: list[Released]) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    """What an honest contest lists and sends."""
    zips = {each.folder.name: each.archive.read_bytes() for each in two_weeks_released}
    return [as_listed(each) for each in releases()], zips


@pytest.fixture
def server(published: tuple[list[dict[str, Any]], dict[str, bytes]]) -> Iterator[Server]:
    rows, zips = published
    with Server([dict(row) for row in rows], zips) as contest:
        Thread(target=contest.serve_forever, args=(0.05,), daemon=True).start()
        yield contest
        contest.shutdown()


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path / "mirror"


class Run(NamedTuple):
    status: int
    differences: list[str]
    error: str


@pytest.fixture
def run(server: Server, here: Path, capsys: Any) -> Callable[[], Run]:
    def again() -> Run:
        status = mirror.main([server.url, str(here), "--quiet"])
        told = capsys.readouterr()
        return Run(status, told.out.splitlines(), told.err)

    return again


Again = Callable[[], Run]


def test_an_honest_contest_is_mirrored_whatever_half_a_file_lies_here(run: Again, here: Path) -> None:
    here.mkdir()
    (here / f"{FIRST}.zip.part").write_bytes(b"half")
    (here / f"{FIRST}.zip.etag").write_bytes(b"\xff\xfe\r\nX: y")
    assert run() == (mirror.NOTHING_DIFFERS, [], "")
    assert {path.name for path in here.iterdir() if path.is_dir()} == {FIRST, SECOND, ERRATA}
    assert not list(here.glob("*.etag")) and not list(here.glob("*.part"))


# The list ------------------------------------------------------------------------------------------------------------


def _without_the_middle(rows: list[dict[str, Any]]) -> None:
    del rows[1]
    rows[1]["previous_sha256"] = rows[0]["manifest_sha256"]


def _without_the_first(rows: list[dict[str, Any]]) -> None:
    del rows[0]
    rows[0]["previous_sha256"] = ""


def _in_another_order(rows: list[dict[str, Any]]) -> None:
    rows[1], rows[2] = rows[2], rows[1]
    for before, row in zip(rows, rows[1:], strict=False):
        row["previous_sha256"] = before["manifest_sha256"]


LISTS: dict[str, tuple[Callable[[list[dict[str, Any]]], None], str]] = {
    "a release cut out, and the list mended": (_without_the_middle, f"list: {ERRATA}: recorded previous "),
    "the first one left out": (_without_the_first, f"list: {SECOND}: recorded previous nothing, follows "),
    "the order changed": (_in_another_order, f"list: {SECOND}: recorded previous "),
    "another week": (lambda rows: rows[1].update(week="2026-W49"), f"list: {SECOND}: recorded week 2026-W49, follows"),
    "another part": (lambda rows: rows[2].update(part=0), f"list: {ERRATA}: recorded part 0, follows 1"),
    "no chain": (lambda rows: rows[0].update(previous_sha256="0" * 64), f"list: {FIRST}: recorded previous 000"),
}


@pytest.mark.parametrize("what", LISTS)
def test_a_list_that_is_not_what_the_manifests_say_is_told(what: str, server: Server, run: Again, here: Path) -> None:
    change, words = LISTS[what]
    change(server.rows)
    status, differences, _ = run()
    assert status == mirror.DIFFERENT
    assert any(line.startswith(words) for line in differences), differences
    assert not (here / mirror.LIST).exists(), "so that the next run says it again"


def test_a_release_under_another_name_is_told(server: Server, run: Again, here: Path) -> None:
    run()
    second, manifest = read_listed(server.rows[1]), read_manifest(here / SECOND)
    found = Findings()
    check_listed(second, read_listed(server.rows[0]), manifest, found)
    assert found.differences == []
    for before, other in ((read_listed(server.rows[2]), second), (read_listed(server.rows[0]), _renamed(second))):
        check_listed(other, before, manifest, found)
    assert [line.split(": recorded ")[1].split(" release")[0] for line in found.differences] == [
        "previous name",
        "name",
    ]


def _renamed(listed: Listed) -> Listed:
    return Listed(ERRATA, listed.week, listed.part, listed.manifest_sha256, listed.previous_sha256, listed.size)


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
    status, _, error = run()
    assert status == mirror.NOT_ASKED and "not with a list of releases" in error
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


def _entry(data: bytes, name: str) -> zipfile.ZipInfo:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.getinfo(f"{FIRST}/{name}")


def _damaged_deflate(data: bytes) -> bytes:
    entry, damaged = _entry(data, "rulings.csv"), bytearray(data)
    start = entry.header_offset + 30 + len(entry.filename) + struct.unpack_from("<H", data, entry.header_offset + 28)[0]
    damaged[start : start + 60] = b"\xff" * 60
    return bytes(damaged)


def _in_the_list(name: str, place: int, layout: str, value: int) -> Callable[[bytes], bytes]:
    """Change one field of an entry of the zip's list; `place` counts from its first byte."""

    def changed(data: bytes) -> bytes:
        at = data.rindex(f"{FIRST}/{name}".encode()) - 46
        damaged = bytearray(data)
        struct.pack_into(layout, damaged, at + place, value)
        return bytes(damaged)

    return changed


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
    monkeypatch.setattr(mirror_zip, "MOST_BYTES", 1 << 26)
    good = server.zips[FIRST]
    server.zips[FIRST] = ZIPS[what](good)
    assert server.zips[FIRST] != good
    del server.rows[2]
    server.rows[0]["bytes"] = len(server.zips[FIRST])
    status, differences, _ = run()
    assert status == mirror.DIFFERENT and len(differences) == 1, differences
    assert differences[0].startswith(f"{FIRST}: the zip is damaged (") and "\x1b" not in differences[0]
    assert {path.name for path in here.iterdir()} == {SECOND, f"{SECOND}.zip", f"{FIRST}.zip.damaged"}


def test_a_bomb_writes_nothing(server: Server, run: Again, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables may say what they like: what they unpack to is bounded before the first byte is written."""
    most = sum(len(data) for data in server.zips.values()) + (1 << 20)
    monkeypatch.setattr(mirror_zip, "MOST_BYTES", most)
    server.zips[FIRST] = _with(f"{FIRST}/ledger.csv", bytes(most))(server.zips[FIRST])
    server.rows[0]["bytes"] = len(server.zips[FIRST])
    _, differences, _ = run()
    assert "the zip is damaged" in differences[0] and f"{most:,} are the most" in differences[0]
    assert not list(here.glob(f".{FIRST}*"))


def test_what_the_disk_has_no_room_for_is_not_written(
    server: Server, run: Again, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror_zip, "_SPARE_BYTES", 1 << 62)  # more than any disk has free
    status, differences, _ = run()
    assert status == mirror.DIFFERENT
    assert differences[0].startswith(f"{FIRST}: not fetched: ") and "0 can be taken on this disk" in differences[0]
    assert list(here.iterdir()) == []
    monkeypatch.undo()
    run()
    shutil.rmtree(here / FIRST)
    monkeypatch.setattr(mirror_zip, "_SPARE_BYTES", 1 << 62)
    _, differences, _ = run()
    assert [line.split(":")[1] for line in differences] == [" not unpacked"]
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
    assert run() == (mirror.NOTHING_DIFFERS, [], ""), why


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
    code, differences, _ = run()
    assert code == mirror.DIFFERENT, why
    assert [line.split(":")[:2] for line in differences] == [[name, " not fetched"] for name in (FIRST, SECOND, ERRATA)]
    assert not any("\x1b" in line for line in differences)


def test_an_answer_without_end_is_cut(server: Server, run: Again, here: Path) -> None:
    server.endless = True
    status, differences, _ = run()
    assert status == mirror.DIFFERENT
    for line, row in zip(differences, server.rows, strict=True):
        assert line == f"{row['name']}: not fetched: more came than the {row['bytes']:,} bytes that are listed"
    assert sum(path.stat().st_size for path in here.iterdir() if path.suffix != ".etag") == 0
    server.endless = False
    assert run().status == mirror.NOTHING_DIFFERS, "the next run fetches what the contest mended"


def test_a_release_said_to_be_larger_than_any_is_not_asked_for(server: Server, run: Again) -> None:
    server.rows[1]["bytes"] = mirror.MOST_BYTES + 1
    status, differences, _ = run()
    assert status == mirror.DIFFERENT and len(differences) == 1
    assert differences[0].startswith(f"{SECOND}: not fetched: ") and "the most that is taken" in differences[0]
    assert f"/releases/{SECOND}.zip" not in server.asked
