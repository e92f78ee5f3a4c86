"""Collects what the verifier finds in a release: differences, notes and figures, each safe to print.

Pure: standard library only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from adjudication.schema import release_tables
from adjudication.verifier.rows import Row
from adjudication.verifier.terminal import printable

_MAX_SHOWN_CHARACTERS = 120
# At most so many differences are kept; further ones are only counted.
_MAX_DIFFERENCES = 20_000
_MAX_NOTES = 1_000


@dataclass(frozen=True, slots=True)
class Difference:
    """A recorded value that differs from what follows from the rest; `line` is None where no single line is concerned.

    `rule` is the number in the rule book. All texts are printable; long ones are shortened in the middle.
    """

    file: str
    line: int | None
    row: str
    column: str
    recorded: str
    follows: str
    rule: str

    def __str__(self) -> str:
        named = f"{self.column} " if self.column else ""
        recorded, follows = (f"{named}{each or 'nothing'}" for each in (self.recorded, self.follows))
        place = f"line {self.line}, " if self.line else ""
        return f"{self.file}: {self.row}: recorded {recorded}, follows {follows} [{place}{self.rule}]"


@dataclass
class Findings:
    """The result of checks: `found` are differences, `notes` worth knowing, `figures` say what was checked; `rows` is
    how many rows of each table could be read."""

    found: list[Difference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    not_kept: int = 0

    @property
    def differences(self) -> list[str]:
        """Return the differences as sentences."""
        return [str(each) for each in self.found]

    def add(
        self, file: str, row: Row | str, recorded: object, follows: object, *, column: str = "", rule: str = ""
    ) -> None:
        """Add one difference: what `file` records in `row`, and what follows from the rest by `rule` (that of the
        column or of the file by default)."""
        if len(self.found) >= _MAX_DIFFERENCES:
            self.not_kept += 1
            return
        line = row.line if isinstance(row, Row) else None
        table = file.rpartition("/")[2]  # a file of another release is called `release-2026-W47/stakes.csv`
        identity = release_tables.row_name(table, row) if isinstance(row, Row) else row
        where, named, of, one, other = (
            printable(each, _MAX_SHOWN_CHARACTERS) for each in (file, identity, column, recorded, follows)
        )
        self.found.append(Difference(where, line, named, of, one, other, rule or release_tables.rule_of(table, column)))

    def compare(
        self, file: str, row: Row | str, recorded: object, follows: object, *, column: str = "", rule: str = ""
    ) -> None:
        """Add a difference where the recorded value (of `column`, if named) is not the one that follows."""
        if recorded != follows:
            self.add(file, row, recorded, follows, column=column, rule=rule)

    def add_cell(self, file: str, row: Row, column: str, follows: object, *, rule: str = "") -> None:
        """Add a difference in one cell of a row."""
        self.add(file, row, row[column], follows, column=column, rule=rule)

    def compare_cells(self, file: str, row: Row, follows: Mapping[str, str], *, rule: str = "") -> None:
        """Add a difference for each cell of a row that is not what follows; `follows` is column -> cell."""
        for column, cell in follows.items():
            self.compare(file, row, row[column], cell, column=column, rule=rule)

    def extend(self, others: "Findings") -> None:
        """Append the differences of other findings."""
        room = _MAX_DIFFERENCES - len(self.found)
        self.found += others.found[:room]
        self.not_kept += len(others.found[room:]) + others.not_kept

    @property
    def number(self) -> int:
        """Return how many differences there are, those that were not kept included."""
        return len(self.found) + self.not_kept

    def all_differences(self) -> list[str]:
        """Return the differences as sentences, with a last one about those that were not kept."""
        more = f"{self.not_kept:,} more differences are not listed"
        return [*self.differences, more] if self.not_kept else self.differences

    def note(self, text: str) -> None:
        """Add a note; after very many, further ones are left out."""
        if len(self.notes) < _MAX_NOTES:
            self.notes.append(printable(text))
