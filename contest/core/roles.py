"""The roles of an account, and access checks for views: visitors without a role get 404, other roles 403 with words."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Exists, IntegerField, OuterRef, QuerySet
from django.http import Http404

from accounts.enums import Role
from accounts.models import AccountRole
from accounts.roles import is_on_board
from common.database.lookups import Parameter, PreparedLookup
from common.database.request_memory import once_per_request
from common.errors import Conflict, NotAllowed
from contest.core.models import Team
from contest.core.teams import final_team, teams_counted_together


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of an account. `competes`: a researcher, maybe without a team; `merged`: others are part of `team`."""

    tasker: bool = False
    organizer: bool = False
    board: bool = False
    team: Team | None = None
    merged: bool = False
    competes: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Return the roles as words, in a fixed order; empty for a stranger."""
        held = {
            "tasker": self.tasker,
            "organizer": self.organizer,
            "board": self.board,
            "team": self.team is not None,
        }
        return tuple(name for name, holds in held.items() if holds)

    @property
    def words(self) -> str:
        """Return the roles for the page's header, for example `review board, team red`."""
        held = {"tasker": self.tasker, "organizer": self.organizer, "review board": self.board}
        words = [name for name, holds in held.items() if holds]
        return ", ".join(words + ([f"team {self.team.name}"] if self.team is not None else []))

    @property
    def family(self) -> list[Team]:
        """Return the teams that count as one with the account's own (R25); empty without one."""
        if self.team is None:
            return []
        return teams_counted_together(self.team) if self.merged or self.team.merged_into_id else [self.team]


def _compose_role_and_team() -> QuerySet[AccountRole]:
    merged = Exists(Team.objects.filter(merged_into=OuterRef("user__membership__team")))
    rows = AccountRole.objects.select_related("user__membership__team").annotate(merged=merged)
    return rows.filter(user=Parameter("user", IntegerField()))


_role_and_team = PreparedLookup("role_and_team", _compose_role_and_team)


@once_per_request
def roles_of(user: Any) -> Roles:
    """Return the roles of `user`: no query for strangers without an account, one for everybody else."""
    if not user.is_authenticated:
        return Roles()
    found = _role_and_team(user=user.pk)
    if not found:
        return Roles()
    account = found[0]
    membership = getattr(account.user, "membership", None)
    return Roles(
        tasker=account.role == Role.TASKER,
        organizer=account.role == Role.ORGANIZER,
        board=account.role == Role.BOARD,
        team=membership and membership.team,
        merged=vars(account)["merged"],
        competes=account.role == Role.TEAM,
    )


def header_roles(user: Any) -> Roles:
    """Return the roles for the page's header. A tasker has no other role (R8), so pages for labeling need no query."""
    if getattr(user, "tasker", None) is not None:
        return Roles(tasker=True)
    return roles_of(user)


def refuse_other_team(opened_for: str, team: Team) -> None:
    """Raise Conflict (`other_team`) if a page was opened for another team than the one that its reader is in now.

    `opened_for` is the public ID that the page carries; a team that became part of `team` is the same one. A page
    without an ID is let through.
    """
    known = Team.objects.filter(public_id=opened_for).first() if opened_for.isprintable() else None
    if not opened_for or (known is not None and final_team(known) == final_team(team)):
        return
    other = f"team {known.name}" if known is not None else "another team"
    raise Conflict(
        f"This page was opened for {other}, and you are signed in as a member of team {team.name} now. Nothing was "
        f"sent. Sign in for {other} again, or reload this page to send for team {team.name}.",
        "other_team",
    )


def board_member_of(user: User | AnonymousUser) -> User:
    """Return `user`, who is on the review board; NotAllowed (`not_on_board`) for other roles, Http404 for strangers."""
    if isinstance(user, User) and is_on_board(user):
        return user
    if isinstance(user, User) and AccountRole.objects.filter(user=user).exists():
        words = "Only members of the review board open this page; this account has another role."
        raise NotAllowed(words, "not_on_board")
    raise Http404("nothing here for a stranger")


class NoTeam(NotAllowed):
    """A researcher who is in no team yet."""

    def __init__(self) -> None:
        words = "Only a team can do this, and you are in none yet. Found one, or join one by its invitation."
        super().__init__(words, "no_team")


def own_team_of(user: Any) -> Team:
    """Return the team that `user` is in.

    NoTeam for a researcher without one, NotAllowed (`not_in_a_team`) for other roles, Http404 for strangers.
    """
    roles = roles_of(user)
    if roles.team is not None:
        return roles.team
    if roles.names:
        raise NotAllowed("Only members of a team can do this; this account has another role.", "not_in_a_team")
    if roles.competes:
        raise NoTeam
    raise Http404("nothing here for a stranger")


def researcher_of(user: User | AnonymousUser) -> User:
    """Return `user` if they compete, or have no role yet and so may begin to; NotAllowed for everybody else (R8)."""
    if isinstance(user, User) and not AccountRole.objects.filter(user=user).exclude(role=Role.TEAM).exists():
        return user
    words = "Teams are for researchers: who labels, organizes or judges never competes. This account has another role."
    raise NotAllowed(words, "not_a_researcher")


def picture_reader(user: Any) -> tuple[Team | None, bool]:
    """Return the reader's team, and whether they are an organizer."""
    roles = roles_of(user)
    return roles.team, roles.organizer
