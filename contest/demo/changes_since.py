"""Lists what happened in the contest since a moment, for the command that moves the demo's clock."""

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from adjudication.models import Ruling
from common.domain_clock import domain_now
from contest.core.breaks import all_breaks
from contest.core.enums import CaseState, DecisionKind
from contest.core.models import Award, Case, Release, Stake
from contest.ledger.amounts import money
from contest.ledger.models import LedgerEntry
from labeling.models import Response
from policy.selectors import policy_in_force

# Models whose new rows are reported, and the words for each, in the order of the pipeline.
_TOLD: tuple[tuple[QuerySet[Any], str], ...] = (
    (all_breaks().select_related("defense", "image"), "{0.image.public_id} breaks {0.defense.name}"),
    (
        Stake.objects.filter(ended_at__isnull=False).select_related("defense"),
        "the stake on {0.defense.name} ended: {0.end}",
    ),
    (Case.objects.filter(state=CaseState.CLOSED), "the board closed case {0.public_id}"),
    (
        Case.objects.filter(motion=DecisionKind.AWARD, state=CaseState.OPEN),
        "the board votes on an award: case {0.public_id}",
    ),
    (Award.objects.select_related("stake__defense"), "award for {0.stake.defense.name}: {cents}"),
    (
        LedgerEntry.objects.filter(target__team__isnull=False).select_related("target__team"),
        "{cents} to team {0.target.team.name} ({0.rule})",
    ),
    (Release.objects.all(), "released: {0.name}"),
)


class ChangesSince:
    """Remembers the present rows at its creation; `lines` lists those that were added since."""

    def __init__(self) -> None:
        self._responses, self._rulings = Response.objects.count(), Ruling.objects.count()
        self._there = [list(rows.values_list("pk", flat=True)) for rows, _ in _TOLD]

    def lines(self) -> Iterator[str]:
        """Yield one line for each thing that happened, in the order of the pipeline."""
        currency = policy_in_force(domain_now()).policy.currency
        if answers := Response.objects.count() - self._responses:
            yield f"answers of taskers: {answers}, rulings: {Ruling.objects.count() - self._rulings}"
        for (rows, words), there in zip(_TOLD, self._there, strict=True):
            for row in rows.exclude(pk__in=there).order_by("pk"):
                yield words.format(row, cents=money(getattr(row, "cents", 0), currency))
