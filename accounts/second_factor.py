"""The optional second factor: a passkey or the code of an authenticator app (RFC 6238), or one of ten recovery codes.

django-allauth stores each passkey and app in a row (`Authenticator`), and all recovery codes in one more, which every
account with a factor has. This module adds what the library leaves out (decision 29). The database holds the time step
of the last code used, so that no process accepts that code or an earlier one; recovery codes are stored as hashes; and
after ten wrong codes in a row no code of the account is accepted for an hour, from any IP address.
"""

import base64
import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from cryptography.fernet import InvalidToken
from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction
from django.utils.crypto import constant_time_compare, get_random_string
from django.utils.translation import gettext as _

from common.errors import Conflict, InvalidInput
from common.ids import ALPHABET

RECOVERY_CODES = 10
MAX_WRONG_CODES = 10
CLOSED_FOR = timedelta(hours=1)
SET_UP_WITHIN = timedelta(minutes=30)
STEP_SECONDS = 30
_SALT = "second factor being set up"
_Type = Authenticator.Type


class HashedRecoveryCodes(RecoveryCodes):  # type: ignore[misc]
    """The library's recovery codes, each stored as its SHA-256: unreadable, and valid even when SECRET_KEY is lost."""

    def _get_migrated_codes(self) -> list[str]:
        return list(self.instance.data["migrated_codes"])


@dataclass(frozen=True, slots=True)
class Enrolment:
    """The contents of the set-up page. The form returns `signed` with the first code; nothing is stored before."""

    secret: str
    signed: str
    picture: str  # the QR code, as the address of an SVG picture

    @property
    def spoken(self) -> str:
        """Return the secret in groups of four, for typing."""
        return " ".join(self.secret[at : at + 4] for at in range(0, len(self.secret), 4))


def enrolment(user: User, signed: str = "") -> Enrolment:
    """Return a new secret for `user`, or the one in `signed` while it is still good."""
    secret = _being_set_up(user, signed) or generate_totp_secret()
    adapter = get_adapter()
    picture = adapter.build_totp_svg(adapter.build_totp_url(user, secret)).encode()
    address = f"data:image/svg+xml;base64,{base64.b64encode(picture).decode()}"
    return Enrolment(secret, signing.dumps([user.pk, secret], salt=_SALT), address)


def _being_set_up(user: User, signed: str) -> str | None:
    try:
        owner, secret = signing.loads(signed, salt=_SALT, max_age=SET_UP_WITHIN)
    except signing.BadSignature:
        return None
    return str(secret) if owner == user.pk else None


@transaction.atomic
def second_factor_turn_on(*, user: User, signed: str, code: str, now: datetime) -> list[str]:
    """Turn the authenticator app on. Returns the recovery codes, which are displayed once; none where the account has
    some from another factor.

    InvalidInput (`wrong_code`) when `code` does not match the secret in `signed`; Conflict (`turned_on`) when the app
    is on, so that a repeated form neither changes nor reveals anything.
    """
    secret = _being_set_up(user, signed)
    step = _step_of(secret, code, now) if secret else None
    if secret is None or step is None:
        words = _("This is not the code of this moment. Check the time on your device and type the next code.")
        raise InvalidInput(words, "wrong_code", field="code")
    lock_factors(user)
    if _factors(user).filter(type=_Type.TOTP).exists():
        raise _recovery_codes_conflict("turned_on")
    app = TOTP.activate(user, secret).instance
    app.data["last_step"] = step
    app.save()
    return recovery_codes_begin(user)


