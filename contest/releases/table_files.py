"""Writes the tables of a release from rows of the database (R39).

PostgreSQL writes the cells of a table itself and hands out its finished lines (`COPY`), which takes a fraction of the
time of values that go through Python. On SQLite, and where a table has a column that only Python can write, Python
writes it; a test compares both byte by byte.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from django.db import connection
from django.db.models import F, QuerySet
from django.db.models.functions import Collate

from adjudication.schema import cells, release_tables
from contest.releases.files import ReleaseFolder

# Rows that are in memory at once.
CHUNK = 1_000

Row = tuple[Any, ...]

_TEXT = "CASE WHEN left({0}, 1) IN ('=', '+', '-', '@', E'\t', '|', '''') THEN '''' ELSE '' END || {0}"
# What the functions of `cells` write, as expressions of PostgreSQL. An empty cell is NULL, which has no quotes.
_WRITTEN_BY_POSTGRESQL: Mapping[Callable[[Any], str], str] = MappingProxyType(
    {
        str: "NULLIF({0}::text, '')",
        cells.time: """to_char({0} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')""",
        cells.boolean: "CASE {0} WHEN true THEN 'true' WHEN false THEN 'false' END",
        cells.pixels: "({0} / 100)::text || '.' || lpad(({0} % 100)::text, 2, '0')",
        cells.seconds: "({0} / 1000)::text || '.' || lpad(({0} % 1000)::text, 3, '0')",
        cells.share: "{0}",
        cells.listed: """NULLIF(translate({0}::text, ',[] "', ';'), '')""",
        cells.text: f"NULLIF(replace(replace({_TEXT}, E'\r\n', E'\n'), E'\r', E'\n'), '')",
    }
)


def by_bytes(field: str) -> Collate:
    """Sort a text column by its bytes, whatever language the database was set up in."""
    return Collate(F(field), "C" if connection.vendor == "postgresql" else "BINARY")


def stream(rows: QuerySet[Any, Any]) -> Iterator[Any]:
    """Read rows a CHUNK at a time."""
    return rows.iterator(chunk_size=CHUNK)


def query_text(rows: QuerySet[Any, Any]) -> str:
    """Return the query of PostgreSQL for these rows with its parameters written into it."""
    # A query that can have no rows is written all the same.
    compiler = rows.query.get_compiler(connection=connection, elide_empty=False)
    with connection.cursor() as cursor:
        return str(cursor.mogrify(*compiler.as_sql()).decode())


def write_table(folder: ReleaseFolder, name: str, rows: Iterable[Row]) -> int:
    """Write rows of values in the order of the table's columns; returns how many there are."""
    if isinstance(rows, QuerySet):
        if connection.vendor == "postgresql" and _can_be_copied(name):
            return _copy_table(folder, name, rows)
        rows = stream(rows)
    return folder.table(name, [release_tables.header(name)], release_tables.written(name, rows))


def _can_be_copied(name: str) -> bool:
    return all(column.kind.write in _WRITTEN_BY_POSTGRESQL for column in release_tables.TABLES[name].values())


def _copy_table(folder: ReleaseFolder, name: str, rows: QuerySet[Any, Any]) -> int:
    columns = {f"c{number}": column for number, column in enumerate(release_tables.TABLES[name].values())}
    written = (_WRITTEN_BY_POSTGRESQL[column.kind.write].format(value) for value, column in columns.items())
    table = f"SELECT {', '.join(written)} FROM ({query_text(rows)}) AS rows ({', '.join(columns)})"
    with connection.cursor() as cursor:
        copy = f"COPY ({table}) TO STDOUT (FORMAT csv)"
        return folder.lines(name, [release_tables.header(name)], lambda lines: cursor.copy_expert(copy, lines))
