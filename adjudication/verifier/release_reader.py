"""Reads an untrusted release: manifest, file list, and tables in canonical form.

Pure: standard library only.
"""

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

from adjudication.schema import release_format as form
from adjudication.schema import release_tables
from adjudication.schema.columns import Column
from adjudication.verifier.findings import Findings
from adjudication.verifier.rows import Columns, Row, RowMemory, TableRows, plain_cells
from adjudication.verifier.untrusted_files import (
    MAX_LINE_BYTES,
    MAX_MANIFEST_BYTES,
    NotARelease,
    NotThere,
    UnreadableFile,
    files_in,
    pieces,
    read_bytes,
    read_json,
    read_lines,
)

# A cell may be as long as a line: outlines are longer than the csv module's default limit.
csv.field_size_limit(MAX_LINE_BYTES)

# Files that file managers leave in a folder.
_OF_FILE_MANAGERS = {".DS_Store", "Thumbs.db", "desktop.ini"}
_SHA256 = re.compile(r"(?:[0-9a-f]{64})?", re.ASCII)
_KEYS: Mapping[str, type] = {
    "name": str,
    "week": str,
    "part": int,
    "previous_name": str,
    "previous_sha256": str,
    "week_start": str,
    "week_end": str,
    "rule_book": str,
    "policy": dict,
    "waiting": dict,
    "counts": dict,
    "files": dict,
}


@dataclass(frozen=True)
class Manifest:
    """A well-formed manifest, and its own hash."""

    values: dict[str, Any]
    sha256: str

    @property
    def name(self) -> str:
        """The release's name."""
        return str(self.values["name"])

    @property
    def previous_name(self) -> str:
        """The name of the release before this one; empty for the first release and for an invalid name."""
        name = self.values["previous_name"]
        return str(name) if form.parse_release_name(name) else ""

    @property
    def files(self) -> dict[str, str]:
        """Path -> SHA-256 of every file but the manifest."""
        files: dict[str, str] = self.values["files"]
        return files

    def without_files(self) -> "Manifest":
        """Return the manifest without the list of its files, which takes much memory."""
        return Manifest({**self.values, "files": {}}, self.sha256)

    def waiting(self, *what: str) -> int:
        """How many pictures the release says were still waiting for any of `what`."""
        numbers = [self.values["waiting"].get(each) for each in what]
        return sum(number for number in numbers if type(number) is int and number > 0)

    @property
    def revision(self) -> int:
        """The revision, which decides the files and columns of the release (`release_format.REVISION`)."""
        return int(self.values.get("revision", 1))

    @property
    def rule_book(self) -> str:
        """The version of the rule book by which the release is checked."""
        return str(self.values["rule_book"])

    @property
    def kept_out(self) -> int:
        """How many pictures the release says an organizer kept out after a report: they get no ruling."""
        number = self.values.get("kept_out", 0)
        return max(number, 0) if type(number) is int else 0


def read_manifest(folder: Path, findings: Findings | None = None) -> Manifest:
    """Read `manifest.json`; raises NotARelease. With `findings`, another form than the canonical one is noted."""
    try:
        data = read_bytes(folder, form.MANIFEST, MAX_MANIFEST_BYTES)
        values = read_json(data)
    except (UnreadableFile, ValueError) as error:
        raise NotARelease(f"{folder}: {form.MANIFEST} cannot be read: {error}") from error
    if not isinstance(values, dict) or values.get("format") != form.FORMAT:
        raise NotARelease(f"{folder}: {form.MANIFEST} is not of the format {form.FORMAT}")
    revision = values.get("revision", 1)
    if type(revision) is not int or revision not in range(1, form.REVISION + 1):
        raise NotARelease(f"{folder}: this program reads revisions up to {form.REVISION}; take a newer one")
    if type(values.get("rule_book")) is str and values["rule_book"] not in form.RULE_BOOKS:
        known = " and ".join(form.RULE_BOOKS)
        raise NotARelease(f"{folder}: this program knows the rule books {known}; take a newer one")
    wrong = [key for key, kind in _KEYS.items() if type(values.get(key)) is not kind]
    if wrong or not all(isinstance(sha, str) for sha in values["files"].values()):
        raise NotARelease(f"{folder}: {form.MANIFEST} lacks or misstates: {', '.join(wrong) or 'files'}")
    if findings is not None and _canonical_sha256(values) != hashlib.sha256(data).hexdigest():
        findings.add(form.MANIFEST, "text", "another form", "the canonical form of the same values")
    return Manifest(values, hashlib.sha256(data).hexdigest())


def read_neighbour(folder: Path) -> Manifest:
    """Read the manifest of another release than the one that is checked, without the list of its files: that takes much
    memory, and there may be many releases. Raises NotARelease."""
    return read_manifest(folder).without_files()


