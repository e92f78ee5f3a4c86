"""Services that create, join, leave, lead and merge teams (R8, R25). Each change locks the team's row."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q

from accounts.roles import TEAMS, is_organizer, role_give
from common.audit.trail import audit
from common.errors import Conflict, InvalidInput, NotAllowed, NotFound, required
from common.typed import clean_words
from contest.core.models import Member, Team
from contest.outbox.writing import person_forget
from contest.teams import names
from contest.teams.letters import notify_merged, notify_team
from contest.teams.models import Entitlement, PastMember, TeamInvitation, TeamMerge
from contest.teams.selectors import members_of, speaks_for

MAX_REASON_CHARACTERS = 1_000


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

    The captain's role goes to the member who joined first. With the last member, the open invitations of the team end.
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
    rows = team.members.select_related("user").filter(pk=member_id).exclude(user=by)
    other = required(rows.first(), NotFound("There is no such other member of your team now.", "not_found"))
    other.team = team
    return other


def _captain_make(member: Member) -> None:
    member.team.members.filter(captain=True).update(captain=False)
    member.team.members.filter(pk=member.pk).update(captain=True)


# Merging two teams ----------------------------------------------------------------------------------------------------


@transaction.atomic
def teams_merge(*, team: Team, into: Team, reason: str, by: User, now: datetime) -> TeamMerge:
    """Make `team` part of `into`; it stays in the record, with all that it sent. There is no way back.

    Conflict when they are one team already (`same_team`, `merged`); InvalidInput (`reason`) without a reason.
    """
    if not is_organizer(by):
        raise NotAllowed("Only organizers merge teams.", "not_an_organizer")
    said = clean_words(
        reason, field="reason", ask="Give the reason: both teams read it.", max_length=MAX_REASON_CHARACTERS
    )
    gone, stays = _lock_both(team, into)
    notify_merged(gone, stays, reason=said, now=now)
    _move_members(gone, stays, now)
    gone.invitations.filter(accepted_at__isnull=True, withdrawn_at__isnull=True).update(withdrawn_at=now)
    Team.objects.filter(pk=gone.pk).update(merged_into=stays, merged_at=now)
    audit("team.merge", by=by, subject={"team": [gone.public_id, stays.public_id]}, why=said, now=now)
    return TeamMerge.objects.create(team=gone, into=stays, reason=said, merged_by=by, merged_at=now)


def _lock_both(team: Team, into: Team) -> tuple[Team, Team]:
    if team.pk == into.pk:
        raise Conflict("A team is not merged with itself: choose another one.", "same_team", field="into")
    # In the order of their numbers, so that two simultaneous mergings cannot deadlock.
    held = {number: lock_team(number) for number in sorted((team.pk, into.pk))}
    for each in held.values():
        if each.merged_into_id is not None:
            raise Conflict(f"Team {each.name} is part of another one already: choose that one.", "merged", field="into")
    return held[team.pk], held[into.pk]


def _move_members(gone: Team, stays: Team, now: datetime) -> None:
    moving = list(gone.members.all())
    PastMember.objects.bulk_create(
        PastMember(team=gone, user_id=each.user_id, joined_at=each.joined_at, left_at=now) for each in moving
    )
    # A team without members gets the captain of the team merged into it.
    led = stays.members.exists()
    for each in moving:
        Member.objects.filter(pk=each.pk).update(team=stays, captain=each.captain and not led, joined_at=now)


# An account that is deleted -------------------------------------------------------------------------------------------


def account_forget(sender: Any, *, user: User, now: datetime, **_: Any) -> None:
    """End the membership, pass the captaincy on, and forget the person's addresses. Answers `account_leaving`."""
    person_forget(user)
    if Member.objects.filter(user=user).exists():
        member = lock_member(user)
        lost = speaks_for(user, member.team, now)
        member_end(member, now=now, forgotten=True)
        notify_team(member.team, "left", now=now, who="A member, whose account was deleted,", not_entitled=lost)
    _forget_addresses(user, now)


def _forget_addresses(user: User, now: datetime) -> None:
    papers = Q(author=user)
    if user.email:
        invitations = TeamInvitation.objects.filter(email__iexact=user.email)
        invitations.filter(accepted_at__isnull=True, withdrawn_at__isnull=True).update(withdrawn_at=now)
        invitations.update(email="")
        papers |= Q(email__iexact=user.email)
    Entitlement.objects.filter(papers).update(author=None, email="")
