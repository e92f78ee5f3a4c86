"""Reading a release with mistrust: the manifest, the list of files, and tables in their one canonical form.

Pure: standard library only.
"""

import csv
import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any, TypeAlias

from adjudication import release_format as form

Row: TypeAlias = dict[str, str]

_SHOWN = 60
_KEYS: Mapping[str, type] = {
    "name": str,
    "week": str,
    "part": int,
    "previous_name": str,
    "previous_sha256": str,
    "week_start": str,
    "week_end": str,
    "policy": dict,
    "waiting": dict,
    "counts": dict,
    "files": dict,
}
_NUMBERED = (
    form.ATTACKS,
    form.ASSOCIATIONS,
    form.DECISIONS,
    form.BATCHES,
    form.STAKES,
    form.AWARDS,
    form.LEDGER,
    form.ELIGIBILITY,
    form.AUDIT,
    form.EXAMINATIONS,
)
_SORTED_BY: Mapping[str, Callable[[Row], Any]] = {
    form.IMAGES: lambda row: row["image_id"],
    form.RESPONSES: lambda row: int(row["response_id"]),
    form.RULINGS: lambda row: (row["image_id"], int(row["number"])),
    form.PREDICTIONS: lambda row: int(row["prediction_id"]),
    form.FAULTS: lambda row: (row["defense_id"], row["image_id"], int(row["round"])),
    form.BREAKS: lambda row: int(row["break_id"]),
    form.DEFENSES: lambda row: row["defense_id"],
    form.PROVENANCE: lambda row: row["image_id"],
    form.PANELS: lambda row: (row["image_id"], int(row["panel"])),
    form.TEAMS: lambda row: row["team_id"],
    form.UNPROVED: lambda row: int(row["break_id"]),
    form.APPEALS: lambda row: row["appeal_id"],
    form.STATEMENTS: lambda row: (row["case_id"], row["team_id"]),
    form.CASES: lambda row: row["case_id"],
    form.MOTIONS: lambda row: row["case_id"],
    **dict.fromkeys(_NUMBERED, lambda row: int(row["number"])),
}


class NotARelease(Exception):
    """The folder holds no release that can be read."""


@dataclass
class Findings:
    """What was found: `differences` are wrong, `notes` are worth knowing, `figures` say what was looked at."""

    differences: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)

    def add(self, file: str, row: str, recorded: object, follows: object) -> None:
        """Add one difference: what `file` records in `row`, and what follows from the rest."""
        self.differences.append(f"{file}: {row}: recorded {_short(recorded)}, follows {_short(follows)}")


def _short(value: object) -> str:
    """A value on one line, printable whatever a hostile file says."""
    text = printable(str(value)) or "nothing"
    return text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]}…{text[-_SHOWN:]}"


def printable(text: str) -> str:
    """Return a stranger's text without what a terminal would take for more than text."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


@dataclass(frozen=True)
class Manifest:
    """A manifest that has the form of one, and its own hash."""

    values: dict[str, Any]
    sha256: str

    @property
    def name(self) -> str:
        """The release's name."""
        return str(self.values["name"])

    @property
    def files(self) -> dict[str, str]:
        """Path -> SHA-256 of every file but the manifest."""
        return dict(self.values["files"])

    def waiting(self, *what: str) -> int:
        """How many pictures the release says were still waiting for any of `what`."""
        numbers = [self.values["waiting"].get(each) for each in what]
        return sum(number for number in numbers if isinstance(number, int))

    @property
    def revision(self) -> int:
        """Which files and columns the release has (`release_format.REVISION`)."""
        return int(self.values.get("revision", 1))

    @property
    def kept_out(self) -> int:
        """How many pictures the release says an organizer kept out after a report: nobody rules on those."""
        number = self.values.get("kept_out", 0)
        return number if isinstance(number, int) else 0


def read_manifest(folder: Path, findings: Findings | None = None) -> Manifest:
    """Read `manifest.json`; raises NotARelease. With `findings`, another form than the canonical one is noted."""
    try:
        data = (folder / form.MANIFEST).read_bytes()
        values = json.loads(data.decode())
    except (OSError, ValueError, RecursionError) as error:
        raise NotARelease(f"{folder}: {form.MANIFEST} cannot be read: {error}") from error
    if not isinstance(values, dict) or values.get("format") != form.FORMAT:
        raise NotARelease(f"{folder}: {form.MANIFEST} is not of the format {form.FORMAT}")
    if values.get("revision", 1) not in range(1, form.REVISION + 1):
        raise NotARelease(f"{folder}: this program reads revisions up to {form.REVISION}; take a newer one")
    wrong = [key for key, kind in _KEYS.items() if type(values.get(key)) is not kind]
    if wrong or not all(isinstance(sha, str) for sha in values["files"].values()):
        raise NotARelease(f"{folder}: {form.MANIFEST} lacks or misstates: {', '.join(wrong) or 'files'}")
    if findings is not None and f"{json.dumps(values, indent=1, ensure_ascii=False)}\n".encode() != data:
        findings.add(form.MANIFEST, "text", "another form", "the canonical form of the same values")
    return Manifest(values, hashlib.sha256(data).hexdigest())


