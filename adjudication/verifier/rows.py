"""Gives access to rows of a release's tables, read from their files one by one, within a memory limit (R39).

Pure: standard library only.
"""

import csv
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from sys import getsizeof
from typing import Any, BinaryIO, TypeVar, overload
from weakref import finalize

from adjudication.schema import release_format as form
from adjudication.verifier.untrusted_files import NotARelease, open_regular

# The limit of memory for the rows of a release, in bytes, as counted here.
MAX_HELD_BYTES = 480 << 20
# The most bytes that the checks keep for each row of a streamed table.
_KEPT_BYTES = {form.RESPONSES: 400, form.IMAGES: 600, form.RULINGS: 400, form.PROVENANCE: 300, form.PANELS: 600}
# The bytes that they keep for each other row beside the row itself: predictions by defense, picture and round.
_DERIVED_BYTES = 280
_DERIVED_FROM = {form.PREDICTIONS: 600}
# Rows read one after another are read from the file in pieces of so many bytes.
_PIECE = 1 << 16
Key = TypeVar("Key")


class Columns:
    """The columns of a table, and a cache of the row that was read last."""

    __slots__ = ("_getters", "last", "places")

    def __init__(self, names: Iterable[str]) -> None:
        """Begin without a row."""
        self.places = {name: place for place, name in enumerate(names)}
        self.last: Row | None = None
        self._getters: dict[tuple[str, ...], Callable[[list[str]], tuple[str, ...]]] = {}

    def getter(self, names: tuple[str, ...]) -> Callable[[list[str]], tuple[str, ...]]:
        """Return a function that takes the cells of at least two columns out of a row's cells; raises KeyError."""
        if names not in self._getters:
            self._getters[names] = itemgetter(*(self.places[name] for name in names))
        return self._getters[names]