def _canonical_sha256(values: Any) -> str:
    """Return the hash of a manifest's canonical form, which is never in memory as a whole."""
    digest = hashlib.sha256()
    for piece in json.JSONEncoder(indent=1, ensure_ascii=False).iterencode(values):
        digest.update(piece.encode())
    digest.update(b"\n")
    return digest.hexdigest()


def check_name(manifest: Manifest, findings: Findings) -> None:
    """Check the name against week and part, the rule book against the revision, and the predecessor's name."""
    findings.compare(
        form.MANIFEST, "name", manifest.name, form.release_name(manifest.values["week"], manifest.values["part"])
    )
    if manifest.rule_book != form.rule_book_version(manifest.revision):
        follows = f"{form.rule_book_version(manifest.revision)}, as the revision is {manifest.revision}"
        findings.add(form.MANIFEST, "rule_book", manifest.rule_book, follows)
    sha256 = manifest.values["previous_sha256"]
    if _SHA256.fullmatch(sha256) is None or bool(sha256) != bool(manifest.values["previous_name"]):
        follows = "the hash of a manifest, exactly where the release before is named"
        findings.add(form.MANIFEST, "previous_sha256", sha256, follows)
    if not manifest.previous_name and manifest.values["previous_name"]:
        findings.add(form.MANIFEST, "previous_name", manifest.values["previous_name"], "the name of a release")


def check_files(folder: Path, manifest: Manifest, findings: Findings) -> None:
    """Check that no file is missing or extra, and the hash of each; pictures are hashed when they are checked."""
    names = release_tables.files_of(manifest.revision)
    for path in sorted(names - manifest.files.keys()):
        findings.add(form.MANIFEST, path, "not listed", "a file of every release")
    listed, here = manifest.files, _files_in(folder)
    _check_extra_files(here.keys() - listed.keys() - {form.MANIFEST, form.SIGNATURE}, findings)
    for path, sha256 in listed.items():
        if path not in names and not form.is_picture(path):
            findings.add(form.MANIFEST, path, "a file", "a name that a release's files have")
        elif path not in here:
            findings.add(form.MANIFEST, path, f"SHA-256 {sha256}", "the file is missing")
        elif not here[path]:
            findings.add(path, "file", "a link, a folder or something else", "a regular file")
        elif not path.startswith(f"{form.PICTURES}/"):
            _check_file(folder, path, sha256, findings)


def _check_extra_files(paths: Iterable[str], findings: Findings) -> None:
    for path in sorted(paths):
        if path.rpartition("/")[2] in _OF_FILE_MANAGERS:
            findings.note(f"{path}: left by a file manager, and no part of the release")
        else:
            findings.add(form.MANIFEST, path, "an extra file", "no such file")


def _check_file(folder: Path, path: str, sha256: str, findings: Findings) -> None:
    try:
        findings.compare(path, "SHA-256", sha256, file_sha256(folder, path))
    except UnreadableFile as error:
        findings.add(path, "file", error, "a file that can be read")


def file_sha256(folder: Path, path: str) -> str:
    """Return the SHA-256 of a file's bytes; raises UnreadableFile."""
    digest = hashlib.sha256()
    for piece in pieces(folder, path):
        digest.update(piece)
    return digest.hexdigest()


def _files_in(folder: Path) -> dict[str, bool]:
    """Return the names in a release's folder and in its folder of pictures, each with whether it is a regular file."""
    files = files_in(folder)
    pictures = {f"{form.PICTURES}/{name}": regular for name, regular in files_in(folder / form.PICTURES).items()}
    if form.PICTURES in files and not (folder / form.PICTURES).is_symlink() and (folder / form.PICTURES).is_dir():
        del files[form.PICTURES]
    return files | pictures


def read_table(
    folder: Path, name: str, findings: Findings, *, revision: int = form.REVISION, memory: RowMemory | None = None
) -> TableRows:
    """Read a table. Malformed rows are reported and left out.

    `memory` is the limit for all tables of a release; raises NotARelease where it is used up.
    """
    memory, table = memory or RowMemory(folder), TableRows(folder, name, release_tables.tables_of(revision)[name])
    before = tuple[Any, ...]()
    unordered: list[int] = []
    for place, size, row in _formed_rows(folder, name, findings, revision):
        memory.take(name, row)
        this = release_tables.order_of(name, row)
        if not before < this:  # the first row comes after the empty tuple
            unordered.append(len(table))
        before = this
        table.append(place, size, row.line)
    for number in unordered:
        findings.add(
            name, table[number], f"after {release_tables.row_name(name, table[number - 1])}", "ascending, each once"
        )
    return table


def stream_table(folder: Path, name: str, findings: Findings, *, revision: int = form.REVISION) -> Iterator[Row]:
    """Yield the well-formed rows of a table, in the order of the file. Malformed rows are reported until the limit of
    differences is reached, as there may be a billion."""
    return (row for _, _, row in _formed_rows(folder, name, findings, revision))


