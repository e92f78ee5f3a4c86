"""Leases with attempt numbers: one scorer per item, and expired ones are reclaimed (R30).

The same for every kind of work, whatever is done under the lease. A write names the attempt that it belongs to and
changes one row or none.
"""

from datetime import datetime, timedelta
from typing import TypeVar

from django.db import transaction
from django.db.models import F, Q, QuerySet

from common.errors import Conflict
from scoring import rules
from scoring.enums import NEXT_RUN_STATE, Fault, RunState
from scoring.models import Leased

LEASE = timedelta(seconds=60)
SILENCE = "The scorer stopped answering in the middle of the work."
Work = TypeVar("Work", bound=Leased)


class LeaseLost(Conflict):
    """Another scorer has the work now: whatever this one found is void."""

    def __init__(self, work: Leased) -> None:
        super().__init__(f"{work} was taken over after its attempt {work.attempt}: nothing was written.", "lease_lost")


def waiting(kind: type[Work], *, now: datetime) -> QuerySet[Work]:
    """Return the queued work of a kind that may start at `now`."""
    return kind._default_manager.filter(Q(not_before__isnull=True) | Q(not_before__lte=now), state=RunState.QUEUED)


@transaction.atomic
def claim_lease(found: QuerySet[Work], *, worker: str, now: datetime) -> Work | None:
    """Lease the first of `found` to `worker` for 60 seconds; None when there is none or others were quicker."""
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
    if _held(work).update(lease_until=now + LEASE) != 1:
        raise LeaseLost(work)


def end(work: Leased, state: RunState, **values: object) -> None:
    """Leave RUNNING for `state`; LeaseLost when the attempt is stale."""
    if state not in NEXT_RUN_STATE[RunState.RUNNING]:
        raise ValueError(f"running work cannot become {state}")
    if _held(work).update(state=state, lease_until=None, **values) != 1:
        raise LeaseLost(work)


def record_fault(work: Leased, what: Fault, text: str, *, now: datetime) -> RunState:
    """Record what went wrong (R30); return whether the work waits for another try or is dead.

    The platform's faults are tried again after a growing rest, three times in all; a defense's own are final.
    LeaseLost when the attempt is stale.
    """
    tries = work.tries + 1
    again = rules.is_retried(what, tries)
    state = RunState.QUEUED if again else RunState.DEAD
    rest = now + rules.wait_before_retry(tries) if again else None
    end(work, state, fault=what, fault_text=text, tries=tries, not_before=rest, finished_at=None if again else now)
    return state


def reclaim(kind: type[Work], *, now: datetime) -> int:
    """Take back the work whose scorer has fallen silent; return how many. The third silence is the last."""
    silent = kind._default_manager.filter(state=RunState.RUNNING, lease_until__lt=now)
    ended = {"lease_until": None, "fault": Fault.PLATFORM, "fault_text": SILENCE, "tries": F("tries") + 1}
    dead = silent.filter(tries__gte=rules.MOST_TRIES - 1)
    count = dead.update(state=RunState.DEAD, finished_at=now, **ended)
    return count + silent.update(state=RunState.QUEUED, **ended)


def _held(work: Work) -> QuerySet[Work]:
    """Narrow to the work as this attempt holds it: the fence that a scorer without a lease cannot pass."""
    return type(work)._default_manager.filter(pk=work.pk, state=RunState.RUNNING, attempt=work.attempt)
