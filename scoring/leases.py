"""Leases of scoring work, with attempt numbers: one scorer per item; expired leases are reclaimed (R30).

The same code serves every kind of work. A write names the attempt that it belongs to and changes one row or none.
"""

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from threading import Event, Thread
from typing import Protocol, TypeVar

import structlog
from django.db import connection, transaction
from django.db.models import F, Q, QuerySet

from common.errors import Conflict
from common.outages import outages
from defense_kit.container import LOADING_SECONDS
from policy.numbers import Policy
from scoring import rules
from scoring.enums import NEXT_RUN_STATE, Fault, RunState
from scoring.models import Leased

LEASE = timedelta(seconds=60)
HEARTBEAT_SECONDS = 15.0
SILENCE = "The scorer stopped answering in the middle of the work."
Work = TypeVar("Work", bound=Leased)

log = structlog.get_logger(__name__)


class LeaseLost(Conflict):
    """Another scorer has the work now: the results of this one are void."""

    def __init__(self, work: Leased) -> None:
        super().__init__(f"{work} was taken over after its attempt {work.attempt}: nothing was written.", "lease_lost")


def waiting(kind: type[Work], *, now: datetime, left_out: Collection[int] = ()) -> QuerySet[Work]:
    """Return the queued work of a kind that may start at `now`, without that of the defenses `left_out`."""
    queued = kind._default_manager.filter(Q(not_before__isnull=True) | Q(not_before__lte=now), state=RunState.QUEUED)
    return queued.exclude(defense__in=left_out) if left_out else queued


@transaction.atomic
def claim_lease(found: QuerySet[Work], *, worker: str, now: datetime) -> Work | None:
    """Lease the first of `found` to `worker` for 60 seconds; None without any, or when others were quicker."""
    first = found.select_for_update(skip_locked=True, of=("self",)).first()
    if first is None:
        return None
    rows = type(first)._default_manager.filter(pk=first.pk)
    claimed = rows.filter(state=RunState.QUEUED).update(
        state=RunState.RUNNING,
        attempt=F("attempt") + 1,
        worker=worker[:80],
        lease_until=now + LEASE,
        not_before=None,
        started_at=now,
        fault="",
        fault_text="",
    )
    return rows.select_related("defense").get() if claimed == 1 else None


def renew(work: Leased, *, now: datetime) -> None:
    """Keep the lease another 60 seconds; LeaseLost when somebody else has it."""
    if _under_own_lease(work).update(lease_until=now + LEASE) != 1:
        raise LeaseLost(work)


def end_lease(work: Leased, state: RunState, **values: object) -> None:
    """Leave RUNNING for `state`; LeaseLost when the attempt is stale."""
    if state not in NEXT_RUN_STATE[RunState.RUNNING]:
        raise ValueError(f"running work cannot become {state}")
    if _under_own_lease(work).update(state=state, lease_until=None, **values) != 1:
        raise LeaseLost(work)


def give_back(work: Leased) -> None:
    """Queue unbegun work again without counting a try; work that another scorer has by now stays there."""
    _under_own_lease(work).update(state=RunState.QUEUED, lease_until=None)


def record_fault(work: Leased, what: Fault, text: str, *, now: datetime, **values: object) -> RunState:
    """Record what went wrong (R30), with other `values`; return whether the work waits for another try or is dead.

    The platform's faults are tried again after a growing rest, three times in all; a defense's own are final.
    LeaseLost when the attempt is stale.
    """
    tries = work.tries + 1
    again = rules.is_retried(what, tries)
    state = RunState.QUEUED if again else RunState.DEAD
    rest = now + rules.wait_before_retry(tries) if again else None
    ended = {"fault": what, "fault_text": text, "tries": tries, "not_before": rest}
    end_lease(work, state, **ended, finished_at=None if again else now, **values)
    return state


def reclaim(kind: type[Work], *, now: datetime) -> int:
    """Take back the work whose scorer has fallen silent; return how many. The third silence is the last."""
    silent = kind._default_manager.filter(state=RunState.RUNNING, lease_until__lt=now)
    ended = {"lease_until": None, "fault": Fault.PLATFORM, "fault_text": SILENCE, "tries": F("tries") + 1}
    dead = silent.filter(tries__gte=rules.MAX_TRIES - 1)
    count = dead.update(state=RunState.DEAD, finished_at=now, **ended)
    return count + silent.update(state=RunState.QUEUED, **ended)


def _under_own_lease(work: Work) -> QuerySet[Work]:
    """Filter to the work if this attempt holds it: this keeps out a scorer that lost its lease."""
    return type(work)._default_manager.filter(pk=work.pk, state=RunState.RUNNING, attempt=work.attempt)


# Renewing in the background -------------------------------------------------------------------------------------------


def longest(policy: Policy, *, batch_size: int, batches: int, opened: int = 1) -> timedelta:
    """Return the longest time that work may take with every deadline used up; no lease is kept longer (R30).

    A defense that is `opened` for it may first have to be fetched.
    """
    opening = LOADING_SECONDS + policy.start_seconds + policy.hello_seconds
    return timedelta(seconds=opened * opening + batches * batch_size * policy.seconds_per_picture)


class LiveScorer(Protocol):
    """The part of a scorer that its heartbeat uses."""

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

    def __exit__(self, *_: object) -> None:
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
            renew(self._work, now=now)
            self._scorer.seen(str(self._work))
            outages.succeeded(self._thread.name)
        except LeaseLost as lost:
            self._lost = lost
        except Exception as error:
            # The database is away for a moment: the next beat tries again, the lease allows three.
            if not outages.failed(self._thread.name, error):
                log.exception("heartbeat_failed", work=str(self._work))
            connection.close()