def _formed_rows(folder: Path, name: str, findings: Findings, revision: int) -> Iterator[tuple[int, int, Row]]:
    """Yield the well-formed rows, each with the place and the length of its record in the file, in bytes."""
    columns, records = release_tables.tables_of(revision)[name], _records(folder, name, findings)
    heading = next(records, (0, "", 1, []))[-1]
    if heading != list(columns):
        findings.add(name, "line 1", ",".join(heading), ",".join(columns))
        return
    kept = Columns(columns)
    for place, text, number, cells in records:
        if findings.not_kept:
            return
        if len(cells) != len(columns):
            findings.add(name, f"line {number}", f"{len(cells)} cells", f"{len(columns)} cells")
        elif _row_form(name, revision).fullmatch("\r".join(cells)):
            yield place, _size(text), Row(kept, text, number, cells)
        else:
            row = Row(kept, text, number, [each.replace("\r", "\ufffd") for each in cells])
            _find_other_forms(name, row, cells, columns, findings)


@lru_cache(None)
def _row_form(name: str, revision: int) -> re.Pattern[str]:
    """Return the pattern of a row's cells, joined by carriage returns, which no cell may have. Atomic groups prevent
    backtracking."""
    *cells, last = (f"(?:{column.kind.form.pattern})" for column in release_tables.tables_of(revision)[name].values())
    return re.compile("".join(rf"(?>{cell}\r)" for cell in cells) + last, re.ASCII)


def _find_other_forms(
    name: str, row: Row, cells: Sequence[str], columns: Mapping[str, Column], findings: Findings
) -> None:
    for (column, declared), cell in zip(columns.items(), cells, strict=True):
        if declared.kind.form.fullmatch(cell) is None:
            findings.add(name, row, cell, "another form", column=column)


def _records(folder: Path, name: str, findings: Findings) -> Iterator[tuple[int, str, int, list[str]]]:
    """Yield each readable record: where it begins, in bytes, its text, the number of its first line, and its cells.
    Its text is compared with the canonical form."""
    place, number = 0, 1
    try:
        lines = read_lines(folder, name)
        for text in lines:
            cells, behind = plain_cells(text), number + 1
            if cells is None:
                read = [text]
                cells = _csv_cells(text, lines, read)
                text, again, behind = "".join(read), "".join(csv_text([cells])), number + len(read)
                if again != text:
                    compare_lines(name, text.split("\n"), again.split("\n"), findings, first=number)
            yield place, text, number, cells
            place, number = place + _size(text), behind
    except NotThere:
        return  # found by check_files
    except UnreadableFile as error:
        findings.add(name, "text", f"unreadable ({error})", "UTF-8")
    except csv.Error as error:
        findings.add(name, "text", f"no CSV ({error})", "CSV")


def _size(text: str) -> int:
    """Return the length of a text in its file, in bytes."""
    return len(text) if text.isascii() else len(text.encode())


def _csv_cells(line: str, following: Iterator[str], read: list[str]) -> list[str]:
    """Return the cells of the record that begins with `line`; further lines of the record are appended to `read`.
    Raises csv.Error, and UnreadableFile for a record of more bytes than a line may have."""

    def lines() -> Iterator[str]:
        yield line
        held = len(line)
        for each in following:
            held += len(each)
            if held > MAX_LINE_BYTES:
                raise UnreadableFile(f"a record has more than {MAX_LINE_BYTES:,} bytes")
            read.append(each)
            yield each

    return next(csv.reader(lines(), strict=True))


def csv_text(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield each row as CSV text."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow(row)
        yield text.getvalue()
        text.seek(0)
        text.truncate()


def compare_text(folder: Path, name: str, follows: Iterable[str], findings: Findings) -> None:
    """Report every line in which a file differs from the expected text, which comes in pieces."""
    try:
        recorded = (line.removesuffix("\n") for line in _with_last_line(read_lines(folder, name)))
        compare_lines(name, recorded, _lines_of(follows), findings)
    except NotThere:
        return  # found by check_files
    except UnreadableFile as error:
        findings.add(name, "text", f"unreadable ({error})", "UTF-8")


def _lines_of(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a text given in pieces, as `str.split` does, without the whole text in memory."""
    begun = ""
    for piece in pieces:
        *lines, begun = (begun + piece).split("\n")
        yield from lines
    yield begun


def _with_last_line(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines, and an empty one after a final end of line, as `str.split` does."""
    line = "\n"
    for line in lines:
        yield line
    if line.endswith("\n"):
        yield ""


def compare_lines(
    name: str, recorded: Iterable[str], follows: Iterable[str], findings: Findings, *, first: int = 1
) -> None:
    """Report every line in which two texts differ; `first` is the number of the first line."""
    for number, (one, other) in enumerate(zip_longest(recorded, follows, fillvalue="no line"), start=first):
        if findings.not_kept:
            return  # there may be a billion of them
        if one != other:
            findings.add(name, f"line {number}", one, other)
