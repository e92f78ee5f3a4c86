"""Letters to teams about their defenses and their money: written down with what they tell of, sent by a sweep.

A letter is a row of the transaction that it tells of: what is rolled back tells nobody, and what happened once is told
once. Team letters are in English, as the pages of teams are.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.core.mail import EmailMessage

from common.mail import letter
from contest.enums import LetterKind
from contest.models import Member, Team, TeamLetter
from contest.posting import post_due
from contest.teams.letters import LANGUAGE
from contest.teams.selectors import final_team


def team_write(team: Team, kind: LetterKind, *, now: datetime, **facts: Any) -> None:
    """Write a letter down for every member that has an address; `facts` are what its text says, as JSON.

    To be called in the transaction of what it tells of.
    """
    told = final_team(team)
    people = User.objects.filter(membership__team=told, is_active=True).exclude(email="").order_by("pk")
    rows = (TeamLetter(user=each, team=told, kind=kind, facts=facts, made_at=now) for each in people)
    TeamLetter.objects.bulk_create(rows)


def team_letters_send(*, clock: Callable[[], datetime]) -> int:
    """Send the letters to teams that are due; return how many went out."""
    return post_due(TeamLetter.objects.select_related("user", "team"), _letter, clock=clock)


def _letter(row: TeamLetter) -> EmailMessage | None:
    """Return the letter; None for who left the team meanwhile or has no address any more."""
    team = final_team(row.team)
    if not row.user.email or not Member.objects.filter(user=row.user, team=team).exists():
        return None
    return letter(row.kind, to=row.user.email, language=LANGUAGE, team=team, **row.facts)


def team_letters_drop() -> None:
    """Forget the letters that were not sent, where nobody is to get one."""
    TeamLetter.objects.filter(taken_at__isnull=True).delete()
