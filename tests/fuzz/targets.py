"""What is fuzzed. Each target begins with inputs made from releases as the contest writes them, and reads one input.

Whatever is neither expected nor printable is raised.
"""

import csv
import hashlib
import io
import json
import random
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from adjudication.schema import release_format as form
from adjudication.schema import release_tables
from adjudication.verifier.audit import chain_link_of_row, check_audit, check_publications
from adjudication.verifier.chain import ListedRelease, check_release_list, parse_listed_release
from adjudication.verifier.findings import Findings
from adjudication.verifier.policies import RecordedPolicies
from adjudication.verifier.release import CheckedRelease, earlier_releases
from adjudication.verifier.release_reader import check_name, read_manifest, read_table
from adjudication.verifier.release_zip import DamagedZip, unpack_release
from adjudication.verifier.terminal import MAX_LINE_CHARACTERS, encodable, printable
from adjudication.verifier.untrusted_files import NotARelease, read_json
from adjudication.verify import main
from picture_files.png import SIGNATURE, PictureDamaged, decode_png, encode_png, pixels_sha256, png_identity

Reader = Callable[[bytes], None]

TABLES = sorted(release_tables.TABLES)
FILES = sorted({*TABLES, form.TASKER_DATA, form.COCO})
ENCODINGS = ("ascii", "latin-1", "cp437", "utf-8")
# What is in a seed of a zip.
PACKED = (form.IMAGES, form.TEAMS)
WEEK = "release-2026-W47"


@dataclass(frozen=True)
class Place:
    """Where a target works: `releases` are as the contest wrote them, `here` is its own folder."""

    releases: Path
    here: Path

    @property
    def release(self) -> Path:
        """The release of the first week."""
        return self.releases / WEEK


@dataclass(frozen=True)
class Target:
    """`seeds` yields the first inputs; `ready` returns what reads one."""

    seeds: Callable[[Place], Iterator[bytes]]
    ready: Callable[[Place], Reader]


def _is_text(findings: Findings) -> None:
    for line in (*findings.all_differences(), *findings.notes):
        assert str(line).isprintable(), f"not printable: {line!r}"


# The manifest --------------------------------------------------------------------------------------------------------


def _manifests(place: Place) -> Iterator[bytes]:
    for folder in sorted(place.releases.glob("release-*/")):
        text = (folder / form.MANIFEST).read_bytes()
        yield text
        yield json.dumps(json.loads(text) | {"files": {}, "policy": {}}, indent=1).encode()


def _manifest(place: Place) -> Reader:
    path = place.here / form.MANIFEST

    def read(data: bytes) -> None:
        path.write_bytes(data)
        findings = Findings()
        try:
            manifest = read_manifest(place.here, findings)
        except NotARelease as error:
            assert len(str(error)) < 2_000
            return
        check_name(manifest, findings)
        _is_text(findings)

    return read


# Tables --------------------------------------------------------------------------------------------------------------


def _tables(place: Place) -> Iterator[bytes]:
    for number, name in enumerate(TABLES):
        heading, _, rows = (place.release / name).read_bytes().partition(b"\n")
        for text in (rows, b"\n".join(rows.split(b"\n")[:2]), heading):
            yield bytes((number,)) + text


def _table(place: Place) -> Reader:
    """The first byte names a table; the heading is put in front unless the input brings it."""

    def read(data: bytes) -> None:
        name, findings = TABLES[data[0] % len(TABLES) if data else 0], Findings()
        heading = ",".join(release_tables.header(name)).encode()
        (place.here / name).write_bytes(b"" if heading in data else heading + b"\n")
        with (place.here / name).open("ab") as file:
            file.write(data[1:])
        for row in read_table(place.here, name, findings):
            assert list(row) == release_tables.header(name) and row.line > 1
        _is_text(findings)

    return read


# The audit trail -----------------------------------------------------------------------------------------------------


def _audits(place: Place) -> Iterator[bytes]:
    yield (place.release / form.AUDIT).read_bytes().partition(b"\n")[2]
    with (place.release / form.AUDIT).open(newline="") as file:
        for row in csv.DictReader(file):
            yield row["facts"].encode()


