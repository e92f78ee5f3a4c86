"""Services for invitations to a team: sent by its captain, valid once and for 14 days."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from accounts.addresses import clean_address
from accounts.invitations import InvitationState, digest_of
from common.errors import Conflict, InvalidInput, NotFound, TooMany, required
from common.mail import send_in_background
from contest.core.models import Member, Team
from contest.teams.letters import notify_team, team_invitation_letter
from contest.teams.models import TeamInvitation
from contest.teams.registration import researcher_make
from contest.teams.services import lock_captain, lock_team, member_add

VALID_FOR = timedelta(days=14)
MAX_OPEN = 20
# Limits on letters, not on open invitations: withdrawn ones count as well.
MAX_PER_DAY, MAX_PER_ADDRESS_PER_DAY = 40, 3
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class NewTeamInvitation:
    """An invitation with its secret, which goes into the letter and is not stored."""

    invitation: TeamInvitation
    secret: str


def team_invitation_state(invitation: TeamInvitation, *, now: datetime) -> InvitationState:
    """Return the state of an invitation."""
    if invitation.accepted_at is not None:
        return InvitationState.ACCEPTED
    if invitation.withdrawn_at is not None:
        return InvitationState.REVOKED
    return InvitationState.OPEN if now < invitation.ends_at else InvitationState.EXPIRED


def _unfinished(team: Team) -> QuerySet[TeamInvitation]:
    return team.invitations.filter(accepted_at__isnull=True, withdrawn_at__isnull=True)


@transaction.atomic
def team_invite(*, by: User, email: str, now: datetime) -> NewTeamInvitation:
    """Invite an address to the captain's team by a letter; nobody learns whether it has an account.

    InvalidInput (`email`) when it is no address; Conflict when it is a member's (`is_member`), has an open invitation
    (`invited_already`), or too many are open (`too_many`); TooMany (`letters_today`) beyond a day's letters of a
    team or to one address.
    """
    team, address = lock_captain(by), clean_address(email)
    _unfinished(team).filter(ends_at__lte=now).update(withdrawn_at=now)
    _check(team, address)
    _refuse_flood(team, address, now)
    secret = secrets.token_urlsafe(32)
    invitation = TeamInvitation.objects.create(
        team=team,
        email=address,
        token_sha256=digest_of(secret),
        invited_by=by,
        invited_at=now,
        ends_at=now + VALID_FOR,
    )
    send_in_background(team_invitation_letter(invitation, secret))
    return NewTeamInvitation(invitation, secret)


def _check(team: Team, address: str) -> None:
    if team.members.filter(user__email=address).exists():
        raise Conflict("This is the address of a member of your team.", "is_member", field="email")
    if _unfinished(team).filter(email=address).exists():
        raise Conflict(
            "This address is invited already: withdraw that invitation to send another one.",
            "invited_already",
            field="email",
        )
    if _unfinished(team).count() >= MAX_OPEN:
        raise Conflict(
            f"A team has {MAX_OPEN} open invitations at most: withdraw one first.", "too_many", field="email"
        )


def _refuse_flood(team: Team, address: str, now: datetime) -> None:
    today = TeamInvitation.objects.filter(invited_at__gt=now - _DAY)
    if today.filter(email=address).count() >= MAX_PER_ADDRESS_PER_DAY:
        raise TooMany(
            f"This address got {MAX_PER_ADDRESS_PER_DAY} letters in the last 24 hours: invite it tomorrow.",
            "letters_today",
            field="email",
        )
    if today.filter(team=team).count() >= MAX_PER_DAY:
        raise TooMany(
            f"Your team sent {MAX_PER_DAY} invitations in the last 24 hours, which is the most. Go on tomorrow.",
            "letters_today",
            field="email",
        )


@transaction.atomic
def team_invitation_withdraw(*, by: User, invitation_id: int, now: datetime) -> TeamInvitation:
    """End an invitation of the captain's team; its link opens nothing any more."""
    over = Conflict("This invitation is over: it was accepted or withdrawn meanwhile.", "invitation_over")
    found = required(_unfinished(lock_captain(by)).filter(pk=invitation_id).first(), over)
    found.withdrawn_at = now
    found.save(update_fields=["withdrawn_at"])
    return found


def team_invitation_of(secret: str, *, now: datetime) -> TeamInvitation:
    """Return the open invitation of a link; NotFound (`link_over`) for every other link, whatever the reason."""
    found = TeamInvitation.objects.select_related("team").filter(token_sha256=digest_of(secret)).first()
    if found is None or team_invitation_state(found, now=now) is not InvitationState.OPEN:
        raise NotFound(
            f"This link does not open anything any more. It works once, for {VALID_FOR.days} days: ask the captain of "
            "the team for a new one. If you have joined already, sign in.",
            "link_over",
        )
    return found


@transaction.atomic
def team_invitation_accept(*, secret: str, user: User, now: datetime, joined_at: datetime | None = None) -> Member:
    """Let `user` join the team of a link, which is then used up. `joined_at` is the contest's time if it differs from
    `now`, which decides about links.

    NotFound for a link that is over; Conflict for somebody with another role (R8) or another team.
    """
    team = lock_team(team_invitation_of(secret, now=now).team_id)
    # Checked again with the team locked: of two people who open the same link, one joins.
    invitation = team_invitation_of(secret, now=now)
    member = member_add(team=team, user=user, now=joined_at or now)
    # The address is no longer needed: the person is a member, perhaps with another address.
    invitation.accepted_at, invitation.email = now, ""
    invitation.save(update_fields=["accepted_at", "email"])
    notify_team(team, "joined", now=joined_at or now, who=user.username)
    return member


@transaction.atomic
def team_invitation_register(
    *, secret: str, username: str, password: str, now: datetime, joined_at: datetime | None = None
) -> User:
    """Make an account and join with it; its address counts as confirmed, because the link came by it."""
    invitation = team_invitation_of(secret, now=now)
    if has_account(invitation):
        raise InvalidInput(
            "There is an account with the address this letter went to: sign in with it, then open the link again.",
            "has_account",
        )
    user = researcher_make(username=username, password=password, email=invitation.email)
    team_invitation_accept(secret=secret, user=user, now=now, joined_at=joined_at)
    return user


def has_account(invitation: TeamInvitation) -> bool:
    """Say whether the invited address has an account; only who opened the link of that letter may learn it."""
    return User.objects.filter(email=invitation.email).exists()
