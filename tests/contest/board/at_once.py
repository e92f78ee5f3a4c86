"""Several at once, each in a thread with a connection of its own: for tests on PostgreSQL."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from django.db import connections

from common.errors import DomainError
from tests.at_once import at_once as at_once

LONG = 60.0


def done(act: Callable[[], Any]) -> Any:
    """Return what an act returns, or the code that it is refused with."""
    try:
        return act()
    except DomainError as error:
        return error.code
    finally:
        connections.close_all()


def codes(found: list[Any]) -> list[str]:
    """Return the codes of what was refused, sorted; empty for what was done."""
    return sorted(each if isinstance(each, str) else "" for each in found)


def beside(pool: ThreadPoolExecutor, act: Callable[[], Any]) -> "Future[Any]":
    """Do an act in a thread while this one goes on."""
    return pool.submit(done, act)
