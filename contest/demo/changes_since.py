"""Lists what happened in the contest since a moment, for the demo's clock."""

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


class ChangesSince:
    """Remembers what there is when it is made; `lines` says what came since."""

    def __init__(self) -> None:
        self._responses, self._rulings = Response.objects.count(), Ruling.objects.count()
        self._breaks, self._entries = _newest(all_breaks()), _newest(LedgerEntry.objects.all())
        self._opened = _newest(Case.objects.all())
        self._releases, self._awards = _newest(Release.objects.all()), _newest(Award.objects.all())
        self._ended = set(Stake.objects.filter(ended_at__isnull=False).values_list("pk", flat=True))
        self._cases = set(Case.objects.filter(state=CaseState.CLOSED).values_list("pk", flat=True))

    def lines(self) -> Iterator[str]:
        """Yield one line for each thing that happened, in the order of the pipeline."""
        yield from self._scored()
        yield from self._judged()
        yield from self._paid_and_released()

    def _scored(self) -> Iterator[str]:
        if answers := Response.objects.count() - self._responses:
            yield f"answers of taskers: {answers}, rulings: {Ruling.objects.count() - self._rulings}"
        for broken in all_breaks().filter(pk__gt=self._breaks).select_related("defense", "image"):
            yield f"{broken.image.public_id} breaks {broken.defense.name}"
        for stake in Stake.objects.filter(ended_at__isnull=False).exclude(pk__in=self._ended).select_related("defense"):
            yield f"the stake on {stake.defense.name} ended: {stake.end}"

    def _judged(self) -> Iterator[str]:
        for case in Case.objects.filter(state=CaseState.CLOSED).exclude(pk__in=self._cases):
            yield f"the board closed case {case.public_id}"
        for case in Case.objects.filter(pk__gt=self._opened, motion=DecisionKind.AWARD, state=CaseState.OPEN):
            yield f"the board votes on an award: case {case.public_id}"

    def _paid_and_released(self) -> Iterator[str]:
        for award in Award.objects.filter(pk__gt=self._awards).select_related("stake__defense"):
            yield f"award for {award.stake.defense.name}: {_money(award.cents)}"
        for entry in LedgerEntry.objects.filter(pk__gt=self._entries).select_related("target__team").order_by("pk"):
            if entry.target.team is not None:
                yield f"{_money(entry.cents)} to team {entry.target.team.name} ({entry.rule})"
        for release in Release.objects.filter(pk__gt=self._releases).order_by("pk"):
            yield f"released: {release.name}"


def _newest(rows: QuerySet[Any]) -> int:
    newest: int | None = rows.order_by("-pk").values_list("pk", flat=True).first()
    return newest or 0


def _money(cents: int) -> str:
    return money(cents, policy_in_force(domain_now()).policy.currency)
