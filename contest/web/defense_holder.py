"""Who may open the pages of a team's defenses."""

from typing import Any

from django.contrib.auth.models import User
from django.http import Http404

from common.errors import NotAllowed, NotFound
from contest.core.models import Team
from contest.core.roles import roles_of
from contest.core.teams import team_of
from contest.defenses.models import Entry
from contest.defenses.selectors import entry_of
from contest.teams.selectors import captain_of


def team_held_by(user: Any) -> Team:
    """Return the team that `user` is in; NotAllowed (`not_in_a_team`) for other roles, Http404 for strangers."""
    team = team_of(user) if isinstance(user, User) else None
    if team is not None:
        return team
    if roles_of(user).names:
        raise NotAllowed("Only members of a team hand in defenses; this account has another role.", "not_in_a_team")
    raise Http404("nothing here for a stranger")


def own_entry(user: Any, public_id: str) -> Entry:
    """Return the team's own entry of this defense; NotFound for everybody else's, otherwise as `team_held_by`."""
    entry = entry_of(team_held_by(user), public_id)
    if entry is None:
        raise NotFound("Your team has no defense with this ID.", "not_found")
    return entry


def leads(user: User, team: Team) -> bool:
    """Say whether `user` is the captain."""
    return captain_of(team) == user
