"""Teams and who is in them (R8, R25)."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from contest.models import Member, Team
from labeling.people import TEAMS, role_give


@transaction.atomic
def team_create(*, name: str, captain: User, now: datetime) -> Team:
    """Make a team with its captain."""
    team = Team.objects.create(name=name, created_at=now)
    member_add(team=team, user=captain, captain=True)
    return team


def member_add(*, team: Team, user: User, captain: bool = False) -> Member:
    """Add `user` to `team`; Conflict for anybody who labels, organizes or judges (R8)."""
    role_give(user=user, role=TEAMS)
    return Member.objects.create(team=team, user=user, captain=captain)
