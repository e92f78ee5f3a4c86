"""Several acts at once, each in a thread with a database connection of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

from django.db import IntegrityError, connection, connections

from common.errors import DomainError


def at_once(*acts: Callable[[], Any]) -> list[Any]:
    """Do all at the same moment; return what each gives, or the code of its refusal."""
    ready = Barrier(len(acts))

    def done(act: Callable[[], Any]) -> Any:
        try:
            ready.wait(30)
            return act()
        except DomainError as error:
            return error.code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(done, acts))


def refusals_at_once(*acts: Callable[[], Any]) -> list[str]:
    """Do all at the same moment; return the code of each one's refusal, or nothing."""

    def refusal(act: Callable[[], Any]) -> Callable[[], str]:
        def asked() -> str:
            try:
                act()
            except IntegrityError:
                return "refused by the database"
            return ""

        return asked

    return at_once(*map(refusal, acts))


def until_waiting(many: int = 1) -> None:
    """Return when so many wait for a lock in this database."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    for _ in range(400):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")  # within a transaction it would show the same again
            cursor.execute(waiting)
            if cursor.fetchone()[0] >= many:
                return
        Event().wait(0.05)
    raise AssertionError(f"{many} never waited for a lock")