def check_name(manifest: Manifest, findings: Findings) -> None:
    """The name follows from week and part."""
    name = form.release_name(manifest.values["week"], manifest.values["part"])
    if manifest.name != name:
        findings.add(form.MANIFEST, "name", manifest.name, name)


def check_files(folder: Path, manifest: Manifest, findings: Findings) -> None:
    """No file is missing or extra, and every one but the pictures has its hash; those are hashed when looked at."""
    for path in sorted(form.files_of(manifest.revision) - manifest.files.keys()):
        findings.add(form.MANIFEST, path, "not listed", "a file of every release")
    here = _files_in(folder) - {form.MANIFEST}
    for path in sorted(here - manifest.files.keys()):
        findings.add(form.MANIFEST, path, "an extra file", "no such file")
    for path, sha256 in manifest.files.items():
        if path not in here:
            findings.add(form.MANIFEST, path, f"SHA-256 {sha256}", "the file is missing")
        elif (folder / path).is_symlink() or not (folder / path).is_file():
            findings.add(path, "file", "a link or a folder", "a file")
        elif not path.startswith(f"{form.PICTURES}/"):
            check_hash(path, sha256, file_sha256(folder / path), findings)


def check_hash(path: str, recorded: str, sha256: str, findings: Findings) -> None:
    """The manifest records the hash the file has."""
    if recorded != sha256:
        findings.add(path, "SHA-256", recorded, sha256)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files_in(folder: Path) -> set[str]:
    """Every name below `folder` save the one folder a release has; a link counts, whatever it points to."""
    names = set()
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(root, name)
            if path != folder / form.PICTURES or path.is_symlink():
                names.add(path.relative_to(folder).as_posix())
    return names


def read_table(folder: Path, name: str, findings: Findings, *, revision: int = form.REVISION) -> list[Row]:
    """Read a table. Rows that have not the form of one are found and left out."""
    columns = form.tables_of(revision)[name]
    lines = _csv_lines(folder, name, findings)
    if not lines or lines[0] != list(columns):
        findings.add(name, "line 1", ",".join(lines[0] if lines else []), ",".join(columns))
        return []
    rows = []
    for number, cells in enumerate(lines[1:], start=2):
        if len(cells) != len(columns):
            findings.add(name, f"row {number}", f"{len(cells)} cells", f"{len(columns)} cells")
            continue
        wrong = [
            column
            for (column, pattern), cell in zip(columns.items(), cells, strict=True)
            if pattern.fullmatch(cell) is None
        ]
        row = dict(zip(columns, cells, strict=True))
        for column in wrong:
            findings.add(name, f"row {cells[0]}", f"{column} {row[column]}", "another form")
        if not wrong:
            rows.append(row)
    _check_order(name, rows, findings)
    return rows


def _csv_lines(folder: Path, name: str, findings: Findings) -> list[list[str]]:
    text = read_text(folder, name, findings)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        findings.add(name, "text", f"no CSV ({error})", "CSV")
        return []
    again = io.StringIO(newline="")
    csv.writer(again, lineterminator="\n").writerows(lines)
    if again.getvalue() != text:
        compare_lines(name, text, again.getvalue(), findings)
    return lines


def read_text(folder: Path, name: str, findings: Findings) -> str:
    """Return a UTF-8 file's text; nothing where it cannot be read."""
    try:
        return (folder / name).read_bytes().decode()
    except FileNotFoundError:
        return ""  # found by check_files
    except (OSError, UnicodeDecodeError) as error:
        findings.add(name, "text", f"unreadable ({error})", "UTF-8")
        return ""


def compare_lines(name: str, recorded: str, follows: str, findings: Findings) -> None:
    """Find every line in which two texts differ."""
    pairs = zip_longest(recorded.split("\n"), follows.split("\n"), fillvalue="no line")
    for number, (one, other) in enumerate(pairs, start=1):
        if one != other:
            findings.add(name, f"line {number}", one, other)


def _check_order(name: str, rows: list[Row], findings: Findings) -> None:
    key = _SORTED_BY[name]
    for before, row in pairwise(rows):
        if not key(before) < key(row):
            identity = next(iter(row.values()))
            findings.add(name, f"row {identity}", f"after {next(iter(before.values()))}", "ascending, each once")
