"""Services for invitations: organizers invite people by e-mail; there is no open sign-up (R5, R8)."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from random import Random

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.addresses import clean_address, keep_confirmed
from accounts.enums import Role
from accounts.models import Invitation
from accounts.roles import ORGANIZERS, REVIEW_BOARD, role_give
from accounts.signals import tasker_invited
from common.audit.trail import audit
from common.errors import Conflict, InvalidInput, NotFound, WrongFields

VALID_FOR = timedelta(days=7)
_GROUPS = {Role.ORGANIZER: ORGANIZERS, Role.BOARD: REVIEW_BOARD}
INVITED_ROLES = (Role.TASKER, *_GROUPS)


class InvitationState(StrEnum):
    """OPEN: the link works; EXPIRED: it is too old; ACCEPTED and REVOKED are final."""

    OPEN = "open"
    ACCEPTED = "accepted"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class NewInvitation:
    """An invitation with its secret, which is sent in the letter and not stored."""

    invitation: Invitation
    secret: str


def invitation_state(invitation: Invitation, *, now: datetime) -> InvitationState:
    """Return the state of an invitation at a moment."""
    if invitation.accepted_at is not None:
        return InvitationState.ACCEPTED
    if invitation.revoked_at is not None:
        return InvitationState.REVOKED
    return InvitationState.OPEN if now < invitation.expires_at else InvitationState.EXPIRED


def digest_of(secret: str) -> str:
    """Return the hash that is stored instead of a link's secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def invite(*, email: str, role: Role, language: str, by: User, now: datetime) -> NewInvitation:
    """Invite an address to a role; the link is good for 7 days.

    Conflict when the address has an account (`has_account`) or an open invitation (`invited_already`).
    """
    if role not in INVITED_ROLES:
        raise InvalidInput("Choose tasker, organizer or review board.", "invalid", field="role")
    address = clean_address(email)
    if User.objects.filter(email=address).exists():
        raise Conflict("There is an account with this e-mail address already.", "has_account")
    secret = secrets.token_urlsafe(32)
    try:
        with transaction.atomic():
            invitation = Invitation.objects.create(
                email=address,
                role=role,
                language=language,
                digest=digest_of(secret),
                invited_at=now,
                invited_by=by,
                expires_at=now + VALID_FOR,
            )
            _record("invitation.send", invitation, by, now)
    except IntegrityError:
        words = "This address was invited already. Find it in the list and send the invitation again, or revoke it."
        raise Conflict(words, "invited_already") from None
    return NewInvitation(invitation, secret)


@transaction.atomic
def invitation_renew(*, invitation_id: int, by: User, now: datetime) -> NewInvitation:
    """Make a new link, good for 7 days; the former one ends. Conflict (`invitation_over`) once accepted or revoked."""
    invitation = _unfinished(invitation_id)
    secret = secrets.token_urlsafe(32)
    invitation.digest, invitation.expires_at = digest_of(secret), now + VALID_FOR
    invitation.save(update_fields=["digest", "expires_at"])
    _record("invitation.renew", invitation, by, now)
    return NewInvitation(invitation, secret)


@transaction.atomic
def invitation_revoke(*, invitation_id: int, by: User, now: datetime) -> Invitation:
    """Revoke an invitation; its link stops working. Conflict (`invitation_over`) once accepted or revoked."""
    invitation = _unfinished(invitation_id)
    invitation.revoked_at = now
    invitation.save(update_fields=["revoked_at"])
    _record("invitation.revoke", invitation, by, now)
    return invitation


def _record(action: str, invitation: Invitation, by: User, now: datetime) -> None:
    """Write an audit row without the address, because the address must disappear with the account."""
    audit(action, by=by, subject={"invitation": [invitation.pk]}, now=now, private={"role": str(invitation.role)})


def _unfinished(invitation_id: int) -> Invitation:
    invitation = Invitation.objects.select_for_update(of=("self",), no_key=True).filter(pk=invitation_id).first()
    if invitation is None:
        raise NotFound("There is no such invitation.", "not_found")
    if invitation.accepted_at or invitation.revoked_at:
        raise Conflict("This invitation is over: it was accepted or revoked meanwhile.", "invitation_over")
    return invitation


def invitation_of(secret: str, *, now: datetime, lock: bool = False) -> Invitation:
    """Return the open invitation of a link; NotFound for every invalid link, whatever the reason."""
    rows = Invitation.objects.select_for_update(of=("self",), no_key=True) if lock else Invitation.objects
    invitation = rows.filter(digest=digest_of(secret)).first()
    if invitation is None or invitation_state(invitation, now=now) is not InvitationState.OPEN:
        raise NotFound(
            _(
                "This link does not open anything any more. It works once, for 7 days: ask the organizer who invited "
                "you for a new one. If you have joined already, sign in."
            ),
            "link_over",
        )
    return invitation


@transaction.atomic
def invitation_accept(
    *, secret: str, username: str, password: str, now: datetime, rng: Random, joined_at: datetime | None = None
) -> User:
    """Create the account with the invitation's role; its address counts as confirmed, because the link was sent there.
    `now` decides whether the link has expired; `joined_at` is the contest's time where the two differ.

    WrongFields for an invalid user name or password, NotFound for a link that does not work.
    """
    invitation = invitation_of(secret, now=now, lock=True)
    user = account_make(username=username, password=password, email=invitation.email)
    if invitation.role == Role.TASKER:
        tasker_invited.send(User, user=user, language=invitation.language, now=joined_at or now, rng=rng)
    else:
        role_give(user=user, role=_GROUPS[Role(invitation.role)])
    invitation.accepted_at, invitation.user = now, user
    invitation.save(update_fields=["accepted_at", "user"])
    subject, told = {"account": [user.pk], "invitation": [invitation.pk]}, {"role": str(invitation.role)}
    audit("role.give", by=user, subject=subject, now=now, private=told)
    return user


def account_make(*, username: str, password: str, email: str) -> User:
    """Create an account without a role; `email` is in its stored form, and the caller knows that it is the person's.

    WrongFields for an invalid user name or password, Conflict (`has_account`) for a name or address in use.
    """
    _check(username, password, email)
    try:
        with transaction.atomic():
            user = User.objects.create_user(username, email=email, password=password)
            keep_confirmed(user)
    except IntegrityError:
        words = _("There is an account with this user name or this e-mail address already.")
        raise Conflict(words, "has_account") from None
    return user


def _check(username: str, password: str, email: str) -> None:
    wrong = {}
    if problem := username_problem(username):
        wrong["username"] = problem
    try:
        validate_password(password, User(username=username, email=email))
    except ValidationError as error:
        wrong["password"] = " ".join(error.messages)
    if wrong:
        raise WrongFields(wrong)


def username_problem(username: str) -> str:
    """Return why a user name is invalid or taken, in words; empty when it is free. Case does not distinguish names."""
    try:
        UnicodeUsernameValidator()(username)
    except ValidationError:
        return _("A user name has letters, digits and @ . + - _ only.")
    if len(username) > 40:
        return _("A user name has 40 characters at most.")
    if User.objects.filter(username__iexact=username).exists():
        return _("Somebody has this user name already: choose another one.")
    return ""
