"""All tables of a release (R39): the columns of each file, their cell formats, and how far each can be verified.

The exporter, the verifier, the import of releases, the documentation and the tests that falsify releases all follow
these declarations. Standard library only. A revision adds a table of its own, or columns after the existing ones.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from adjudication.schema import release_format as form
from adjudication.schema.board_tables import BOARD_TABLES
from adjudication.schema.columns import Column, TableSchema
from adjudication.schema.contest_tables import CONTEST_TABLES
from adjudication.schema.picture_tables import PICTURE_TABLES
from adjudication.schema.scoring_tables import SCORING_TABLES

DECLARED: Mapping[str, TableSchema] = MappingProxyType(
    {table.file: table for table in (*PICTURE_TABLES, *SCORING_TABLES, *CONTEST_TABLES, *BOARD_TABLES)}
)

# file -> column name -> column. The order of the columns is the order in the file.
Tables: TypeAlias = Mapping[str, Mapping[str, Column]]


def _tables(revision: int) -> Tables:
    """Return the tables of a revision: columns that a revision added come after the earlier ones."""
    return MappingProxyType(
        {
            file: MappingProxyType(
                dict(
                    sorted(
                        ((name, each) for name, each in table.columns.items() if each.since <= revision),
                        key=lambda named: named[1].since,
                    )
                )
            )
            for file, table in DECLARED.items()
            if table.since <= revision
        }
    )


_TABLES_OF = tuple(_tables(revision) for revision in range(1, form.REVISION + 1))
TABLES = _TABLES_OF[-1]
FILES = frozenset({*TABLES, form.TASKER_DATA, form.COCO, form.PARQUET})


def tables_of(revision: int) -> Tables:
    """Return the tables that a release of this revision has."""
    return _TABLES_OF[revision - 1]


def header(file: str) -> list[str]:
    """Return the column names of a table, for example of `responses.csv`."""
    return list(TABLES[file])


def written(file: str, rows: Iterable[Sequence[Any]]) -> Iterator[list[str]]:
    """Yield rows of values, in the order of the columns, as cells; a cell is empty for None."""
    columns = [column.kind.write for column in TABLES[file].values()]
    for row in rows:
        yield ["" if value is None else write(value) for write, value in zip(columns, row, strict=True)]


def values(file: str, row: Mapping[str, str]) -> dict[str, Any]:
    """Return the values in the cells of a row, by their columns."""
    return {name: TABLES[file][name].kind.read(cell) for name, cell in row.items()}


def files_of(revision: int) -> frozenset[str]:
    """Return the files that a release of this revision has beside its manifest and its pictures."""
    return frozenset({*tables_of(revision), form.TASKER_DATA, form.COCO, form.PARQUET})


def is_file(path: str) -> bool:
    """Say whether a file with this path can belong to a release."""
    return path == form.MANIFEST or path in FILES or form.is_picture(path)


# Words before the columns of a row's name: `row P-1 number 2`, `row D-1 on P-1 round 3`.
_BETWEEN = {"image_id": "on", "team_id": "of"}
_NUMERIC = frozenset({"number", "panel", "round", "response_id", "prediction_id", "break_id"})


def row_name(file: str, row: Mapping[str, str]) -> str:
    """Return a row's name for people, from the columns of its key."""
    first, *others = DECLARED[file].key
    return f"row {row[first]}" + "".join(f" {_BETWEEN.get(name, name)} {row[name]}" for name in others)


def order_of(file: str, row: Mapping[str, str]) -> tuple[Any, ...]:
    """Return the sort key of a row: numbers as numbers, other texts by their letters."""
    return tuple([int(row[name]) if numeric else row[name] for name, numeric in _ORDER[file]])


_ORDER = {file: [(name, name in _NUMERIC) for name in table.key] for file, table in DECLARED.items()}


def rule_of(file: str, column: str = "") -> str:
    """Return the rule of a column, or that of the whole table; R39 for a file that is not a table."""
    table = DECLARED.get(file)
    if table is None:
        return "R39"
    return table.columns[column].rule if column in table.columns else table.rule
