"""Queries for board cases that are late, or lack members to decide them (R19, R21).

Organizers see only numbers and dates; the subject of a case is for the board alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Min, Q

from contest.board.case_messages import DUE_SOON
from contest.board.case_sweep import reminded_lately
from contest.core.enums import CaseState
from contest.core.models import Case

MAX_LISTED = 10


@dataclass(frozen=True, slots=True)
class LateCase:
    """An open case, late or `soon` to be late or neither. `without_quorum`: when organizers heard that members lack.
    `reminded` is when its members were reminded, if within the last day: no other reminder is allowed then."""

    public_id: str
    due_at: datetime
    late: bool
    soon: bool
    without_quorum: datetime | None
    reminded: datetime | None


def case_backlog(*, now: datetime) -> dict[str, Any]:
    """Return how many cases the board votes on (`open`), since when the `oldest`, and how many wait for more taskers,
    are late, or lack a quorum; `listed` are the first of them all, the oldest due first."""
    undecided, late, lacking = Q(state=CaseState.OPEN), Q(due_at__lte=now), Q(told_at__isnull=False)
    counts = Case.objects.aggregate(
        open=Count("pk", filter=undecided),
        oldest=Min("opened_at", filter=undecided),
        with_taskers=Count("pk", filter=Q(state=CaseState.PANEL)),
        late=Count("pk", filter=undecided & late),
        without_quorum=Count("pk", filter=undecided & lacking),
    )
    return {**counts, "listed": list(_listed(undecided, now))}


def _listed(undecided: Q, now: datetime) -> Iterator[LateCase]:
    rows = Case.objects.filter(undecided).order_by("due_at", "pk").values_list("public_id", "due_at", "told_at")
    shown = list(rows[:MAX_LISTED])
    reminded = reminded_lately((public_id for public_id, _, _ in shown), now=now)
    for public_id, due_at, told_at in shown:
        late = due_at <= now
        soon = not late and due_at <= now + DUE_SOON
        yield LateCase(public_id, due_at, late, soon, told_at, reminded.get(public_id))
