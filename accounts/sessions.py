"""An account's own sessions: listing and ending them."""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from accounts.credentials import renewed_hash
from accounts.models import ApiToken, UserSession
from common.errors import NotFound


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A session as its owner sees it; `handle` names it without being the key that opens it."""

    handle: str
    device: str
    since: datetime | None
    ends: datetime
    here: bool


def _handle(session: UserSession) -> str:
    return hashlib.sha256(session.session_key.encode()).hexdigest()[:24]


def sessions_of(user: User, *, here: str | None, now: datetime) -> list[SignedIn]:
    """Return the user's sessions that still open something, this one (`here`) first, then the newest."""
    found = [_shown(row, here) for row in _rows(user, now) if _opens(row, user)]
    return sorted(found, key=lambda each: (not each.here, -each.ends.timestamp()))


def _rows(user: User, now: datetime) -> list[UserSession]:
    return list(UserSession.objects.filter(user=user, expire_date__gt=now))


def _opens(row: UserSession, user: User) -> bool:
    return renewed_hash(user, str(row.get_decoded().get("_auth_user_hash", ""))) is not None


def _shown(row: UserSession, here: str | None) -> SignedIn:
    data = row.get_decoded()
    since = parse_datetime(str(data.get("since", "")))
    return SignedIn(_handle(row), str(data.get("device", "")), since, row.expire_date, row.session_key == here)


def session_end(*, user: User, handle: str, now: datetime) -> None:
    """End one of the user's sessions; NotFound when it is over already."""
    found = next((row for row in _rows(user, now) if _handle(row) == handle), None)
    if found is None:
        raise NotFound(_("This session is over already."), "not_found")
    found.delete()


def sessions_end_others(*, user: User, here: str | None) -> int:
    """End all of the user's sessions but this one. Returns how many."""
    return UserSession.objects.filter(user=user).exclude(session_key=here).delete()[0]


def tokens_of(user: User, *, now: datetime) -> list[ApiToken]:
    """Return the user's tokens that still open something, newest first."""
    rows = ApiToken.objects.filter(user=user, expires_at__gt=now).order_by("-created_at", "-pk")
    return [row for row in rows if renewed_hash(user, row.auth_hash) is not None]


def token_revoke(*, user: User, token_id: int) -> None:
    """End one of the user's tokens; NotFound when it is over already."""
    if not ApiToken.objects.filter(user=user, pk=token_id).delete()[0]:
        raise NotFound(_("This token is over already."), "not_found")