def _audit(place: Place) -> Reader:
    """The input stands for the rows of the second week, and for the JSON of the first genuine one."""
    second = place.releases / "release-2026-W48"
    manifest = read_manifest(second)
    earlier = earlier_releases(manifest, place.releases, None, 1 << 20)
    assert earlier.releases, "the week before is looked at as well"
    genuine = (second / form.AUDIT).read_text().split("\n")
    first = next(csv.DictReader(genuine))

    def read(data: bytes) -> None:
        text = io.StringIO(newline="")
        cell = data.decode(errors="replace").replace("\r", "").replace("\n", "")
        csv.writer(text, lineterminator="\n").writerow((first | {"facts": cell, "subject": cell}).values())
        for rows in (data, text.getvalue().encode(), data + b"\n" + text.getvalue().encode()):
            (place.here / form.AUDIT).write_bytes(genuine[0].encode() + b"\n" + rows)
            findings = Findings()
            read_rows = read_table(place.here, form.AUDIT, findings)
            release = CheckedRelease(place.here, manifest, {form.AUDIT: read_rows}, earlier, RecordedPolicies({}, {}))
            check_audit(release, findings)
            check_publications(release, findings)
            _is_text(findings)
            for row in read_rows[:3]:
                try:
                    chain_link_of_row(row)
                except ValueError:
                    continue

    return read


# The whole verifier --------------------------------------------------------------------------------------------------


def _cells(place: Place) -> Iterator[bytes]:
    """Each file once, and cells of each table: file, how, row and column in front."""
    for number, name in enumerate([*FILES, form.MANIFEST]):
        text = (place.release / name).read_bytes()
        yield bytes((number, 0, 0, 0)) + text[:4096]
        if name in TABLES:
            with (place.release / name).open(newline="") as file:
                for row, cells in zip(range(3), list(csv.reader(file))[1:], strict=False):
                    at = random.Random(name).randrange(len(cells))
                    yield bytes((number, 1, row, at)) + cells[at].encode()
    values = json.loads((place.release / form.MANIFEST).read_bytes())
    for at, value in enumerate(values.values()):
        yield bytes((len(FILES), 1, 0, at)) + json.dumps(value).encode()[:4096]


def _verifier(place: Place) -> Reader:
    """One file, one cell, or one value of the manifest of a genuine release is the input."""
    shutil.copytree(place.releases, place.here, dirs_exist_ok=True)
    folder = place.here / WEEK

    def changed(path: Path, genuine: bytes, how: int, row: int, column: int, put: bytes) -> bytes:
        if not how % 2:
            return put
        if path.name == form.MANIFEST:
            values = json.loads(genuine)
            key = list(values)[column % len(values)]
            return json.dumps(values | {key: "\0"}).encode().replace(rb'"\u0000"', put, 1)
        lines = list(csv.reader(io.StringIO(genuine.decode(), newline="")))
        if len(lines) > 1:
            cells = lines[1 + row % (len(lines) - 1)]
            cells[column % len(cells)] = put.decode(errors="replace")
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(lines)
        return text.getvalue().encode(errors="replace")

    def read(data: bytes) -> None:
        number, how, row, column = data[:4].ljust(4, b"\0")
        path = folder / [*FILES, form.MANIFEST][number % (len(FILES) + 1)]
        genuine = path.read_bytes()
        told = io.StringIO()
        try:
            path.write_bytes(changed(path, genuine, how, row, column, data[4:]))
            with redirect_stdout(told), redirect_stderr(told):
                main([str(folder)])
        finally:
            path.write_bytes(genuine)
        text = told.getvalue()
        assert "a check ended early" not in text, text
        assert text.endswith("\n") and all(line.isprintable() for line in text.split("\n")), f"not printable: {text!r}"

    return read


# The list and the zips of a mirror -----------------------------------------------------------------------------------


def _lists(place: Place) -> Iterator[bytes]:
    row = {"name": WEEK, "week": "2026-W47", "part": 0, "bytes": 9, "manifest_sha256": "0" * 64, "previous_sha256": ""}
    following = row | {"name": f"{WEEK}-errata-1", "part": 1, "previous_sha256": "0" * 64}
    for rows in ([], [row], [row, following]):
        yield json.dumps({"releases": rows}).encode()


def _list(place: Place) -> Reader:
    def read(data: bytes) -> None:
        try:
            releases = [parse_listed_release(row) for row in read_json(data)["releases"]]
        except (ValueError, KeyError, TypeError):
            return
        assert all(each.name.startswith("release-") and "/" not in each.name for each in releases)
        assert all(line.isprintable() for line in map(str, check_release_list(releases)))

    return read


def _zips(place: Place) -> Iterator[bytes]:
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        out, values = io.BytesIO(), json.loads((place.release / form.MANIFEST).read_bytes())
        values["files"] = {name: sha for name, sha in values["files"].items() if name in PACKED}
        with zipfile.ZipFile(out, "w", method) as packed:
            packed.writestr(f"{WEEK}/{form.MANIFEST}", json.dumps(values))
            for name in PACKED:
                packed.writestr(f"{WEEK}/{name}", (place.release / name).read_bytes())
        yield out.getvalue()


