"""Writes that a database which is away for a moment must not undo: hours of a card's work may hang on one of them."""

import time
from collections.abc import Callable
from typing import TypeVar

import structlog
from django.db import InterfaceError, OperationalError, connection

T = TypeVar("T")
log = structlog.get_logger(__name__)


def until_kept(write: Callable[[], T], *, seconds: float = 60, pause: float = 1) -> T:
    """Do `write`, a transaction of its own, again and again while the database is away, for about as long as a lease.

    For writes that name an attempt only: one that was committed although its answer was lost is then refused, not
    doubled. The last error is raised.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            return write()
        except (OperationalError, InterfaceError):
            if time.monotonic() >= until:
                raise
            log.warning("database_away", exc_info=True)
            connection.close()
            time.sleep(pause)
