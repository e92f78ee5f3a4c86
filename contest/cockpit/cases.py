"""Cases of the review board that are late or have too few members left to decide them (R19, R21).

Organizers see numbers and dates alone: what a case is about is the board's.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min, Q

from contest.enums import CaseState
from contest.models import Case

MOST_LISTED = 10


@dataclass(frozen=True, slots=True)
class LateCase:
    """A case past its time, or that waits for members: `without_quorum` says since when organizers are told so."""

    public_id: str
    due_at: datetime
    late: bool
    without_quorum: datetime | None


@dataclass(frozen=True, slots=True)
class Cases:
    """How many cases the board votes on and since when, wait for more taskers, are late, lack a quorum; and those in
    trouble."""

    open: int
    oldest: datetime | None
    with_taskers: int
    late: int
    without_quorum: int
    listed: tuple[LateCase, ...]


def cases(*, now: datetime) -> Cases:
    """Return how the board's cases stand, the oldest due first."""
    undecided, late, lacking = Q(state=CaseState.OPEN), Q(due_at__lte=now), Q(told_at__isnull=False)
    counts = Case.objects.aggregate(
        open=Count("pk", filter=undecided),
        oldest=Min("opened_at", filter=undecided),
        with_taskers=Count("pk", filter=Q(state=CaseState.PANEL)),
        late=Count("pk", filter=undecided & late),
        without_quorum=Count("pk", filter=undecided & lacking),
    )
    rows = Case.objects.filter(undecided, late | lacking).order_by("due_at", "pk")
    listed = (
        LateCase(public_id, due_at, due_at <= now, told_at)
        for public_id, due_at, told_at in rows.values_list("public_id", "due_at", "told_at")[:MOST_LISTED]
    )
    return Cases(**counts, listed=tuple(listed))
