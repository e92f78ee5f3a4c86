"""Who may open the pages and calls of appeals."""

from typing import Any

from django.contrib.auth.models import User
from django.http import Http404

from common.errors import NotAllowed
from contest.core.models import Team
from contest.core.roles import roles_of
from contest.core.teams import team_of


def team_appealing(user: Any) -> Team:
    """Return the team that `user` is in.

    NotAllowed for who competes and is in no team yet (`no_team`) and for other roles (`not_in_a_team`), Http404 for
    strangers.
    """
    team = team_of(user) if isinstance(user, User) else None
    if team is not None:
        return team
    roles = roles_of(user)
    if roles.names:
        raise NotAllowed("Only members of a team appeal; this account has another role.", "not_in_a_team")
    if roles.competes:
        words = "Only a team appeals, and you are in none yet. Found one, or join one by its invitation."
        raise NotAllowed(words, "no_team")
    raise Http404("nothing here for a stranger")
