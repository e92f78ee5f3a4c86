"""Finds stuck leases: expired and not taken back, renewed for hours, or of a silent scorer (R8, R30)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Min, QuerySet

from labeling.enums import AssignmentState
from labeling.models import Assignment
from scoring.enums import RunState
from scoring.models import Run, Trial

# A sweep takes a lease back within seconds of its end: a lease still there after this means that no sweep runs.
SWEPT_WITHIN = timedelta(minutes=2)
LONG = timedelta(hours=2)
MAX_LISTED = 10


@dataclass(frozen=True, slots=True)
class HangingLease:
    """A stuck lease: its kind, since when, the remedy in words, and the page for it.

    `argument` is what the page's address needs, for example a tasker's public ID.
    """

    what: str
    since: datetime
    help: str
    page: str = ""
    argument: str = ""


def hanging_leases(*, now: datetime) -> tuple[HangingLease, ...]:
    """Return the stuck leases, oldest first, at most MAX_LISTED of each kind."""
    return tuple(sorted([*_not_swept(now), *_renewed_for_hours(now), *_silent(now)], key=lambda each: each.since))


def _not_swept(now: datetime) -> Iterator[HangingLease]:
    over = Assignment.objects.filter(state=AssignmentState.LEASED, expires_at__lte=now - SWEPT_WITHIN)
    found = over.aggregate(count=Count("pk"), oldest=Min("expires_at"))
    if count := found["count"]:
        what = f"{count:,} picture{'' if count == 1 else 's'} held by taskers beyond the end of the lease"
        yield HangingLease(what, found["oldest"], "No worker sweeps: start one with `./unanimous work`")


def _renewed_for_hours(now: datetime) -> Iterator[HangingLease]:
    held = Assignment.objects.filter(state=AssignmentState.LEASED, expires_at__gt=now, leased_at__lte=now - LONG)
    rows = held.order_by("leased_at", "pk").values_list("tasker__public_id", "image__public_id", "leased_at")
    for tasker, image, since in rows[:MAX_LISTED]:
        help = f"Pausing {tasker} gives the picture back"
        yield HangingLease(f"{image} held and renewed by {tasker}", since, help, "organizer-tasker", tasker)


def _silent(now: datetime) -> Iterator[HangingLease]:
    """Runs and trials whose scorer no longer renews the lease: a sweep gives them back, unless none runs."""
    for name, work in (("Run", Run), ("Trial", Trial)):
        late: QuerySet[Any] = work._default_manager.filter(state=RunState.RUNNING, lease_until__lte=now)
        rows = late.order_by("lease_until", "pk").values_list("pk", "defense__name", "worker", "lease_until")
        for pk, defense, worker, since in rows[:MAX_LISTED]:
            what = f"{name} {pk} of {defense}: {worker} is silent"
            yield HangingLease(what, since, "See whether the scorer is at work", "scoring-queue")
