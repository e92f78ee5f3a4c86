"""A repeatable-read snapshot of the database while a release is written."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from django.db import connection, transaction

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One unchanging view of the database. `is_shared`: other connections can read from it."""

    is_shared: bool

    def read(self, *steps: Callable[[], T]) -> list[T]:
        """Run steps that read from the snapshot, and return what they return.

        Where other connections can share it, they run in threads, each with a connection of its own: two at once, or as
        many as this process has cores. With more than that, the others would hold up the longest.
        """
        if not self.is_shared:
            return [step() for step in steps]
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_export_snapshot()")
            (name,) = cursor.fetchone()
        with ThreadPoolExecutor(max(2, len(os.sched_getaffinity(0)))) as pool:
            return list(pool.map(partial(_read_in_own_connection, name), steps))


def _read_in_own_connection(name: str, step: Callable[[], T]) -> T:
    try:
        with _reading_on_postgresql(name):
            return step()
    finally:
        connection.close()  # a thread's connection is its own


@contextmanager
def snapshot() -> Iterator[Snapshot]:
    """Open one unchanging view of the database without blocking others; inside a transaction, the view of that."""
    if connection.in_atomic_block:
        yield Snapshot(is_shared=False)
    elif connection.vendor == "postgresql":
        with _reading_on_postgresql():
            yield Snapshot(is_shared=True)
    else:
        with _reading_on_sqlite(), transaction.atomic():
            yield Snapshot(is_shared=False)


@contextmanager
def _reading_on_postgresql(name: str = "") -> Iterator[None]:
    """Read in a transaction: from the snapshot of this name, where there is one."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        if name:
            cursor.execute("SET TRANSACTION SNAPSHOT %s", [name])
        # Every row is read to the end, so plans that are quick to the first rows are the wrong ones.
        cursor.execute("SET LOCAL cursor_tuple_fraction = 1.0")
        # Compiling a query takes longer than it saves.
        cursor.execute("SET LOCAL jit = off")
        yield


@contextmanager
def _reading_on_sqlite() -> Iterator[None]:
    """Let the next transaction on SQLite begin as a reader, where the setting makes every one a writer at once."""
    connection.ensure_connection()  # which reads the setting
    mode = connection.transaction_mode  # type: ignore[attr-defined]
    connection.transaction_mode = "DEFERRED"  # type: ignore[attr-defined]
    try:
        yield
    finally:
        connection.transaction_mode = mode  # type: ignore[attr-defined]
