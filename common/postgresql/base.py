"""Checks a kept connection before a request uses it, without a round trip to the server.

An idle connection has nothing to read, unless the server ended it: then its last message is there, and the next
statement would fail. This check costs a system call; a query would cost a round trip for each request (decision 24).
"""

import select
from typing import Any

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper; CONN_HEALTH_CHECKS asks `is_usable` once for each request or task."""

    def init_connection_state(self) -> None:
        """Let PostgreSQL keep the plan of a prepared statement (`common.database.lookups`).

        By itself it plans one again at each call where it expects that values change the plan (decision 5). Set by
        a statement, because poolers refuse unknown parameters at the start of a connection.
        """
        super().init_connection_state()
        with self.connection.cursor() as cursor:
            cursor.execute("SET plan_cache_mode = force_generic_plan")

    def is_usable(self) -> bool:
        """Say whether the connection can be used; after an error, or with something to read, the server is asked."""
        connection: Any = self.connection
        if connection is None or connection.closed:
            return False
        return bool(super().is_usable()) if self.errors_occurred or _has_something_to_read(connection) else True


def _has_something_to_read(connection: Any) -> bool:
    looked_at = select.poll()
    looked_at.register(connection.fileno(), select.POLLIN)
    return bool(looked_at.poll(0))
