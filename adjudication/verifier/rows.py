"""The rows of a release's tables, held in little memory and within a bound (R39).

Pure: standard library only.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from sys import getsizeof, intern

from adjudication.schema import release_format as form

# So much memory the rows of a release may take, in bytes, as they are counted here.
MOST_HELD_BYTES = 480 << 20
# What the checks keep for each row, as measured: answers are gathered by defense, picture and round.
_DERIVED_BYTES = 280
_DERIVED_FROM = {form.PREDICTIONS: 600}
# Separates cells; no valid cell contains it.
_BETWEEN = "\r"
# Longer cells seldom repeat: outlines, hashes, times, free text.
_LONGEST_SHARED = 24


class TooManyRows(Exception):
    """The rows of a release take more memory than is allowed."""


class Columns:
    """The columns of a table, and the cells of the row that was looked at last."""

    __slots__ = ("last", "places")

    def __init__(self, names: Iterable[str]) -> None:
        """Begin without a row."""
        self.places = {name: place for place, name in enumerate(names)}
        self.last: tuple[Row | None, list[str]] = (None, [])


class Row(Mapping[str, str]):
    """The cells of a row by their columns.

    They are held as one text: a week has hundreds of thousands of rows, and each is looked at only now and then.
    """

    __slots__ = ("_columns", "_text")

    def __init__(self, columns: Columns, cells: Sequence[str], line: int) -> None:
        """Hold `cells`, one for each of `columns`, none of them with a carriage return."""
        self._columns, self._text = columns, _BETWEEN.join((*cells, str(line)))

    @property
    def line(self) -> int:
        """The number of its first line in the file; the heading is line 1."""
        return int(self._text.rpartition(_BETWEEN)[2])

    def __getitem__(self, column: str) -> str:
        """Return the cell of a column; raises KeyError."""
        row, cells = self._columns.last
        if row is not self:
            cells = self._text.split(_BETWEEN)
            self._columns.last = (self, cells)
        cell = cells[self._columns.places[column]]
        return intern(cell) if len(cell) <= _LONGEST_SHARED else cell

    def __contains__(self, column: object) -> bool:
        """Say whether the table has a column."""
        return column in self._columns.places

    def __iter__(self) -> Iterator[str]:
        """Yield the columns."""
        return iter(self._columns.places)

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self._columns.places)

    def __sizeof__(self) -> int:
        """Return the bytes that it takes with its text."""
        return object.__sizeof__(self) + getsizeof(self._text)


class RowMemory:
    """The memory that the rows of all tables of a release may take."""

    def __init__(self, most: int = MOST_HELD_BYTES) -> None:
        """Begin with all of it `left`; `most` is in bytes."""
        self._most, self.left = most, most

    def take(self, table: str, row: Row) -> None:
        """Take what a row needs, with what is derived from it; raises TooManyRows where there is no more."""
        self.left -= getsizeof(row) + _DERIVED_FROM.get(table, _DERIVED_BYTES)
        if self.left < 0:
            raise TooManyRows(f"its rows take more than {self._most >> 20:,} MiB of memory")
