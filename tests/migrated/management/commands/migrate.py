"""`migrate` as tests have it: an SQLite file without tables begins as a copy of the first one.

All migrations from nothing take many seconds, and a test run needs some twenty migrated databases. The first one is
made as everywhere, and kept until a file of the application changes (`tests.settings`); on PostgreSQL, `tests.suite`
migrates the template of all databases instead.
"""

import fcntl
import os
import shutil
from pathlib import Path
from typing import Any

from django.core.management.commands import migrate
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        connection, first = connections[options["database"]], Path(os.environ["MIGRATED"])
        if not _is_new(connection) or options["app_label"]:
            super().handle(*args, **options)
            return
        with open(first.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not first.exists():
                super().handle(*args, **options)
                _keep(connection, first)
                return
        connection.close()
        shutil.copyfile(first, connection.settings_dict["NAME"])
        super().handle(*args, **options)


def _is_new(connection: BaseDatabaseWrapper) -> bool:
    return connection.vendor == "sqlite" and not connection.introspection.table_names()


def _keep(connection: BaseDatabaseWrapper, first: Path) -> None:
    part = first.with_suffix(".part")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(part)])
    part.rename(first)
