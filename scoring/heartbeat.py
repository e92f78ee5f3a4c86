"""Renews a lease in the background while a scorer works."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from threading import Event, Thread
from types import TracebackType
from typing import Protocol

import structlog
from django.db import connection

from common.outages import outages
from defense_kit.container import LOADING_SECONDS
from policy.numbers import Policy
from scoring import leases
from scoring.leases import LeaseLost
from scoring.models import Leased

HEARTBEAT_SECONDS = 15.0

log = structlog.get_logger(__name__)


def longest(policy: Policy, *, batch_size: int, batches: int, opened: int = 1) -> timedelta:
    """Return the longest that work may take with every deadline used up: nobody keeps a lease beyond it (R30).

    A defense that is `opened` for it may first have to be fetched.
    """
    opening = LOADING_SECONDS + policy.start_seconds + policy.hello_seconds
    return timedelta(seconds=opened * opening + batches * batch_size * policy.seconds_per_picture)


class LiveScorer(Protocol):
    """A scorer as its heartbeat knows it."""

    clock: Callable[[], datetime]

    def seen(self, held: str) -> None:
        """Show in the overview that the scorer is alive and what it holds."""


class Heartbeat(AbstractContextManager["Heartbeat"]):
    """Renews a lease from a thread of its own, not beyond `until`."""

    def __init__(self, work: Leased, scorer: LiveScorer, *, until: datetime, every: float = HEARTBEAT_SECONDS) -> None:
        self._work, self._scorer, self._until, self._every = work, scorer, until, every
        self._stopped = Event()
        self._lost: LeaseLost | None = None
        self._thread = Thread(target=self._beat, name=f"heartbeat of {work}", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._thread.join()

    def is_lost(self) -> bool:
        """Say whether a beat found that the work is somebody else's now."""
        return self._lost is not None

    def check(self) -> None:
        """Raise LeaseLost when a beat found that the work is somebody else's now."""
        if self._lost is not None:
            raise self._lost

    def _beat(self) -> None:
        try:
            while self._lost is None and not self._stopped.wait(self._every):
                self._renew(self._scorer.clock())
        finally:
            connection.close()  # a thread's connection is its own

    def _renew(self, now: datetime) -> None:
        if now > self._until:
            return
        try:
            leases.renew(self._work, now=now)
            self._scorer.seen(str(self._work))
            outages.succeeded(self._thread.name)
        except LeaseLost as lost:
            self._lost = lost
        except Exception as error:
            # The database is away for a moment: the next beat tries again, the lease allows three.
            if not outages.failed(self._thread.name, error):
                log.exception("heartbeat_failed", work=str(self._work))
            connection.close()
