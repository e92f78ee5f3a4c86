"""Reads a mirror of releases: the chain, and the latest part of each week."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from adjudication.mirror import LIST
from adjudication.schema import release_format as form
from adjudication.schema import release_tables
from adjudication.verifier.chain import ListedRelease, check_listed_release, check_release_list, parse_listed_release
from adjudication.verifier.findings import Findings
from adjudication.verifier.release_reader import read_manifest
from adjudication.verifier.untrusted_files import NotARelease
from adjudication.verify import verify
from common.errors import Conflict, InvalidInput

# A database can be filled from releases of this revision on: earlier ones lack tables that others refer to.
FIRST_REVISION = 3


class Values(dict[str, Any]):
    """The values in a row of a table, by its columns."""

    def of(self, *columns: str) -> dict[str, Any]:
        """Return those of some columns: of fields that are called as they are."""
        return {name: self[name] for name in columns}


@dataclass(frozen=True)
class MirroredRelease:
    """One release on disk, and how it is listed."""

    folder: Path
    listed: dict[str, Any]

    @cached_property
    def link(self) -> ListedRelease:
        """Return what the chain needs of how it is listed; raises what `parse_listed_release` raises."""
        return parse_listed_release(self.listed)

    @property
    def archive(self) -> Path:
        """Return where its zip is."""
        return self.folder.with_name(f"{self.link.name}.zip")

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Return its manifest."""
        found: dict[str, Any] = json.loads((self.folder / form.MANIFEST).read_bytes())
        return found

    def rows(self, name: str) -> Iterator[Values]:
        """Yield the rows of a table; none of one that the release's revision has not."""
        if name in release_tables.tables_of(self.manifest.get("revision", 1)):
            with (self.folder / name).open(encoding="utf-8", newline="") as file:
                yield from (Values(release_tables.values(name, row)) for row in csv.DictReader(file))


@dataclass(frozen=True)
class MirroredRecord:
    """Every release, in the order of the chain."""

    parts: tuple[MirroredRelease, ...]

    @cached_property
    def weeks(self) -> list[MirroredRelease]:
        """Return the part that holds of each week, in the order of the weeks."""
        newest = {part.listed["week"]: part for part in sorted(self.parts, key=lambda each: each.listed["part"])}
        return [newest[week] for week in sorted(newest)]

    def by_week(self, name: str, key: str) -> list[Values]:
        """Return a table over all weeks, one row for each `key`: what the latest week says of it."""
        return list({row[key]: row for part in self.weeks for row in part.rows(name)}.values())

    def by_publication(self, name: str, key: str) -> list[Values]:
        """Return a table over all weeks, one row for each `key`: what was published last of it."""
        held = [part for part in self.parts if part in self.weeks]
        return list({row[key]: row for part in held for row in part.rows(name)}.values())


def read_record(folder: Path) -> MirroredRecord:
    """Read a mirror, and check all of it.

    Raises InvalidInput when there is no list of releases or a release is missing, and Conflict when anything differs
    from what follows, or a release is too old to be rebuilt from.
    """
    record = MirroredRecord(tuple(_parts(folder)))
    if broken := check_release_list([part.link for part in record.parts]):
        raise Conflict(f"The releases are no chain: {broken[0]}", "differs")
    for before, part in zip([None, *record.parts], record.parts, strict=False):
        _check(part, before)
    for part in record.weeks:
        if part.manifest.get("revision", 1) < FIRST_REVISION:
            name = part.listed["name"]
            words = f"{name} is of an older revision of the format. Publish errata of its week, and mirror them."
            raise Conflict(words, "old_revision")
    return record


def _parts(folder: Path) -> Iterator[MirroredRelease]:
    try:
        for row in json.loads((folder / LIST).read_bytes())["releases"]:
            yield MirroredRelease(folder / parse_listed_release(row).name, row)
    except (OSError, ValueError, KeyError, TypeError) as error:
        words = f"{folder} has no {LIST} that can be read: make it a mirror with release_mirror URL {folder} first."
        raise InvalidInput(words, "no_mirror", field="folder") from error


def _check(part: MirroredRelease, before: MirroredRelease | None) -> None:
    findings = Findings()
    try:
        check_listed_release(part.link, before.link if before else None, read_manifest(part.folder), findings)
        found = [*findings.differences, *verify(part.folder).differences]
    except NotARelease as error:
        raise InvalidInput(f"{error}. Run release_mirror again.", "no_mirror", field="folder") from error
    if found:
        raise Conflict(f"{part.link.name} differs from what follows from it: {found[0]}", "differs")
    if not part.archive.is_file():
        raise InvalidInput(f"{part.archive} is not there. Run release_mirror again.", "no_mirror", field="folder")
