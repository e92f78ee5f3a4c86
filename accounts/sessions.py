"""Lists and ends an account's own sessions and API tokens."""

import hashlib
from datetime import datetime
from typing import Any

from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.auth.models import User
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from accounts.credentials import renewed_hash
from accounts.models import ApiToken, UserSession
from common.errors import NotFound


def _handle(session: UserSession) -> str:
    return hashlib.sha256(session.session_key.encode()).hexdigest()[:24]


def sessions_of(user: User, *, here: str | None, now: datetime) -> list[dict[str, Any]]:
    """Return the user's valid sessions, the present one (`here`) first, then the newest; `handle` identifies a session
    without revealing its key."""
    found = []
    for row in UserSession.objects.filter(user=user, expire_date__gt=now).order_by("-expire_date"):
        data = {name: str(value) for name, value in row.get_decoded().items()}
        if renewed_hash(user, data.get(HASH_SESSION_KEY, "")) is not None:
            told = {
                "handle": _handle(row),
                "device": data.get("device", ""),
                "since": parse_datetime(data.get("since", "")),
            }
            found.append(told | {"ends": row.expire_date, "here": row.session_key == here})
    return sorted(found, key=lambda each: not each["here"])


def session_end(*, user: User, handle: str, now: datetime) -> None:
    """End one of the user's sessions; NotFound when it is not valid."""
    found = next(
        (row for row in UserSession.objects.filter(user=user, expire_date__gt=now) if _handle(row) == handle), None
    )
    if found is None:
        raise NotFound(_("This session is over already."), "not_found")
    found.delete()


def sessions_end_others(*, user: User, here: str | None) -> int:
    """End all of the user's sessions but this one. Returns how many."""
    return UserSession.objects.filter(user=user).exclude(session_key=here).delete()[0]


def tokens_of(user: User, *, now: datetime) -> list[ApiToken]:
    """Return the user's valid tokens, newest first."""
    rows = ApiToken.objects.filter(user=user, expires_at__gt=now).order_by("-created_at", "-pk")
    return [row for row in rows if renewed_hash(user, row.auth_hash) is not None]


def token_revoke(*, user: User, token_id: int) -> None:
    """End one of the user's tokens; NotFound when it is not valid."""
    if not ApiToken.objects.filter(user=user, pk=token_id).delete()[0]:
        raise NotFound(_("This token is over already."), "not_found")
