"""Facts are changed as somebody could who has the database itself: what refuses it is taken away and put back."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper


@contextmanager
def unprotected(connection: BaseDatabaseWrapper, cursor: CursorWrapper, tables: Sequence[str]) -> Iterator[None]:
    """Let `tables` be without their triggers for a while."""
    if connection.vendor == "postgresql":
        check = "SET CONSTRAINTS ALL IMMEDIATE"  # a table whose keys are still to be checked is not altered
        for statement in (check, "SET CONSTRAINTS ALL DEFERRED"):
            cursor.execute(statement)
        for table in tables:
            cursor.execute(f'ALTER TABLE "{table}" DISABLE TRIGGER USER')
        yield
        cursor.execute(check)
        for table in tables:
            cursor.execute(f'ALTER TABLE "{table}" ENABLE TRIGGER USER')
        return
    cursor.execute("SELECT tbl_name, name, sql FROM sqlite_master WHERE type = 'trigger'")
    triggers = [(name, sql) for table, name, sql in cursor.fetchall() if table in tables]
    for name, _ in triggers:
        cursor.execute(f'DROP TRIGGER "{name}"')
    yield
    for _, sql in triggers:
        cursor.execute(sql)
