"""`flush` as tests have it: it empties the tables that were written to, those of facts as well, and no others.

Django's own empties some hundred tables whether they hold a row or not, which on PostgreSQL is as many new files and
more, and then makes every permission again. Most tests write to a dozen tables.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.core.management.commands import flush
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

# The same in every migrated database.
_KEPT = {"django_content_type", "auth_permission"}


class Command(flush.Command):
    def handle(self, **options: Any) -> None:
        """Empty the tables in one transaction; nobody is asked."""
        connection = connections[options["database"]]
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.execute(_which_are_written(connection.alias))
            written = [row[0] for row in cursor.fetchall()]
            with _unprotected(connection, cursor, written):
                for table in written:
                    cursor.execute(f'DELETE FROM "{table}"')


@cache
def _which_are_written(alias: str) -> str:
    tables = sorted(set(connections[alias].introspection.django_table_names(include_views=False)) - _KEPT)
    return " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM \"{table}\")" for table in tables)


@contextmanager
def _unprotected(connection: BaseDatabaseWrapper, cursor: CursorWrapper, tables: Sequence[str]) -> Iterator[None]:
    """Take away what refuses to delete facts, and put back the same."""
    if connection.vendor == "postgresql":
        for table in tables:
            cursor.execute(f'ALTER TABLE "{table}" DISABLE TRIGGER USER')
        yield
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # a table whose keys are still to be checked is not altered
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
