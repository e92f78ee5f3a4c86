"""Several at once, each in a thread with a connection of its own: for tests on PostgreSQL."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connections

from common.errors import DomainError

LONG = 60.0


def done(act: Callable[[], Any]) -> Any:
    """Return what an act returns, or the code that it is refused with."""
    try:
        return act()
    except DomainError as error:
        return error.code
    finally:
        connections.close_all()


def at_once(*acts: Callable[[], Any]) -> list[Any]:
    """Do all in threads that begin together; return what `done` says of each."""
    begin = Barrier(len(acts))

    def run(act: Callable[[], Any]) -> Any:
        begin.wait(LONG)
        return done(act)

    with ThreadPoolExecutor(len(acts)) as pool:
        return [each.result(LONG) for each in [pool.submit(run, act) for act in acts]]


def codes(found: list[Any]) -> list[str]:
    """Return the codes of what was refused, sorted; empty for what was done."""
    return sorted(each if isinstance(each, str) else "" for each in found)


def beside(pool: ThreadPoolExecutor, act: Callable[[], Any]) -> "Future[Any]":
    """Do an act in a thread while this one goes on."""
    return pool.submit(done, act)
