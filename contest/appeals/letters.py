"""Messages to teams about appeals, written in the appeal's transaction (R18)."""

from datetime import datetime

from django.urls import reverse

from common.times import absolute
from contest.board.case_visibility import teams_informed
from contest.board.models import Appeal
from contest.core.enums import CaseState, MessageKind
from contest.core.models import Case, Team
from contest.core.teams import final_team
from contest.outbox.writing import notify, was_notified
from policy.selectors import policy_in_force


def notify_appeal(appeal: Appeal, *, now: datetime) -> None:
    """Give the team its receipt, and tell the other teams of the case that may know of it; they may answer."""
    others = _may_answer(appeal.case, now)
    about = reverse("appeal", args=[appeal.public_id])
    receipt = _facts(appeal) | {"answer_until": _until(appeal, now) if others else ""}
    notify(appeal.team, MessageKind.APPEAL_RECEIVED, about=about, now=now, key=appeal.public_id, **receipt)
    for team in others:
        notify_appeal_against(appeal, team, now=now)


def notify_appeal_against(appeal: Appeal, team: Team, *, now: datetime) -> int:
    """Tell a team of an appeal in a case that is about it; return how many people are told."""
    about, told = reverse("appeal-case", args=[appeal.case.public_id]), _facts(appeal) | {"until": _until(appeal, now)}
    return notify(team, MessageKind.APPEAL_AGAINST, about=about, now=now, key=appeal.public_id, **told)


def notify_late_appeals(case: Case, team: Team, *, now: datetime) -> int:
    """Tell a team that may know of an open case only now of the appeals in it that it was not told of, where it may
    answer; return how many people are told."""
    if case.state != CaseState.OPEN or team not in _may_answer(case, now):
        return 0
    appeals = case.appeals.select_related("case", "image").order_by("pk")
    not_notified = [each for each in appeals if not was_notified(team, MessageKind.APPEAL_AGAINST, each.public_id)]
    return sum(notify_appeal_against(each, team, now=now) for each in not_notified)


def _facts(appeal: Appeal) -> dict[str, str]:
    return {
        "appeal": appeal.public_id,
        "case": appeal.case.public_id,
        "picture": appeal.image.public_id,
        "side": appeal.side,
    }


def _until(appeal: Appeal, now: datetime) -> str:
    return absolute(appeal.case.due_at, policy_in_force(now).policy.time_zone)


def _may_answer(case: Case, now: datetime) -> list[Team]:
    appellants = {final_team(each.team).pk for each in case.appeals.select_related("team__merged_into")}
    return [team for team in teams_informed(case, now=now) if team.pk not in appellants]