def _zip(place: Place) -> Reader:
    archive, into = place.here / "fuzzed.zip", place.here / "into"
    into.mkdir()

    def listed(data: bytes) -> str:
        """The hash that the list must have for the zip to be read further than its manifest."""
        with zipfile.ZipFile(io.BytesIO(data)) as packed, packed.open(f"{WEEK}/{form.MANIFEST}") as file:
            return hashlib.sha256(file.read(1 << 20)).hexdigest()

    def read(data: bytes) -> None:
        archive.write_bytes(data)
        try:
            sha256 = listed(data)
        except Exception:  # a zip that Python cannot read is one of those to try
            sha256 = "0" * 64
        try:
            unpack_release(archive, ListedRelease(WEEK, "2026-W47", 0, sha256, "", len(data)), into, lambda *_: None)
        except (DamagedZip, NotARelease, OSError) as error:
            assert len(str(error)) < 2_000
            assert list(into.iterdir()) == [], "what was begun is taken away"
            return
        assert [path.name for path in into.iterdir()] == [WEEK]
        assert all(release_tables.is_file(path.relative_to(into / WEEK).as_posix()) for path in _files(into / WEEK))
        shutil.rmtree(into / WEEK)

    return read


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if not path.is_dir())


# Pictures ------------------------------------------------------------------------------------------------------------


def _pictures(place: Place) -> Iterator[bytes]:
    """How, then a picture's file; or its header and its rows, which are put into chunks with their checksums."""
    picture = next((place.release / form.PICTURES).iterdir()).read_bytes()
    yield bytes(1) + picture
    for width, height in ((1, 1), (3, 2), (4096, 4096)):
        rows = random.Random(1).randbytes(3 * width) if width < 9 else b""
        header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
        yield b"\1" + header + b"\0" + (b"\0" + rows) * (height if width < 9 else 0)
        yield b"\2" + header + b"\0" + zlib.compress((b"\0" + rows) * (height if width < 9 else 0))


def _picture(place: Place) -> Reader:
    def built(data: bytes) -> bytes:
        how, rest = data[:1], data[1:]
        if how not in (b"\1", b"\2"):
            return rest
        packed = zlib.compress(rest[14:]) if how == b"\1" else rest[14:]
        chunks = ((b"IHDR", rest[:13]), (b"sRGB", rest[13:14]), (b"IDAT", packed), (b"IEND", b""))
        file = SIGNATURE
        for kind, body in chunks:
            file += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        return file

    def read(data: bytes) -> None:
        file = built(data)
        try:
            width, height, pixels = decode_png(file)
        except PictureDamaged as error:
            _fails_alike(file, str(error))
            return
        assert decode_png(encode_png(width, height, pixels)) == (width, height, pixels)
        assert png_identity(file) == (width, height, pixels_sha256(width, height, pixels))

    return read


def _fails_alike(file: bytes, why: str) -> None:
    """The verifier's own way to read a picture, which holds none, refuses what is refused."""
    try:
        png_identity(file)
    except PictureDamaged as error:
        assert str(error) == why
        return
    raise AssertionError(f"read, and it should not be: {why}")


# The terminal --------------------------------------------------------------------------------------------------------


def _texts(place: Place) -> Iterator[bytes]:
    for text in ("\x1b[2J", "\x9b2J", "a\r\nb", "\u202ea\u2069", "\u3164\u115f\ufe0f", "\U000e0100", "Vögel, 鳥: 1/4"):
        yield text.encode()
        yield text.encode("utf-16-le")
    yield b"\x00\xd8\xff\xdf"
    yield b"x" * 900


def _text(place: Place) -> Reader:
    def read(data: bytes) -> None:
        halves = data[: len(data) // 2 * 2].decode("utf-16-le", "surrogatepass")
        for text in (data.decode("utf-8", "surrogateescape"), data.decode("latin-1"), halves):
            said = printable(text)
            assert said.isprintable() and len(said) <= MAX_LINE_CHARACTERS + 1 and printable(said) == said
            for encoding in ENCODINGS:
                assert encodable(said, encoding).isprintable(), f"not printable in {encoding}: {said!r}"

    return read


TARGETS = {
    "manifest": Target(_manifests, _manifest),
    "table": Target(_tables, _table),
    "audit": Target(_audits, _audit),
    "verifier": Target(_cells, _verifier),
    "list": Target(_lists, _list),
    "zip": Target(_zips, _zip),
    "picture": Target(_pictures, _picture),
    "text": Target(_texts, _text),
}
