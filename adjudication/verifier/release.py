"""Gives the checks access to a release: its manifest, its tables, and the releases before it in the chain (R39).

Pure: standard library only.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from sys import intern

from adjudication.schema import release_format as form
from adjudication.schema.release_tables import DECLARED, tables_of
from adjudication.verifier.findings import Findings
from adjudication.verifier.policies import RecordedPolicies
from adjudication.verifier.release_reader import Manifest, read_neighbour, read_table, stream_table
from adjudication.verifier.rows import Row, RowIndex, RowMemory, TableRows
from adjudication.verifier.untrusted_files import NotARelease, file_size

_MAX_MERGES = 100


# The longest tables: their rows in earlier releases are streamed, not kept.
_LONG = frozenset({form.RESPONSES, form.PREDICTIONS, form.AUDIT})
# Rows of other tables take, with their indexes, at most so many times as much memory as they do on the disk.
_MEMORY_PER_BYTE = 12


@dataclass(frozen=True)
class EarlierRelease:
    """A release before this one, linked to it by hashes. Errors in its tables are reported by its own check."""

    folder: Path
    manifest: Manifest
    _rows: dict[str, Sequence[Row]] = field(default_factory=dict, repr=False, compare=False)

    def rows(self, file: str) -> Sequence[Row]:
        """Return the rows of a table; none where its revision has no such table. Raises ValueError for a long one."""
        if file in _LONG:
            raise ValueError(f"the rows of {file} are many: stream them")
        if file not in self._rows:
            self._rows[file] = tuple(self.stream(file))
        return self._rows[file]

    def stream(self, file: str) -> Iterator[Row]:
        """Yield the rows of a table, none of which is kept; none where its revision has no such table."""
        if file in tables_of(self.manifest.revision):
            yield from stream_table(self.folder, file, Findings(), revision=self.manifest.revision)

    @property
    def memory(self) -> int:
        """The approximate number of bytes of memory that its rows take."""
        return _MEMORY_PER_BYTE * sum(file_size(self.folder, file) for file in DECLARED.keys() - _LONG)


@dataclass(frozen=True)
class EarlierReleases:
    """The neighbouring releases that come before this one in the chain, newest first, until one is missing.

    `whole` says that the chain is complete from its first release on. `left_out` is the newest that would take too much
    memory, with those before it; empty where none does.
    """

    releases: tuple[EarlierRelease, ...]
    whole: bool
    left_out: str = ""


def earlier_releases(manifest: Manifest, beside: Path, previous: Path | None, memory_left: int) -> EarlierReleases:
    """Follow the chain back from a release until one is missing. `beside` is the folder of its neighbours; `previous`
    is the folder of the one before it, if that is elsewhere. `memory_left` is what
    the rows of the releases may take, in bytes."""
    found: list[EarlierRelease] = []
    whole, left_out = True, ""
    for before in _chain_before(manifest, beside, previous):
        if before is None:
            whole = False
        elif memory_left < 0 or (memory_left := memory_left - before.memory) < 0:
            whole, left_out = False, left_out or before.manifest.name
        else:
            found.append(before)
    return EarlierReleases(tuple(found), whole, left_out)


def _chain_before(manifest: Manifest, beside: Path, previous: Path | None) -> Iterator[EarlierRelease | None]:
    """Yield the releases before one, newest first; None at the end where an earlier one is missing."""
    seen = {manifest.sha256}
    while manifest.previous_name:
        folder = previous if previous is not None else beside / manifest.previous_name
        previous, beside = None, folder.resolve().parent
        try:
            before = read_neighbour(folder)
        except NotARelease:
            yield None
            return
        if before.sha256 != manifest.values["previous_sha256"] or before.sha256 in seen:
            yield None
            return
        seen.add(before.sha256)
        yield EarlierRelease(folder, before)
        manifest = before
    if manifest.values["previous_name"]:
        yield None


@dataclass(frozen=True)
class CheckedRelease:
    """The release that is being checked. `tables` are those of its revision."""

    folder: Path
    manifest: Manifest
    tables: Mapping[str, Sequence[Row]]
    earlier: EarlierReleases
    policies: RecordedPolicies
    _indices: dict[tuple[str, str], RowIndex[str]] = field(default_factory=dict, repr=False, compare=False)
    _earlier_indices: dict[tuple[str, str], dict[str, Row]] = field(default_factory=dict, repr=False, compare=False)

    def rows(self, file: str) -> Sequence[Row]:
        """Return the rows of a table; none where the revision has no such table."""
        return self.tables.get(file, ())

    @cached_property
    def weeks_before(self) -> list[EarlierRelease]:
        """The newest part of each earlier week, the oldest week first."""
        newest: dict[str, EarlierRelease] = {}
        for each in self.earlier.releases:
            newest.setdefault(each.manifest.values["week"], each)
        return [newest[name] for name in sorted(newest) if name < self.manifest.values["week"]]

    def by(self, file: str, column: str) -> Mapping[str, Row]:
        """Return cell -> the first row of a table of this release that has it in `column`."""
        if (file, column) not in self._indices:
            rows, numbers = self.rows(file), dict[str, int]()
            for number, row in enumerate(rows):
                if column in row:
                    numbers.setdefault(intern(row[column]), number)
            self._indices[file, column] = RowIndex(rows, numbers)
        return self._indices[file, column]

    def earlier_by(self, file: str, column: str) -> Mapping[str, Row]:
        """Return the same for the weeks before, with the row of the newest week that has it."""
        if (file, column) not in self._earlier_indices:
            rows = self.rows_before(file)
            self._earlier_indices[file, column] = {row[column]: row for row in rows if column in row}
        return self._earlier_indices[file, column]

    def rows_before(self, file: str) -> Iterator[Row]:
        """Yield the rows of a table in the releases of the weeks before, the oldest week first."""
        for each in self.weeks_before:
            yield from each.rows(file)

    @cached_property
    def stakes_by_defense(self) -> Mapping[str, Sequence[Row]]:
        """Defense -> the stakes on it, each from the newest known release."""
        known = {**self.earlier_by(form.STAKES, "number"), **self.by(form.STAKES, "number")}
        return _grouped(known.values(), "defense_id")

    @cached_property
    def breaks_by_defense(self) -> Mapping[str, Sequence[Row]]:
        """Defense -> its known breaks, including those that no prediction in force proves."""
        return _grouped((row for file in (form.BREAKS, form.UNPROVED) for row in self.known_rows(file)), "defense_id")

    @cached_property
    def attacks_by_image(self) -> Mapping[str, Sequence[Row]]:
        """Picture -> its known attacks."""
        return _grouped(self.known_rows(form.ATTACKS), "image_id")

    def known_rows(self, file: str) -> Iterator[Row]:
        """Yield the rows of a table in the releases of the weeks before, the oldest week first, and in this one."""
        yield from self.rows_before(file)
        yield from self.rows(file)

    def same_team(self, one: str, other: str) -> bool:
        """Say whether two teams count as one: the same, or merged into the same (R25)."""
        return self._final_team(one) == self._final_team(other)

    def _final_team(self, team_id: str) -> str:
        for _ in range(_MAX_MERGES):
            row = self.find(form.TEAMS, "team_id", team_id)
            if row is None or not row["merged_into"]:
                return team_id
            team_id = row["merged_into"]
        return team_id

    def final_team_by_number(self, number: str) -> str:
        """Return the id of the team with this number, or of the team that it was merged into; the number if unknown."""
        row = self.find(form.TEAMS, "number", number)
        return self._final_team(row["team_id"]) if row is not None else number

    def find(self, file: str, column: str, cell: str) -> Row | None:
        """Return the row of a table with this cell in `column`, here or in a week before."""
        return self.by(file, column).get(cell) or self.earlier_by(file, column).get(cell)


def begin_table(
    folder: Path, name: str, memory: RowMemory, processes: Executor | None, *, revision: int
) -> Callable[[Findings], TableRows]:
    """Begin to read a table as `read_table` does, in another process if there is one.

    Returns a function that waits for the table and adds its findings.
    """
    read: Callable[[], tuple[TableRows, Findings, int]] = partial(
        _read_in_process, folder, name, revision, copy(memory)
    )
    if processes is not None:
        read = processes.submit(read).result

    def finish(findings: Findings) -> TableRows:
        table, found, bytes_taken = read()
        findings.extend(found)
        memory.take_bytes(bytes_taken, name)
        return table

    return finish


def _read_in_process(folder: Path, name: str, revision: int, memory: RowMemory) -> tuple[TableRows, Findings, int]:
    findings, left = Findings(), memory.left
    table = read_table(folder, name, findings, revision=revision, memory=memory)
    return table, findings, left - memory.left


def sizes_of(images: Iterable[Row]) -> dict[str, tuple[int, int]]:
    """Return picture -> width and height. Equal sizes share one object, to save memory."""
    alike: dict[tuple[int, int], tuple[int, int]] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for row in images:
        image_id, width, height = row.cells(("image_id", "width", "height"))
        size = (int(width), int(height))
        sizes.setdefault(intern(image_id), alike.setdefault(size, size))
    return sizes


def _grouped(rows: Iterable[Row], column: str) -> Mapping[str, Sequence[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row[column], []).append(row)
    return found
