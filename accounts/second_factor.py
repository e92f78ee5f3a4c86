"""The optional second factor: a code that changes every half minute (RFC 6238), or one of ten recovery codes.

A stolen table opens nothing: the secret is encrypted with SECRET_KEY, recovery codes are kept as hashes. A code is
taken once, and after ten wrong ones in a row no code of the account is taken for an hour, from wherever it comes.
"""

import base64
import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyotp
import segno
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from accounts.models import RecoveryCode, SecondFactor
from common.errors import Conflict, InvalidInput
from common.ids import ALPHABET

RECOVERY_CODES = 10
MOST_WRONG = 10
CLOSED_FOR = timedelta(hours=1)
SET_UP_WITHIN = timedelta(minutes=30)
STEP_SECONDS = 30
_SALT = "second factor being set up"


@dataclass(frozen=True, slots=True)
class Enrolment:
    """What the set-up page shows. `signed` comes back with the first code: nothing is kept before it fits."""

    secret: str
    signed: str
    picture: str  # the QR code, as the address of an SVG picture

    @property
    def spoken(self) -> str:
        """Return the secret in groups of four, for typing."""
        return " ".join(self.secret[at : at + 4] for at in range(0, len(self.secret), 4))


def enrolment(user: User, signed: str = "") -> Enrolment:
    """Return a new secret for `user`, or the one in `signed` while it is still good."""
    secret = _being_set_up(user, signed) or pyotp.random_base32()
    uri = pyotp.TOTP(secret).provisioning_uri(name=user.get_username(), issuer_name="Unanimous")
    # Dark on light with its margin, whatever the page's colours: scanners need it.
    picture = segno.make(uri, error="m").svg_data_uri(scale=4, light="white", border=4)
    return Enrolment(secret, signing.dumps([user.pk, secret], salt=_SALT), picture)


def _being_set_up(user: User, signed: str) -> str | None:
    try:
        owner, secret = signing.loads(signed, salt=_SALT, max_age=SET_UP_WITHIN)
    except signing.BadSignature:
        return None
    return str(secret) if owner == user.pk else None


@transaction.atomic
def second_factor_turn_on(*, user: User, signed: str, code: str, now: datetime) -> list[str]:
    """Ask for a code at every sign-in from now on, and return the recovery codes, which are shown once.

    InvalidInput (`wrong_code`) when `code` is not that of the secret in `signed`; Conflict (`turned_on`) when it is on
    already, so that the same form sent again neither changes nor shows anything.
    """
    secret = _being_set_up(user, signed)
    step = _step_of(secret, code, now) if secret else None
    if secret is None or step is None:
        words = _("This is not the code of this moment. Check the time on your device and type the next code.")
        raise InvalidInput(words, "wrong_code", field="code")
    values = {"secret": _encrypted(secret), "last_step": step, "wrong": 0, "turned_on_at": now}
    if not SecondFactor.objects.get_or_create(user=user, defaults=values)[1]:
        raise _shown_already("turned_on")
    return _new_recovery_codes(user)


@transaction.atomic
def recovery_codes_renew(*, user: User, newest: int) -> list[str]:
    """Replace the account's recovery codes and return the new ones, which are shown once.

    `newest` is that of the codes to be replaced (`newest_recovery_code`). Conflict (`renewed`) when these are not the
    present ones, for the same form sent again would take away what was just printed; `turned_off` without the factor.
    """
    if not SecondFactor.objects.select_for_update().filter(user=user):
        raise Conflict(_("The second factor is off: there are no codes to renew."), "turned_off")
    if newest != newest_recovery_code(user):
        raise _shown_already("renewed")
    return _new_recovery_codes(user)


def recovery_codes_left(user: User) -> int:
    """Return how many recovery codes the account has not used."""
    return RecoveryCode.objects.filter(user=user).count()


def newest_recovery_code(user: User) -> int:
    """Return a number that is another one after every renewal; 0 without a code."""
    return RecoveryCode.objects.filter(user=user).aggregate(newest=Max("pk"))["newest"] or 0


def _shown_already(code: str) -> Conflict:
    words = _(
        "This was done before, and the recovery codes were shown then; nothing was changed now. If you have not kept "
        "them, make new ones here."
    )
    return Conflict(words, code)


def _new_recovery_codes(user: User) -> list[str]:
    codes = ["-".join(_random(4) for _part in range(3)) for _code in range(RECOVERY_CODES)]
    RecoveryCode.objects.filter(user=user).delete()
    RecoveryCode.objects.bulk_create(RecoveryCode(user=user, digest=_digest(code)) for code in codes)
    return codes


@transaction.atomic
def second_factor_turn_off(*, user: User) -> None:
    """Ask for the password alone from now on."""
    SecondFactor.objects.filter(user=user).delete()
    RecoveryCode.objects.filter(user=user).delete()


def has_second_factor(user: Any) -> bool:
    """Say whether signing in takes a code."""
    return SecondFactor.objects.filter(user=user).exists()


@transaction.atomic
def code_take(*, user: User, code: str, now: datetime) -> bool:
    """Say whether `code` is the account's at this moment, and use it up."""
    factor = SecondFactor.objects.select_for_update().get(user=user)
    if factor.wrong >= MOST_WRONG and factor.wrong_at and now < factor.wrong_at + CLOSED_FOR:
        return False
    fits = _take_step(factor, code, now) or _take_recovery_code(user, code)
    factor.wrong = 0 if fits else _wrong_so_far(factor, now) + 1
    factor.wrong_at = None if fits else now
    factor.save()
    return fits


def _wrong_so_far(factor: SecondFactor, now: datetime) -> int:
    """Return the count of wrong codes, begun anew when the last one is long ago."""
    return factor.wrong if factor.wrong_at and now < factor.wrong_at + CLOSED_FOR else 0


def _take_step(factor: SecondFactor, code: str, now: datetime) -> bool:
    try:
        secret = _keys().decrypt(factor.secret.encode()).decode()
    except InvalidToken:
        # The SECRET_KEY it was encrypted with is gone: recovery codes still work.
        return False
    step = _step_of(secret, code, now)
    if step is None or step <= factor.last_step:
        return False
    factor.last_step = step
    # Under the present SECRET_KEY from now on: a former one is only good until each has been used once.
    factor.secret = _encrypted(secret)
    return True


def _step_of(secret: str, code: str, now: datetime) -> int | None:
    """Return the half minute `code` belongs to: the present one or one beside it; None for any other code."""
    typed = "".join(code.split())
    present = int(now.timestamp()) // STEP_SECONDS
    totp = pyotp.TOTP(secret)
    steps = (present, present - 1, present + 1)
    return next((step for step in steps if secrets.compare_digest(_code(totp, step), typed.encode())), None)


def _code(totp: pyotp.TOTP, step: int) -> bytes:
    return totp.at(step * STEP_SECONDS).encode()


def _take_recovery_code(user: User, code: str) -> bool:
    used, _tables = RecoveryCode.objects.filter(user=user, digest=_digest(code)).delete()
    return used == 1


def _digest(code: str) -> str:
    plain = "".join(each for each in code.upper() if each in ALPHABET)
    return hashlib.sha256(plain.encode()).hexdigest()


def _random(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def _keys() -> MultiFernet:
    return MultiFernet([_fernet(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _fernet(key: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(b"second factor:" + key.encode()).digest()))


def _encrypted(secret: str) -> str:
    return _keys().encrypt(secret.encode()).decode()
