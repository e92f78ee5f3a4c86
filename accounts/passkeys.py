"""Passkeys (WebAuthn) as a second factor: registering, checking and removing them with django-allauth.

django-allauth keeps the challenge in the session and checks what the browser signed. This module adds what it leaves
out (decision 29): a challenge is valid for five minutes and for one sign-in, even with simultaneous requests, and a
signature counter that does not increase means that a passkey was copied.
"""

import json
import struct
from datetime import datetime, timedelta
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal import auth as webauthn
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _

from accounts.second_factor import factors_remove, lock_factors, recovery_codes_begin
from common.errors import Conflict, InvalidInput, NotFound

CEREMONY_WITHIN = timedelta(minutes=5)
MAX_PASSKEYS = 10
MAX_NAME_CHARACTERS = 40
# The browser's response at the end of a registration or sign-in, as JSON.
MAX_CREDENTIAL_CHARACTERS = 10_000
_BEGUN = "passkey.begun"
# Exceptions that a malformed response raises in the library and below it.
_UNREADABLE = (
    *(ValidationError, ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError),
    *(RecursionError, OverflowError, struct.error),
)


def passkeys_of(user: User) -> list[Authenticator]:
    """Return the passkeys of the account, in the order they were added."""
    return list(_passkeys(user).order_by("pk"))


def registration_begin(request: HttpRequest, user: User, *, now: datetime) -> dict[str, Any]:
    """Return the options with which the browser creates a passkey; the caller has checked the password. Conflict
    (`too_many`) where the account has ten."""
    if _passkeys(user).count() >= MAX_PASSKEYS:
        raise Conflict(_("An account has ten passkeys at most: remove one first."), "too_many")
    _note_beginning(request, now)
    return dict(webauthn.begin_registration(user, passwordless=False)["publicKey"])


@transaction.atomic
def passkey_add(request: HttpRequest, user: User, *, name: str, credential: str, now: datetime) -> list[str]:
    """Ask for this passkey, or another factor, at every sign-in from now on. Returns the recovery codes, which are
    shown once; none where the account has some already.

    InvalidInput (`wrong_passkey`) when it does not answer the challenge of this session.
    """
    lock_factors(user)
    begun = _beginning(request, now)
    try:
        answer = _read(credential)
        added = webauthn.complete_registration(answer) if begun else None
        known = added and webauthn.get_authenticator_by_credential_id(user, added.credential_data.credential_id)
    except _UNREADABLE:
        added = known = None
    if added is None or known:
        raise InvalidInput(_("The passkey was not made. Begin again."), "wrong_passkey")
    row = webauthn.WebAuthn.add(user, name[:MAX_NAME_CHARACTERS] or _("Passkey"), answer).instance
    row.data["sign_count"] = added.counter
    row.save()
    return recovery_codes_begin(user)


@transaction.atomic
def passkey_remove(*, user: User, passkey_id: int) -> bool:
    """Remove a passkey. Returns whether a second factor is left; NotFound for a passkey that does not exist."""
    lock_factors(user)
    found = _passkeys(user).filter(pk=passkey_id)
    if not found:
        raise NotFound(_("This passkey is removed already."), "not_found")
    return factors_remove(user, found)


def sign_in_begin(request: HttpRequest, user: User, *, now: datetime) -> dict[str, Any] | None:
    """Return what the browser needs to sign in with a passkey of `user`; None without one."""
    if not _passkeys(user).exists():
        return None
    _note_beginning(request, now)
    return dict(webauthn.begin_authentication(user)["publicKey"])


@transaction.atomic
def passkey_take(request: HttpRequest, user: User, *, credential: str, now: datetime) -> bool:
    """Say whether `user`'s passkey signed this session's challenge, and use the challenge up."""
    begun = _beginning(request, now)
    if begun is None:
        return False
    # Of two requests with the same response, the second waits here and then sees that the passkey was used.
    list(_passkeys(user).select_for_update())
    try:
        answer = _read(credential)
        passkey = webauthn.complete_authentication(user, answer)
        count = webauthn.parse_authentication_response(answer).response.authenticator_data.counter
    except _UNREADABLE:
        return False
    before = passkey.data["sign_count"]
    # Passkeys synchronized between devices do not count signatures: both counters are 0 then.
    copied = count <= before and (count, before) != (0, 0)
    used_since = passkey.last_used_at is not None and passkey.last_used_at >= begun
    if copied or used_since:
        return False
    passkey.data["sign_count"], passkey.last_used_at = count, now
    passkey.save()
    return True


def _passkeys(user: User) -> Any:
    return Authenticator.objects.filter(user=user, type=Authenticator.Type.WEBAUTHN)


def _note_beginning(request: HttpRequest, now: datetime) -> None:
    request.session[_BEGUN] = now.isoformat()


def _beginning(request: HttpRequest, now: datetime) -> datetime | None:
    """Take from the session when its registration or sign-in began; None without one or when it is too old."""
    begun = request.session.pop(_BEGUN, None)
    moment = datetime.fromisoformat(begun) if begun else None
    return moment if moment and now - moment <= CEREMONY_WITHIN else None


def _read(credential: str) -> dict[str, Any]:
    answer = json.loads(credential[: MAX_CREDENTIAL_CHARACTERS + 1])
    if not isinstance(answer, dict):
        raise ValueError("no answer of a browser")
    return answer
