"""Notifies teams of cases that become visible to them with a release (R18, R24).

Teams that may know of a case get the message at once, in the transaction of the event. Teams that sent a copy of the
picture, or whose defense it turned out to break, may know of the case no earlier than everybody else: this sweep sends
them the same words then.
"""

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import OuterRef

from contest.appeals.services import notify_late_appeals
from contest.board.case_messages import notify_case_decided, notify_panel_ruled, notify_ruling_changed
from contest.board.cases import newest_ruling_of
from contest.board.models import CaseDecision, CaseParty
from contest.core.enums import CaseKind, CaseOutcome, CaseState, MessageKind
from contest.core.models import Case, Team
from contest.core.publication import released
from contest.core.teams import final_team
from contest.outbox.grouped_facts import MAX_FACT_AGE, notified_facts
from contest.outbox.models import NotifiedFact


def notify_cases(*, now: datetime) -> int:
    """Tell teams of cases that they may know of since the picture's release; return how many people get a message.

    Each party of a case is handled once: later events are reported at once.
    """
    news = released("case__image__") & ~released("case__image__", by=now - MAX_FACT_AGE)
    unseen = ~notified_facts(MessageKind.CASE_DECIDED, fact="case_id", team=OuterRef("team_id"))
    rows = CaseParty.objects.filter(news, unseen, case__kind=CaseKind.PICTURE).order_by("pk")
    related = ("case__decision__case", "case__image", "case__ruling__image", "case__result__image", "team__merged_into")
    return sum(_look(party, now) for party in rows.select_related(*related))


def _look(party: CaseParty, now: datetime) -> int:
    """Tell a party what it was not told; 0 where another sweep did so at the same moment."""
    try:
        with transaction.atomic():
            NotifiedFact.objects.create(kind=MessageKind.CASE_DECIDED, team=party.team, fact=party.case_id, told_at=now)
            return _tell(party.case, final_team(party.team), now)
    except IntegrityError:
        return 0


def _tell(case: Case, team: Team, now: datetime) -> int:
    decision: CaseDecision | None = getattr(case, "decision", None)
    if decision is None:
        return notify_late_appeals(case, team, now=now)
    people = notify_case_decided(decision, now=now, late=team)
    if case.state != CaseState.CLOSED or case.result is None or case.ruling is None:
        return people
    if decision.outcome == CaseOutcome.MORE_TASKERS:
        people += notify_panel_ruled(case, case.result, now=now, late=team)
    if case.result == newest_ruling_of(case.result.image):
        people += notify_ruling_changed(case.ruling, case.result, now=now, late=team)
    return people
