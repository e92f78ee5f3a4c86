"""Checks that the database has all migrations of this code."""

from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from common.errors import Conflict


def migrations_missing() -> int:
    """Return how many migrations are not applied."""
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def refuse_unmigrated() -> None:
    """Raise Conflict (`not_migrated`) where migrations are missing: for commands, which would end in a traceback."""
    if missing := migrations_missing():
        words = f"The database misses {missing} migration{'' if missing == 1 else 's'}. Run ./unanimous migrate first."
        raise Conflict(words, "not_migrated")
