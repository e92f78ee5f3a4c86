"""What is handed out for a password (sessions, tokens): whether it still counts, and when it is cleared away."""

from datetime import datetime

from django.contrib.auth.base_user import AbstractBaseUser
from django.utils.crypto import constant_time_compare

from common.models import ApiToken, UserSession


def renewed_hash(user: AbstractBaseUser, known: str) -> str | None:
    """Return the hash of the user's present password, None when `known` is that of another password.

    It differs from `known` when that was made with one of SECRET_KEY_FALLBACKS; keep the returned one from then on.
    """
    present = user.get_session_auth_hash()
    accepted = [present, *user.get_session_auth_fallback_hash()]
    return present if any(constant_time_compare(known, each) for each in accepted) else None


def credentials_purge(*, now: datetime) -> int:
    """Delete the sessions and tokens that are over. Returns how many."""
    sessions, _ = UserSession.objects.filter(expire_date__lte=now).delete()
    tokens, _ = ApiToken.objects.filter(expires_at__lte=now).delete()
    return sessions + tokens