def lock_factors(user: User) -> None:
    """Lock the account's factors: no other transaction adds or removes one before this transaction ends."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)


def recovery_codes_begin(user: User) -> list[str]:
    """Create recovery codes for an account with its first factor, and return them; return none where it has some."""
    if _factors(user).filter(type=_Type.RECOVERY_CODES).exists():
        return []
    codes = _new_codes()
    data = {"migrated_codes": [_digest(code) for code in codes], "edition": 1, "wrong": 0, "wrong_at": None}
    Authenticator.objects.create(user=user, type=_Type.RECOVERY_CODES, data=data)
    return codes


@transaction.atomic
def recovery_codes_renew(*, user: User, newest: int) -> list[str]:
    """Replace the account's recovery codes and return the new ones, which are displayed once.

    `newest` is the edition of the codes to be replaced (`newest_recovery_codes`). Conflict (`renewed`) when it is not
    the present edition: a repeated form would replace the codes that the user has just printed. Conflict
    (`turned_off`) without a factor.
    """
    row = _locked_recovery_codes(user)
    if row is None:
        raise Conflict(_("The second factor is off: there are no codes to renew."), "turned_off")
    if newest != row.data["edition"]:
        raise _recovery_codes_conflict("renewed")
    codes = _new_codes()
    row.data |= {"migrated_codes": [_digest(code) for code in codes], "edition": newest + 1}
    row.save()
    return codes


def recovery_codes_left(user: User) -> int:
    """Return how many recovery codes the account has not used."""
    row = _factors(user).filter(type=_Type.RECOVERY_CODES).first()
    return len(row.data["migrated_codes"]) if row else 0


def newest_recovery_codes(user: User) -> int:
    """Return the edition of the recovery codes, a number that changes with every renewal; 0 without recovery codes."""
    row = _factors(user).filter(type=_Type.RECOVERY_CODES).first()
    return int(row.data["edition"]) if row else 0


def _recovery_codes_conflict(code: str) -> Conflict:
    words = _(
        "This was done before, and the recovery codes were shown then; nothing was changed now. If you have not kept "
        "them, make new ones here."
    )
    return Conflict(words, code)


def _new_codes() -> list[str]:
    return ["-".join(get_random_string(4, ALPHABET) for _part in range(3)) for _code in range(RECOVERY_CODES)]


@transaction.atomic
def authenticator_app_remove(*, user: User) -> bool:
    """Remove the authenticator app. Returns whether another second factor is left."""
    lock_factors(user)
    return factors_remove(user, _factors(user).filter(type=_Type.TOTP))


def factors_remove(user: User, factors: Any) -> bool:
    """Delete these rows, and with the last factor the recovery codes. Returns whether a factor is left."""
    factors.delete()
    left = has_second_factor(user)
    if not left:
        _factors(user).delete()
    return left


@transaction.atomic
def second_factor_turn_off(*, user: User) -> None:
    """Remove all second factors: from now on the password alone is enough."""
    _factors(user).delete()


def has_second_factor(user: Any) -> bool:
    """Say whether signing in takes more than the password."""
    return bool(_factors(user).exclude(type=_Type.RECOVERY_CODES).exists())


def has_authenticator_app(user: User) -> bool:
    """Say whether an authenticator app is on."""
    return bool(_factors(user).filter(type=_Type.TOTP).exists())


@transaction.atomic
def code_take(*, user: User, code: str, now: datetime) -> bool:
    """Say whether `code` is valid for the account now, and use it up."""
    row = _locked_recovery_codes(user)
    if row is None or (_wrong_so_far(row, now) >= MAX_WRONG_CODES):
        return False
    codes = HashedRecoveryCodes(row)
    fits = _take_step(user, code, now) or codes.validate_code(_digest(code))
    # The library has read the row again where it used up a recovery code.
    row = codes.instance
    row.data |= {"wrong": 0 if fits else _wrong_so_far(row, now) + 1, "wrong_at": None if fits else now.timestamp()}
    row.save()
    return fits


def _wrong_so_far(row: Any, now: datetime) -> int:
    """Return the count of wrong codes, restarted when the last one is long ago."""
    last = row.data["wrong_at"]
    return int(row.data["wrong"]) if last and now.timestamp() < last + CLOSED_FOR.total_seconds() else 0


def _take_step(user: User, code: str, now: datetime) -> bool:
    app = _factors(user).filter(type=_Type.TOTP).first()
    if app is None:
        return False
    try:
        secret = get_adapter().decrypt(app.data["secret"])
    except InvalidToken:
        # The SECRET_KEY it was encrypted with is gone: recovery codes still work.
        return False
    step = _step_of(secret, code, now)
    if step is None or step <= app.data["last_step"]:
        return False
    # Encrypted with the present SECRET_KEY from now on: a former key is needed only until each app was used once.
    app.data |= {"last_step": step, "secret": get_adapter().encrypt(secret)}
    app.last_used_at = now
    app.save()
    return True


def _step_of(secret: str, code: str, now: datetime) -> int | None:
    """Return the 30-second step `code` belongs to: the present one or one beside it; None for any other code."""
    typed, present = "".join(code.split()), int(now.timestamp()) // STEP_SECONDS
    codes = {step: format_hotp_value(hotp_value(secret, step)) for step in (present, present - 1, present + 1)}
    return next((step for step, each in codes.items() if constant_time_compare(each, typed)), None)


def _factors(user: User) -> Any:
    return Authenticator.objects.filter(user=user)


def _locked_recovery_codes(user: User) -> Any:
    return _factors(user).select_for_update().filter(type=_Type.RECOVERY_CODES).first()


def _digest(code: str) -> str:
    plain = "".join(each for each in code.upper() if each in ALPHABET)
    return hashlib.sha256(plain.encode()).hexdigest()
