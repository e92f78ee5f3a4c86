"""Types to declare a column of a release (R39): how far its values can be verified, and the bounds to be checked.

Standard library only. The declarations are in `picture_tables`, `scoring_tables`, `contest_tables` and `board_tables`;
the verifier, the documentation and the tests that falsify releases follow them.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from adjudication.schema.cell_kinds import CellKind


class Standing(StrEnum):
    """DERIVED: computed again. BOUND: by references, order in time, range or uniqueness. FREE: cannot be verified."""

    DERIVED = "derived"
    BOUND = "bound"
    FREE = "free"


@dataclass(frozen=True, slots=True)
class NamesRow:
    """Each cell names a row of `table` by its `column`; with `earlier` the row may be in an earlier release."""

    table: str
    column: str
    earlier: bool = False

    def __str__(self) -> str:
        return f"names a row of `{self.table}`" + (", here or in an earlier release" if self.earlier else "")


@dataclass(frozen=True, slots=True)
class SameAsNamed:
    """The cell repeats `column` of the row of `table` whose `key` is in this row's column `by`."""

    table: str
    key: str
    by: str
    column: str

    def __str__(self) -> str:
        return f"is `{self.column}` in `{self.table}`"


@dataclass(frozen=True, slots=True)
class InWeek:
    """The time is within the week of the release."""

    def __str__(self) -> str:
        return "in the week"


@dataclass(frozen=True, slots=True)
class BeforeWeekEnd:
    """The time is before the end of the week."""

    def __str__(self) -> str:
        return "before the week's end"


@dataclass(frozen=True, slots=True)
class NotBefore:
    """The time is no earlier than that in another column of the row, where that has one."""

    column: str

    def __str__(self) -> str:
        return f"not before `{self.column}`"


@dataclass(frozen=True, slots=True)
class NotBeforeNamed:
    """The time is no earlier than `column` of the row of `table` whose `key` is in this row's column `by`."""

    table: str
    key: str
    by: str
    column: str

    def __str__(self) -> str:
        return f"not before `{self.column}` in `{self.table}`"


@dataclass(frozen=True, slots=True)
class Between:
    """The number is within these limits, both allowed."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"from {self.least:,} to {self.most:,}"


@dataclass(frozen=True, slots=True)
class FilledWith:
    """The cell is filled exactly where another column is filled, or where that has one of `words`."""

    column: str
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"filled exactly where `{self.column}` is" + (f" {' or '.join(self.words)}" if self.words else "")


@dataclass(frozen=True, slots=True)
class Once:
    """No two rows of the table have the same cell."""

    def __str__(self) -> str:
        return "once in the table"


@dataclass(frozen=True, slots=True)
class New:
    """No earlier release of another week has a row with this cell."""

    def __str__(self) -> str:
        return "in no release of another week before"


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The cell is the same as in an earlier release; a cell that was empty there may be filled, unless `empty_too`."""

    empty_too: bool = False

    def __str__(self) -> str:
        return "as in earlier releases"


@dataclass(frozen=True, slots=True)
class InForceAt:
    """The version of the policy that was in force at the time in another column."""

    at: str

    def __str__(self) -> str:
        return f"in force at `{self.at}`"


Bound: TypeAlias = (
    NamesRow
    | SameAsNamed
    | InWeek
    | BeforeWeekEnd
    | NotBefore
    | NotBeforeNamed
    | Between
    | FilledWith
    | Once
    | New
    | Unchanged
    | InForceAt
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: the kind of its cells, and how far they can be verified.

    `words` say what a derived column follows from, what binds a bound one beside its `bounds`, or why a free one cannot
    be verified. `since` is the revision of the format that added the column.
    """

    kind: CellKind
    standing: Standing
    rule: str
    words: str
    bounds: tuple[Bound, ...] = ()
    since: int = 1

    @property
    def reason(self) -> str:
        """Return in one phrase what it follows from, what binds it, or why it is free."""
        return "; ".join([*([self.words] if self.words else []), *map(str, self.bounds)])


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table: the columns that name a row and by which rows are sorted, the rule it is about, the revision of the
    format that added it, and its columns in the order of the file."""

    file: str
    key: tuple[str, ...]
    rule: str
    since: int
    columns: dict[str, Column] = field(hash=False)


def derived(kind: CellKind, rule: str, words: str, *bounds: Bound, since: int = 1) -> Column:
    """Return a column that is computed again from what `words` say, or as one of `bounds` says."""
    return Column(kind, Standing.DERIVED, rule, words, bounds, since)


def bound(kind: CellKind, rule: str, *bounds: Bound, words: str = "", since: int = 1) -> Column:
    """Return a column that is bound to other data, by `bounds` or as `words` say."""
    if not bounds and not words:
        raise ValueError("a bound column says what binds it")
    return Column(kind, Standing.BOUND, rule, words, bounds, since)


def free(kind: CellKind, rule: str, words: str, *bounds: Bound, since: int = 1) -> Column:
    """Return a column that cannot be verified; `words` say why. `bounds` hold nevertheless."""
    return Column(kind, Standing.FREE, rule, words, bounds, since)
