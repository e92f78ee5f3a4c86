"""Detects cheaply whether anybody wrote to the database."""

from django.db import connection

_SNAPSHOT = "SELECT pg_current_snapshot()::text"  # lists which transactions have ended, with the newest one's number
_DATA_VERSION = "PRAGMA data_version"  # counts the commits of other connections


def change_mark() -> str:
    """Return a mark that changes with every commit of another connection to this database.

    Two equal marks mean that nothing was committed between them, except (on SQLite) by this connection itself.
    PostgreSQL's mark also changes with commits to other databases of its cluster.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SNAPSHOT if connection.vendor == "postgresql" else _DATA_VERSION)
        return str(cursor.fetchone()[0])
