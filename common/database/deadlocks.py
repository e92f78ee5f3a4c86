"""Retries transactions that PostgreSQL ends because of a deadlock."""

import time
from collections.abc import Callable
from functools import wraps
from random import uniform
from typing import ParamSpec, TypeVar

from django.db import OperationalError, connection

MAX_TRIES = 5
# The loser of a deadlock waits for a random time, longer after each try, so that two losers do not collide again.
FIRST_WAIT_SECONDS = 0.02
_DEADLOCK = "40P01"  # PostgreSQL's code; SQLite has one writer at a time
P = ParamSpec("P")
R = TypeVar("R")


def retry_on_deadlock(change: Callable[P, R]) -> Callable[P, R]:
    """Repeat a whole transaction that a deadlock ended, a few times at most. Inside another transaction it raises: only
    the outer one could be repeated."""

    @wraps(change)
    def changed(*args: P.args, **kwargs: P.kwargs) -> R:
        for given_way in range(MAX_TRIES - 1):
            try:
                return change(*args, **kwargs)
            except OperationalError as error:
                if connection.in_atomic_block or getattr(error.__cause__, "pgcode", None) != _DEADLOCK:
                    raise
            time.sleep(uniform(0, FIRST_WAIT_SECONDS * 2**given_way))
        return change(*args, **kwargs)

    return changed
