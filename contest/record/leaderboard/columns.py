"""Defines the columns of the leaderboard, for sorting and for the CSV file."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from adjudication.schema import cells
from contest.core.enums import DefenseStanding
from contest.record.leaderboard.rows import DefenseRank, TeamName, TeamRow
from contest.record.leaderboard.tables import ordered

# The best first.
_STATES = (
    DefenseStanding.WON,
    DefenseStanding.STAKED,
    DefenseStanding.PUBLISHED,
    DefenseStanding.BROKEN,
    DefenseStanding.WITHDRAWN,
)


@dataclass(frozen=True, slots=True)
class SortColumn:
    """A column by which a table may be sorted: its name in the address, its title, and the value to sort by.

    `first` says that a table sorted by it begins with the largest.
    """

    name: str
    words: str
    key: Callable[[Any], Any]
    numbers: bool = True
    first: bool = True


@dataclass(frozen=True, slots=True)
class ColumnHeading:
    """A column as a page shows it: where its link leads, and how the table is sorted by it, if it is."""

    column: SortColumn
    url: str
    sorted: str


def _right(row: DefenseRank) -> int | None:
    found = row.eligibility
    return 10_000 * found.right // max(found.pictures, 1) if found else None


DEFENSES = (
    SortColumn("rank", "Rank", lambda row: row.rank, first=False),
    SortColumn("name", "Defense", lambda row: row.name.casefold(), numbers=False, first=False),
    SortColumn("state", "State", lambda row: _STATES.index(row.state), numbers=False, first=False),
    SortColumn("staked", "Staked since", lambda row: row.staked_since, numbers=False),
    SortColumn("days", "Days unbroken", lambda row: row.days_unbroken),
    SortColumn("survived", "Attacks survived", lambda row: row.survived),
    SortColumn("eligibility", "Private set", _right),
    SortColumn("warmup", "Warm-up", lambda row: row.warmup),
    SortColumn("source", "Source", lambda row: not row.open_source, numbers=False, first=False),
    SortColumn("randomised", "Randomised", lambda row: row.randomised, numbers=False),
    SortColumn("broken", "Broken", lambda row: row.broken_at, numbers=False),
)
ATTACKERS = (
    SortColumn("rank", "Rank", lambda row: row.rank, first=False),
    SortColumn("name", "Team", lambda row: row.name.casefold(), numbers=False, first=False),
    SortColumn("sent", "Pictures sent", lambda row: row.sent),
    SortColumn("valid", "Valid attacks", lambda row: row.valid),
    SortColumn("breaks", "Breaks", lambda row: row.breaks),
    SortColumn("defenses", "Defenses broken", lambda row: row.defenses),
    SortColumn("prizes", "Prizes", lambda row: row.cents),
)


@dataclass(frozen=True, slots=True)
class Sorting:
    """By which column a table is sorted, and whether the largest comes first."""

    column: SortColumn
    descending: bool

    @property
    def name(self) -> str:
        """Return what the address says: the column's name, with a minus where the largest comes first."""
        return f"-{self.column.name}" if self.descending else self.column.name

    def of(self, rows: Iterable[Any]) -> list[Any]:
        """Return the rows in this order."""
        return ordered(rows, self.column.key, descending=self.descending)


def sorting(columns: Sequence[SortColumn], asked: str) -> Sorting:
    """Return the sorting that an address names; by rank if it names none that exists."""
    by_name = {column.name: column for column in columns}
    found = by_name.get(asked.removeprefix("-"))
    return Sorting(found, asked.startswith("-")) if found else Sorting(columns[0], False)


def headings(columns: Sequence[SortColumn], by: Sorting, address: Callable[[str], str]) -> list[ColumnHeading]:
    """Return the columns with their links: each sorts by its column, or reverses the present order by it."""
    return [_heading(column, by, address) for column in columns]


def _heading(column: SortColumn, by: Sorting, address: Callable[[str], str]) -> ColumnHeading:
    here = column is by.column
    largest_first = not by.descending if here else column.first
    word = ("descending" if by.descending else "ascending") if here else ""
    return ColumnHeading(column, address(f"-{column.name}" if largest_first else column.name), word)


# Files ----------------------------------------------------------------------------------------------------------------

DEFENSE_FIELDS = (
    *("rank", "id", "name", "demo", "team_id", "team", "state", "staked_since", "days_unbroken", "survived", "cents"),
    *("clock_ends", "private_pictures", "private_right", "private_wrong", "private_abstained", "private_faults"),
    *("warmup", "warmup_warnings"),
    *("open_source", "randomised", "broken_at", "broken_week", "broken_by", "broken_by_at"),
)
TEAM_FIELDS = ("rank", "id", "name", "unpaid", "sent", "valid", "breaks", "defenses", "cents")


def file_rows(table: str, rows: Iterable[Any]) -> list[Sequence[Any]]:
    """Return the lines of a CSV file: the heading, and one line for each row."""
    flat, fields = (_defense, DEFENSE_FIELDS) if table == "defenses" else (_team, TEAM_FIELDS)
    return [fields, *([_cell_value(flat(row)[name]) for name in fields] for row in rows)]


def _team(row: TeamRow) -> Mapping[str, Any]:
    return {name: getattr(row, name) for name in TEAM_FIELDS}


def _defense(row: DefenseRank) -> Mapping[str, Any]:
    own = {name: getattr(row, name, None) for name in DEFENSE_FIELDS}
    totals = ("pictures", "right", "wrong", "abstained", "faults")
    private = {f"private_{name}": getattr(row.eligibility, name, None) for name in totals}
    team = row.team or TeamName("", "")
    joined = {"broken_by": ";".join(t.id for t in row.broken_by), "warmup_warnings": ";".join(row.warmup_warnings)}
    joined["broken_by_at"] = ";".join(t.at.isoformat() for t in row.broken_by)
    return own | private | joined | {"team_id": team.id, "team": team.name}


def _cell_value(value: Any) -> Any:
    """Return the value of a cell in the CSV file."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str):
        return cells.text(value)
    return "" if value is None else value
