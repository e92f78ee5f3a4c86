"""Writes that survive a short outage of the database, and bulk inserts."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from io import StringIO
from itertools import chain
from typing import Any, TypeVar

from django.db import InterfaceError, OperationalError, connection
from django.db.models import Model

from common.outages import outages

T = TypeVar("T")
Row = Sequence[Any]
DATABASE_AWAY = (OperationalError, InterfaceError)
_WORK = "writing of answers"
_ESCAPED = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def retry_until_kept(write: Callable[[], T], *, seconds: float = 60, pause: float = 1) -> T:
    """Retry `write`, a transaction of its own, while the database is away, for about as long as a lease.

    Hours of a card's work may depend on it. Only for writes that name an attempt: the retry of a write that was
    committed although its reply was lost is then refused, not doubled. The last error is raised.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            kept = write()
        except DATABASE_AWAY as error:
            if time.monotonic() >= until:
                raise
            outages.failed(_WORK, error)
            connection.close()
            time.sleep(pause)
        else:
            outages.succeeded(_WORK)
            return kept


def insert(model: type[Model], alike: Mapping[str, Any], names: Sequence[str], rows: Sequence[Row]) -> None:
    """Add `rows` to a model's table: each has the values `alike`, and its own for the columns `names`.

    For tables with millions of rows: an instance for each costs several times the database's work. Columns are named
    by their attributes. Values are numbers, text, times with a zone and None. Nothing is checked but what the
    database checks, and no signal is sent.
    """
    column = {field.attname: field.column for field in model._meta.fields if field.column}
    into = ", ".join(connection.ops.quote_name(column[name]) for name in (*alike, *names))
    table = f"{connection.ops.quote_name(model._meta.db_table)} ({into})"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.copy_expert(f"COPY {table} FROM STDIN", StringIO(_copied(alike, rows)))
            return
        for part in _parts(rows, len(alike), len(names)):
            values = chain(alike.values(), chain.from_iterable(part))
            own = f"(VALUES {_marks(part, f'({_marks(names)})')}) AS own"
            cursor.execute(f"INSERT INTO {table} SELECT {_marks(alike)}, own.* FROM {own}", _adapted(values))


def _copied(alike: Mapping[str, Any], rows: Sequence[Row]) -> str:
    """Return rows as COPY reads them: half the work of a statement with as many values, on either side."""
    same = list(map(_copied_value, alike.values()))
    return "".join("\t".join([*same, *map(_copied_value, row)]) + "\n" for row in rows)


def _copied_value(value: Any) -> str:
    if isinstance(value, str):
        return value.translate(_ESCAPED)
    return "\\N" if value is None else str(value)


def _marks(places: Collection[object], mark: str = "%s") -> str:
    return ", ".join([mark] * len(places))


def _parts(rows: Sequence[Row], alike: int, own: int) -> Iterator[Sequence[Row]]:
    """Yield the rows, as many at once as a statement of SQLite's can have values."""
    most = connection.features.max_query_params or 0
    at_once = (most - alike) // own
    for start in range(0, len(rows), at_once):
        yield rows[start : start + at_once]


def _adapted(values: Iterable[Any]) -> list[Any]:
    """Return values as the database's driver takes them; times are the only ones that SQLite does not know."""
    adapt = connection.ops.adapt_datetimefield_value
    return [adapt(value) if isinstance(value, datetime) else value for value in values]
