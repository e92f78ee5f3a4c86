"""Queries for public cases with their appeals and decisions (R18-R20, R24).

A case is public once it is closed and its picture's week is released: while members vote, only the board and the
parties may read it, and while more taskers answer about the picture, none of them shall read the arguments (R8).
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db.models import BigIntegerField, QuerySet

from common.database.lookups import Parameter, PreparedLookup
from contest.board.models import Appeal, AppealStatement, CaseDecision
from contest.core.enums import CaseKind, CaseState
from contest.core.models import Case, Release
from contest.core.publication import released
from contest.core.weeks import week_at
from labeling.models import Image
from labeling.notices import iso

Cases = Sequence[Case] | QuerySet[Case, Any]


def public_cases() -> QuerySet[Case]:
    """Return the public cases about pictures."""
    return _closed_cases().filter(released("image__"))


def _closed_cases() -> QuerySet[Case]:
    return Case.objects.filter(kind=CaseKind.PICTURE, state=CaseState.CLOSED, decision__isnull=False)


def cases_closed_on(image: Image) -> list[Case]:
    """Return the public cases of a picture whose week is released, with their decisions."""
    return _cases_closed_on(image=image.pk)


_cases_closed_on = PreparedLookup(
    "cases_closed_on",
    lambda: _closed_cases().filter(image=Parameter("image", BigIntegerField())).select_related("ruling", "decision"),
)


def public_decisions() -> QuerySet[CaseDecision]:
    """Return the board's decisions in public cases, the newest first."""
    rows = CaseDecision.objects.filter(case__in=public_cases().values("pk"))
    return rows.select_related("case__image", "case__ruling", "case__result").order_by("-decided_at", "-pk")


def public_appeals(image: Image | None = None) -> QuerySet[Appeal]:
    """Return the appeals in public cases, about all pictures or one, in the order in which they came."""
    rows = appeals_in(public_cases().values("pk"))
    return rows if image is None else rows.filter(image=image)


def appeals_in(cases: Cases) -> QuerySet[Appeal]:
    """Return the appeals in these cases, in the order in which they came."""
    rows = Appeal.objects.filter(case__in=cases)
    return rows.select_related("case", "team", "defense", "ruling").order_by("sent_at", "pk")


def statements_in(cases: Cases) -> QuerySet[AppealStatement]:
    """Return the answers of teams of the other side in these cases."""
    return AppealStatement.objects.filter(case__in=cases).select_related("case", "team").order_by("sent_at", "pk")


def with_published_at(decisions: Iterable[CaseDecision]) -> list[tuple[CaseDecision, datetime]]:
    """Return decisions, each with when it became public: its case's end or its week's release, whichever is later."""
    releases = dict(Release.objects.filter(part=0).values_list("week", "released_at"))
    return [(each, _published_at(each.case, releases)) for each in decisions]


def _published_at(case: Case, releases: dict[str, datetime]) -> datetime:
    assert case.image is not None and case.closed_at is not None, "a public case has both"
    return max(case.closed_at, releases[week_at(case.image.received_at).name])


def appeals_json(image: Image) -> list[dict[str, Any]]:
    """Return the public appeals on a picture as the API writes them."""
    return [_appeal_json(each) for each in public_appeals(image).select_related("case__decision")]


def _appeal_json(appeal: Appeal) -> dict[str, Any]:
    decision = appeal.case.decision
    return {
        "id": appeal.public_id,
        "case": appeal.case.public_id,
        "team": {"id": appeal.team.public_id, "name": appeal.team.name},
        "side": appeal.side,
        "defense": appeal.defense.public_id if appeal.defense else None,
        "ruling": appeal.ruling.number,
        "argument": appeal.argument,
        "marks": appeal.marks,
        "sent_at": iso(appeal.sent_at),
        "outcome": decision.outcome,
        "explanation": decision.explanation,
        "decided_at": iso(decision.decided_at),
    }
