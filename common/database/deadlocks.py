"""Retries transactions that PostgreSQL ends because of a deadlock."""

import time
from collections.abc import Callable
from functools import wraps
from random import uniform
from typing import ParamSpec, TypeVar

from django.db import OperationalError, connection

MOST_TRIES = 5
# Who gave way waits a moment, longer each time, drawn at random: two that try again at once meet again.
FIRST_WAIT_SECONDS = 0.02
_DEADLOCK = "40P01"  # PostgreSQL's code; SQLite has one writer at a time
P = ParamSpec("P")
R = TypeVar("R")


def retry_on_deadlock(change: Callable[P, R]) -> Callable[P, R]:
    """Do a whole transaction again when it was the one to give way. Inside another transaction, that one decides."""

    @wraps(change)
    def changed(*args: P.args, **kwargs: P.kwargs) -> R:
        for given_way in range(MOST_TRIES - 1):
            try:
                return change(*args, **kwargs)
            except OperationalError as error:
                if connection.in_atomic_block or getattr(error.__cause__, "pgcode", None) != _DEADLOCK:
                    raise
            time.sleep(uniform(0, FIRST_WAIT_SECONDS * 2**given_way))
        return change(*args, **kwargs)

    return changed
