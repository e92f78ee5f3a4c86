"""A repeatable-read snapshot of the database while a release is written."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def snapshot() -> Iterator[None]:
    """One unchanging view of the database, which holds nobody up. Inside another transaction, that one's view."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            # Every row is read to the end, so plans that are quick to the first rows are the wrong ones.
            cursor.execute("SET LOCAL cursor_tuple_fraction = 1.0")
            yield
    else:
        with _reading_only(), transaction.atomic():
            yield


@contextmanager
def _reading_only() -> Iterator[None]:
    """Let the next transaction on SQLite begin as a reader, where the setting makes every one a writer at once."""
    connection.ensure_connection()  # which reads the setting
    mode = connection.transaction_mode  # type: ignore[attr-defined]
    connection.transaction_mode = "DEFERRED"  # type: ignore[attr-defined]
    try:
        yield
    finally:
        connection.transaction_mode = mode  # type: ignore[attr-defined]
