"""Coordinates storing files with removing unused ones (decision 25).

Writers share a lock from before a file is put until the row that names it is committed; the remover has it alone. So
what the remover sees is complete: a file that no row names then, nobody is about to name. On PostgreSQL it is an
advisory lock that ends with the transaction. On SQLite one transaction at a time writes (`IMMEDIATE`), which is enough.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connection, transaction

from common.errors import ServerBusy

_LOCK = 0x53544F5245  # "STORE"; no other advisory lock is in use
_PATIENCE = "2s"  # writers that come meanwhile wait behind the remover
_WAITED_TOO_LONG = "55P03"


@contextmanager
def storing_files() -> Iterator[None]:
    """Put files into the store and commit the rows that name them: inside, no file is removed.

    It comes before locks of rows, so that nobody who holds one waits here. Files of gigabytes are put before it, and
    once more inside, which does nothing unless they were removed in between.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            _execute("SELECT pg_advisory_xact_lock_shared(%s)", _LOCK)
        yield


@contextmanager
def removing_files() -> Iterator[None]:
    """Find and remove files that no row names: inside, no process stores files. Keep it short: uploads wait.

    Raises ServerBusy when other processes were storing files all the time.
    """
    with transaction.atomic(durable=True):
        if connection.vendor == "postgresql":
            _execute("SELECT set_config('lock_timeout', %s, true)", _PATIENCE)
            _lock_alone()
        yield


def _lock_alone() -> None:
    try:
        _execute("SELECT pg_advisory_xact_lock(%s)", _LOCK)
    except OperationalError as error:
        if getattr(error.__cause__, "pgcode", None) != _WAITED_TOO_LONG:
            raise
        words = "Somebody is storing files all the time. What was removed before stays removed; run it again later."
        raise ServerBusy(words, "store_in_use") from error


def _execute(statement: str, value: int | str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, [value])
