"""Creating, joining, leaving and leading teams (R8, R25). Each change locks the team's row."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from accounts.roles import TEAMS, role_give
from common.errors import Conflict, InvalidInput, NotAllowed, NotFound
from contest.core.models import Member, Team
from contest.teams import names
from contest.teams.letters import notify_team
from contest.teams.models import PastMember
from contest.teams.selectors import members_of, speaks_for


@transaction.atomic
def team_create(*, name: str, captain: User, now: datetime) -> Team:
    """Make a team with its captain.

    InvalidInput (`name`) for a name that will not do; Conflict when it is taken (`name_taken`), regardless of case, or
    as `member_add`.
    """
    called = names.tidy_name(name)
    if wrong := names.name_problem(called):
        raise InvalidInput(wrong, "invalid", field="name")
    try:
        with transaction.atomic():
            team = Team.objects.create(name=called, created_at=now)
    except IntegrityError:
        raise Conflict("There is a team of this name: choose another one.", "name_taken", field="name") from None
    member_add(team=team, user=captain, captain=True, now=now)
    return team


@transaction.atomic
def member_add(*, team: Team, user: User, now: datetime, captain: bool = False) -> Member:
    """Add `user` to `team`.

    Conflict for anybody who labels, organizes or judges (R8), and for who is in a team already (`in_a_team`).
    """
    role_give(user=user, role=TEAMS)
    try:
        with transaction.atomic():
            return Member.objects.create(team=team, user=user, captain=captain, joined_at=now)
    except IntegrityError:
        raise Conflict(
            f"{user.username} is in a team: a person is in one at a time. Leave that team first.", "in_a_team"
        ) from None


@transaction.atomic
def member_leave(*, user: User, now: datetime) -> Team:
    """Leave one's team. Conflict (`hand_over_first`) for a captain who would leave others without one."""
    member = lock_member(user)
    if member.captain and member.team.members.exclude(pk=member.pk).exists():
        raise Conflict(
            "A team has one captain: hand the captaincy over to another member, then leave.", "hand_over_first"
        )
    lost = speaks_for(user, member.team, now)
    member_end(member, now=now)
    notify_team(member.team, "left", now=now, who=user.username, not_entitled=lost)
    return member.team


@transaction.atomic
def member_remove(*, by: User, member_id: int, now: datetime) -> Member:
    """Take a member out of the captain's team; they are told by e-mail."""
    other = _other_member(by, member_id)
    lost = speaks_for(other.user, other.team, now)
    notify_team(other.team, "removed", now=now, who=other.user.username, not_entitled=lost)
    member_end(other, now=now)
    return other


@transaction.atomic
def captain_hand_over(*, by: User, member_id: int, now: datetime) -> Member:
    """Make another member the captain; the former one stays as a member."""
    other = _other_member(by, member_id)
    _captain_make(other)
    notify_team(other.team, "captain", now=now, who=other.user.username)
    return other


def lock_captain(user: User) -> Team:
    """Return the team that `user` leads, its row held; NotAllowed (`not_captain`) for everybody else."""
    member = lock_member(user)
    if not member.captain:
        raise NotAllowed("Only the captain does this: ask yours, or take over the captaincy.", "not_captain")
    return member.team


def lock_member(user: User) -> Member:
    """Return the membership of `user` with the team's row held; NotFound (`no_team`) outside of any team."""
    team_id = Member.objects.filter(user=user).values_list("team_id", flat=True).first()
    team = lock_team(team_id) if team_id else None
    member = Member.objects.select_related("user").filter(user=user, team=team).first() if team else None
    if member is None or team is None:
        raise NotFound("You are in no team now: make one, or ask a captain for an invitation.", "no_team")
    member.team = team
    return member


def lock_team(team_id: int) -> Team:
    """Return the team with its row held until the transaction ends."""
    return Team.objects.select_for_update(of=("self",), no_key=True).get(pk=team_id)


def member_end(member: Member, *, now: datetime, forgotten: bool = False) -> None:
    """End a membership and record it, without the person's name if `forgotten`. The caller holds the team's row.

    A captain's place goes to who has been in the team longest. With the last member, what the team waits for ends.
    """
    team, was_captain = member.team, member.captain
    PastMember.objects.create(
        team=team, user=None if forgotten else member.user, joined_at=member.joined_at, left_at=now
    )
    member.delete()
    successor = members_of(team).first()
    if successor is None:
        team.invitations.filter(accepted_at__isnull=True, withdrawn_at__isnull=True).update(withdrawn_at=now)
    elif was_captain:
        _captain_make(successor)


def _other_member(by: User, member_id: int) -> Member:
    team = lock_captain(by)
    other = team.members.select_related("user").filter(pk=member_id).exclude(user=by).first()
    if other is None:
        raise NotFound("There is no such other member of your team now.", "not_found")
    other.team = team
    return other


def _captain_make(member: Member) -> None:
    member.team.members.filter(captain=True).update(captain=False)
    member.team.members.filter(pk=member.pk).update(captain=True)
