"""Access check of a team's defense pages: the defense belongs to the team."""

from typing import Any

from django.contrib.auth.models import User

from common.errors import NotFound, required
from contest.core.models import Team
from contest.core.roles import own_team_of
from contest.defenses.models import DefenseEntry
from contest.defenses.selectors import entry_of
from contest.teams.selectors import captain_of


def own_entry(user: Any, public_id: str) -> DefenseEntry:
    """Return the team's own entry of this defense; NotFound for other teams' defenses. Raises as `own_team_of` does."""
    return required(
        entry_of(own_team_of(user), public_id), NotFound("Your team has no defense with this ID.", "not_found")
    )


def leads(user: User, team: Team) -> bool:
    """Say whether `user` is the captain."""
    return captain_of(team) == user