class Row(Mapping[str, str]):
    """The cells of a row by their columns.

    They are held as the text of the file, because many rows are read rarely. For the last row read of each table, the
    parsed cells are held too.
    """

    __slots__ = ("_cells", "_columns", "_text", "line")

    def __init__(self, columns: Columns, text: str, line: int, cells: list[str] | None = None) -> None:
        """Hold a record of CSV with a cell for each of `columns`; `cells` are the parsed cells, if known. `line` is the
        number of its first line in the file, whose heading is line 1."""
        self._columns, self._text, self.line = columns, text, line
        self._cells: list[str] | None = None
        if cells is not None:
            self._look(cells)

    def __getitem__(self, column: str) -> str:
        """Return the cell of a column; raises KeyError."""
        return (self._cells or self._look(cells_of(self._text)))[self._columns.places[column]]

    def cells(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Return the cells of at least two columns: one call is faster than one for each. Raises KeyError."""
        return self._columns.getter(columns)(self._cells or self._look(cells_of(self._text)))

    def _look(self, cells: list[str]) -> list[str]:
        last, self._columns.last = self._columns.last, self
        if last is not None:
            last._cells = None
        self._cells = cells
        return cells

    def __contains__(self, column: object) -> bool:
        """Say whether the table has a column."""
        return column in self._columns.places

    def __iter__(self) -> Iterator[str]:
        """Yield the columns."""
        return iter(self._columns.places)

    def __bool__(self) -> bool:
        """Return True, whatever the cells are."""
        return True

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self._columns.places)

    def __sizeof__(self) -> int:
        """Return the bytes that it takes with its text."""
        return object.__sizeof__(self) + getsizeof(self._text)


class TableRows(Sequence[Row]):
    """The rows of a table in the order of the file. Each is read from the file on every access: only its place is held
    in memory."""

    def __init__(self, folder: Path, name: str, columns: Iterable[str]) -> None:
        """Begin without a row of the file `name` below `folder`."""
        self._folder, self._name, self._columns = folder, name, Columns(columns)
        # Four bytes are enough for a position in the longest file that is read.
        self._places, self._sizes, self._lines = array("I"), array("I"), array("I")

    def append(self, place: int, size: int, line: int) -> None:
        """Add the row whose record begins at byte `place` of the file, in this line, and has `size` bytes."""
        self._places.append(place)
        self._sizes.append(size)
        self._lines.append(line)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._places)

    @overload
    def __getitem__(self, number: int) -> Row: ...
    @overload
    def __getitem__(self, number: slice) -> list[Row]: ...
    def __getitem__(self, number: int | slice) -> Row | list[Row]:
        """Return a row, or a slice of rows; raises IndexError, and UnreadableFile where the file is gone."""
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        return Row(self._columns, self._read(self._places[number], self._sizes[number]).decode(), self._lines[number])

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows."""
        columns, piece, first = self._columns, b"", 0
        for place, size, line in zip(self._places, self._sizes, self._lines, strict=True):
            at = place - first
            if at + size > len(piece):
                piece, first, at = self._read(place, max(size, _PIECE)), place, 0
            yield Row(columns, piece[at : at + size].decode(), line)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process, which opens the file itself and has its own cache."""
        kept = {name: value for name, value in vars(self).items() if name != "_file"}
        return {**kept, "_columns": Columns(self._columns.places)}

    @cached_property
    def _file(self) -> BinaryIO:
        file = open_regular(self._folder, self._name)
        finalize(self, file.close)
        return file

    def _read(self, place: int, size: int) -> bytes:
        self._file.seek(place)
        return self._file.read(size)


def cells_of(record: str) -> list[str]:
    """Return the cells of a record of CSV; raises csv.Error."""
    return plain_cells(record) or next(csv.reader((record,), strict=True))


def plain_cells(record: str) -> list[str] | None:
    """Return the cells of a line of canonical CSV with at most one quoted cell, by a fast path; None for any other
    line."""
    if "\r" in record or record[-1:] != "\n":
        return None
    if '"' not in record:
        return record[:-1].split(",") if record != "\n" else None
    parts = record[:-1].split('"')
    if len(parts) != 3:
        return None
    before, cell, after = parts
    if "," not in cell or before[-1:] not in ("", ",") or after[:1] not in ("", ","):
        return None
    return [*before[:-1].split(",")[: len(before)], cell, *after[1:].split(",")[: len(after)]]


class Times:
    """The times in one column of many rows: held as one text, because all have the same length."""

    _LENGTH = len("2026-11-18T12:00:00.000000Z")

    def __init__(self) -> None:
        """Begin without a time."""
        self._text = bytearray()

    def append(self, cell: str) -> None:
        """Add a time, or an empty cell."""
        self._text += cell.ljust(self._LENGTH).encode()

    def __getitem__(self, number: int) -> str:
        """Return the cell with this index, counted from 0."""
        return self._text[number * self._LENGTH : (number + 1) * self._LENGTH].decode().rstrip()


class RowIndex(Mapping[Key, Row]):
    """An index, key -> row, that holds the numbers of rows and not the rows themselves."""

    def __init__(self, rows: Sequence[Row], numbers: Mapping[Key, int]) -> None:
        """Map keys to positions in `rows` by `numbers`, which may grow later."""
        self._rows, self._numbers = rows, numbers

    def __getitem__(self, key: Key) -> Row:
        """Return the row; raises KeyError."""
        return self._rows[self._numbers[key]]

    def get(self, key: Key, default: Any = None) -> Any:
        """Return the row, `default` where there is none."""
        number = self._numbers.get(key)
        return default if number is None else self._rows[number]

    def __contains__(self, key: object) -> bool:
        """Say whether there is a row, without reading it."""
        return key in self._numbers

    def __iter__(self) -> Iterator[Key]:
        """Yield the keys."""
        return iter(self._numbers)

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._numbers)


class RowMemory:
    """The limit of memory for the rows of all tables of a release, and what is left of it."""

    def __init__(self, folder: Path, max_bytes: int = MAX_HELD_BYTES) -> None:
        """Begin with `max_bytes` left for the release in `folder`."""
        self._folder, self._max_bytes, self.left = folder, max_bytes, max_bytes

    def take(self, table: str, row: Row) -> None:
        """Take the memory of a row and of what is derived from it; raises NotARelease where too little is left."""
        kept = _KEPT_BYTES.get(table)
        needed = getsizeof(row) + _DERIVED_FROM.get(table, _DERIVED_BYTES) if kept is None else kept
        self.take_bytes(needed, table)

    def take_bytes(self, number: int, table: str) -> None:
        """Take so many bytes for a table; raises NotARelease where too few are left."""
        self.left -= number
        if self.left < 0:
            raise NotARelease(
                f"{self._folder}: {table}: its rows take more than {self._max_bytes >> 20:,} MiB of memory"
            )
