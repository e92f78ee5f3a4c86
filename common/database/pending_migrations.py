"""Whether the database has the tables that this code expects."""

from typing import Any

from django.core.management.base import CommandError
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from common.errors import Conflict

# Until the rooms had apps of their own (decision 0028), this one app had the tables of all of them.
_FORMER_APP = "contest"


def migrations_missing() -> int:
    """Return how many migrations are not applied."""
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def refuse_unmigrated() -> None:
    """Raise Conflict (`not_migrated`) where migrations are missing: for commands, which would end in a traceback."""
    if missing := migrations_missing():
        words = f"The database misses {missing} migration{'' if missing == 1 else 's'}. Run ./unanimous migrate first."
        raise Conflict(words, "not_migrated")


def refuse_former_tables(sender: Any, using: str, **_: Any) -> None:
    """Raise CommandError before a database of the version before is migrated: nothing moves its rows."""
    recorded = MigrationRecorder(connections[using]).applied_migrations()
    if any(app == _FORMER_APP for app, _name in recorded):
        place = connections[using].settings_dict["NAME"]
        words = (
            f"The database {place} is of an earlier version, and its tables are laid out otherwise: move it away, or "
        )
        raise CommandError(words + "name an empty folder as DATA_DIR (or another DATABASE_URL), and start again.")
