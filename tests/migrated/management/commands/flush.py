"""`flush` as tests have it: it empties the tables that were written to, those of facts as well, and no others.

Django's own empties some hundred tables whether they hold a row or not, which on PostgreSQL is as many new files and
more, and then makes every permission again. Most tests write to a dozen tables.
"""

from functools import cache
from typing import Any

from django.core.management.commands import flush
from django.db import connections, transaction

from tests.unprotected import unprotected

# The same in every migrated database.
_KEPT = {"django_content_type", "auth_permission"}


class Command(flush.Command):
    def handle(self, **options: Any) -> None:
        """Empty the tables in one transaction; nobody is asked."""
        connection = connections[options["database"]]
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.execute(_which_are_written(connection.alias))
            written = [row[0] for row in cursor.fetchall()]
            with unprotected(connection, cursor, written):
                for table in written:
                    cursor.execute(f'DELETE FROM "{table}"')


@cache
def _which_are_written(alias: str) -> str:
    tables = sorted(set(connections[alias].introspection.django_table_names(include_views=False)) - _KEPT)
    return " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM \"{table}\")" for table in tables)
