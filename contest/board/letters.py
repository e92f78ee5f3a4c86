"""What teams are written of appeals, in the transaction of the appeal (R18)."""

from datetime import datetime

from django.urls import reverse

from common.times import absolute
from contest.board.known import teams_told
from contest.enums import MessageKind
from contest.messages.writing import write
from contest.models import Appeal, Case, Team
from contest.teams.selectors import final_team
from labeling.selectors import policy_in_force


def appeal_tell(appeal: Appeal, *, now: datetime) -> None:
    """Give the team its receipt, and tell the other teams of the case that may know of it; they may answer."""
    others = _may_answer(appeal.case, now)
    due = absolute(appeal.case.due_at, policy_in_force(now).policy.time_zone)
    told = {
        "appeal": appeal.public_id,
        "case": appeal.case.public_id,
        "picture": appeal.image.public_id,
        "side": appeal.side,
    }
    about = reverse("appeal", args=[appeal.public_id])
    receipt = told | {"answer_until": due if others else ""}
    write(appeal.team, MessageKind.APPEAL_RECEIVED, about=about, now=now, key=appeal.public_id, **receipt)
    page = reverse("appeal-case", args=[appeal.case.public_id])
    for team in others:
        write(team, MessageKind.APPEAL_AGAINST, about=page, now=now, key=appeal.public_id, **told, until=due)


def _may_answer(case: Case, now: datetime) -> list[Team]:
    appellants = {final_team(each.team).pk for each in case.appeals.select_related("team__merged_into")}
    return [team for team in teams_told(case, now=now) if team.pk not in appellants]
