"""Lists the pictures to import from a folder or a CSV or JSONL manifest, with their provenance (R3)."""

import csv
import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from common.errors import InvalidInput

COLUMNS = ("file", "source", "source_id", "licence", "author")
MANIFEST_SUFFIXES = (".csv", ".jsonl")
# Extensions of picture files: such files are imported or refused, never silently skipped.
_PICTURE_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif"}
)
_PICTURE_STARTS = (b"\x89PNG", b"\xff\xd8\xff", b"RIFF", b"GIF8", b"BM", b"II*\x00", b"MM\x00*")


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a picture comes from and on which terms."""

    source: str = ""
    source_id: str = ""
    licence: str = ""
    author: str = ""

    def filled_from(self, other: "Provenance") -> "Provenance":
        """Return a copy whose empty values are filled from `other`."""
        return Provenance(
            source=self.source or other.source,
            source_id=self.source_id or other.source_id,
            licence=self.licence or other.licence,
            author=self.author or other.author,
        )


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One file to import. `problem` is set when the listing shows that it cannot be imported."""

    file: str  # as the manifest or the folder names it
    path: Path
    provenance: Provenance
    problem: InvalidInput | None = None


def folder_entries(folder: Path, provenance: Provenance) -> tuple[list[ManifestEntry], int]:
    """Return the pictures below `folder` in the order of their names, and how many other files there are.

    Hidden files and folders are left out. A file counts as a picture by its name or by its first bytes.
    """
    entries: list[ManifestEntry] = []
    others = 0
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if any(part.startswith(".") for part in Path(name).parts) or path.is_dir():
            continue
        if not _looks_like_picture(path):
            others += 1
            continue
        named = replace(provenance, source_id=provenance.source_id or name)
        entries.append(ManifestEntry(name, path, named, problem=_outside(path, folder)))
    return entries, others


def manifest_entries(manifest: Path, provenance: Provenance) -> list[ManifestEntry]:
    """Return the rows of a CSV or JSONL manifest; blanks are filled from `provenance`.

    A row that is wrong becomes an entry with its problem. Raises InvalidInput when the manifest as a whole is.
    """
    rows = _json_rows(manifest) if manifest.suffix.lower() == ".jsonl" else _csv_rows(manifest)
    return [_entry(manifest, number, row, provenance) for number, row in rows]


def _csv_rows(manifest: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(_text(manifest), newline=""), restkey="additional", restval="")
    columns = reader.fieldnames or ()
    unknown = sorted(set(columns) - set(COLUMNS))
    if "file" not in columns or unknown:
        about = f"it has the unknown columns {', '.join(unknown)}" if unknown else "it has no column named file"
        raise InvalidInput(f"{manifest}: {about}. The columns are {', '.join(COLUMNS)}.", "bad_manifest")
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise InvalidInput(f"{manifest}, line {reader.line_num}: {error}", "bad_manifest") from error


def _json_rows(manifest: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(_text(manifest).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        yield number, row if isinstance(row, dict) else {"additional": line}


def _text(manifest: Path) -> str:
    try:
        return manifest.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{manifest} is not UTF-8 text. Save it as UTF-8.", "bad_manifest") from error


def _entry(manifest: Path, number: int, row: dict[str, Any], provenance: Provenance) -> ManifestEntry:
    file = row.get("file")
    wrong = set(row) - set(COLUMNS) or {key for key, value in row.items() if not isinstance(value, str)}
    if wrong or not file or "\0" in file:
        reason = f"Line {number} of the manifest must hold text for {', '.join(COLUMNS)} and nothing else."
        return ManifestEntry(f"line {number}", manifest, provenance, problem=InvalidInput(reason, "bad_row"))
    path = manifest.parent / file
    values = Provenance(**{key: row.get(key, "") for key in COLUMNS[1:]})
    return ManifestEntry(file, path, values.filled_from(provenance), problem=_outside(path, manifest.parent))


def _outside(path: Path, folder: Path) -> InvalidInput | None:
    """Return the refusal of a path that leads out of `folder`, also through a link."""
    try:
        if path.resolve().is_relative_to(folder.resolve()):
            return None
    except (OSError, RuntimeError):  # a name too long, or links in a circle
        return InvalidInput("The path leads nowhere. Correct it.", "no_file")
    return InvalidInput("The file lies outside of the folder that is imported. Copy it there.", "outside")


def _looks_like_picture(path: Path) -> bool:
    if path.suffix.lower() in _PICTURE_SUFFIXES:
        return True
    if not path.is_file() or not os.access(path, os.R_OK):
        return False
    with path.open("rb") as file:
        return file.read(8).startswith(_PICTURE_STARTS)
