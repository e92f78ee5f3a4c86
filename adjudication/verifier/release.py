"""A release as the checks see it: its manifest, its tables, and the releases before it in the chain (R39).

Pure: standard library only.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from adjudication.schema import release_format as form
from adjudication.schema.release_tables import tables_of
from adjudication.verifier.findings import Findings, Row
from adjudication.verifier.policies import Policies
from adjudication.verifier.release_reader import Manifest, NotARelease, read_manifest, read_table

Tables = Mapping[str, Sequence[Row]]
_TABLES_KEPT = 512
_MOST_MERGES = 100


@dataclass(frozen=True)
class EarlierRelease:
    """A release before this one, linked to it by hashes."""

    folder: Path
    manifest: Manifest

    def rows(self, file: str) -> Sequence[Row]:
        """Return the rows of one of its tables that can be read; none where its revision has no such table."""
        if file not in tables_of(self.manifest.revision):
            return ()
        return _rows(self.folder, self.manifest.sha256, self.manifest.revision, file)


@lru_cache(_TABLES_KEPT)
def _rows(folder: Path, sha256: str, revision: int, file: str) -> Sequence[Row]:
    """Read a table of a release whose manifest has this hash; what is wrong with it, the check of that release says."""
    return read_table(folder, file, Findings(), revision=revision)


@dataclass(frozen=True)
class EarlierReleases:
    """The releases that lie beside this one and come before it in the chain, newest first, as far as they are there.

    `whole` says that the chain is here from its first release on.
    """

    releases: tuple[EarlierRelease, ...]
    whole: bool

    def of_other_weeks(self, week: str) -> list[EarlierRelease]:
        """Return the newest part of each week before `week`, the oldest week first."""
        newest: dict[str, EarlierRelease] = {}
        for each in self.releases:
            newest.setdefault(each.manifest.values["week"], each)
        return [newest[name] for name in sorted(newest) if name < week]


def earlier_releases(manifest: Manifest, beside: Path, previous: Path | None) -> EarlierReleases:
    """Follow the chain back from a release to the first that is not there. `beside` is the folder of its neighbours;
    `previous` is where the one before it lies, if that is elsewhere."""
    found: list[EarlierRelease] = []
    place = previous
    seen = {manifest.sha256}
    while manifest.previous_name:
        folder = place if place is not None else beside / manifest.previous_name
        place, beside = None, folder.resolve().parent
        try:
            before = read_manifest(folder)
        except NotARelease:
            return EarlierReleases(tuple(found), whole=False)
        if before.sha256 != manifest.values["previous_sha256"] or before.sha256 in seen:
            return EarlierReleases(tuple(found), whole=False)
        seen.add(before.sha256)
        found.append(EarlierRelease(folder, before))
        manifest = before
    return EarlierReleases(tuple(found), whole=not manifest.values["previous_name"])


@dataclass(frozen=True)
class Release:
    """A release that is checked. `tables` are those of its revision."""

    folder: Path
    manifest: Manifest
    tables: Tables
    earlier: EarlierReleases
    policies: Policies

    def rows(self, file: str) -> Sequence[Row]:
        """Return the rows of a table; none where the revision has no such table."""
        return self.tables.get(file, ())

    @cached_property
    def weeks_before(self) -> list[EarlierRelease]:
        """The newest part of each earlier week, the oldest week first."""
        return self.earlier.of_other_weeks(self.manifest.values["week"])

    @cached_property
    def _indices(self) -> dict[tuple[str, str], dict[str, Row]]:
        return {}

    @cached_property
    def _earlier_indices(self) -> dict[tuple[str, str], dict[str, Row]]:
        return {}

    def by(self, file: str, column: str) -> Mapping[str, Row]:
        """Return cell -> the first row of a table of this release that has it in `column`."""
        if (file, column) not in self._indices:
            rows = reversed(self.rows(file))
            self._indices[file, column] = {row[column]: row for row in rows if column in row}
        return self._indices[file, column]

    def earlier_by(self, file: str, column: str) -> Mapping[str, Row]:
        """Return the same of the weeks before, as the newest of them says it."""
        if (file, column) not in self._earlier_indices:
            rows = self.rows_before(file)
            self._earlier_indices[file, column] = {row[column]: row for row in rows if column in row}
        return self._earlier_indices[file, column]

    def rows_before(self, file: str) -> Iterator[Row]:
        """Yield the rows of a table in the releases of the weeks before, the oldest week first."""
        for each in self.weeks_before:
            yield from each.rows(file)

    def stakes_on(self, defense_id: str) -> list[Row]:
        """Return the stakes on a defense as the newest release that is known says them."""
        known = {**self.earlier_by(form.STAKES, "number"), **self.by(form.STAKES, "number")}
        return [row for row in known.values() if row["defense_id"] == defense_id]

    def breaks_of(self, defense_id: str) -> list[Row]:
        """Return the breaks of a defense that are known, also those that no answer in force proves any more."""
        files = (form.BREAKS, form.UNPROVED)
        known = (row for file in files for rows in (self.rows_before(file), self.rows(file)) for row in rows)
        return [row for row in known if row["defense_id"] == defense_id]

    def same_team(self, one: str, other: str) -> bool:
        """Say whether two teams count as one: the same, or merged into the same (R25)."""
        return self._final_team(one) == self._final_team(other)

    def _final_team(self, team_id: str) -> str:
        for _ in range(_MOST_MERGES):
            row = self.find(form.TEAMS, "team_id", team_id)
            if row is None or not row["merged_into"]:
                return team_id
            team_id = row["merged_into"]
        return team_id

    def find(self, file: str, column: str, cell: str) -> Row | None:
        """Return the row of a table with this cell in `column`, here or in a week before."""
        return self.by(file, column).get(cell) or self.earlier_by(file, column).get(cell)
