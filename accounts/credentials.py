"""Sessions and API tokens: checks that the password has not changed since, and deletes expired or revoked ones."""

from datetime import datetime, timedelta

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib.auth.base_user import AbstractBaseUser
from django.utils.crypto import constant_time_compare

from accounts.models import ApiToken, UserSession
from common.models import AuditPlace

ACCESS_KEPT = timedelta(days=90)
_ACCESS_TABLES = (AccessAttempt, AccessLog, AccessFailureLog)


def renewed_hash(user: AbstractBaseUser, known: str) -> str | None:
    """Return the session hash of the user's present password, None when `known` belongs to another password.

    It differs from `known` when that was made with one of SECRET_KEY_FALLBACKS; store the returned one instead.
    """
    present = user.get_session_auth_hash()
    accepted = [present, *user.get_session_auth_fallback_hash()]
    return present if any(constant_time_compare(known, each) for each in accepted) else None


def credentials_purge(*, now: datetime) -> int:
    """Delete expired sessions and tokens, and after 90 days the records of sign-ins (with their IP addresses) and the
    address digests of audited actions. Returns how many rows."""
    old = now - ACCESS_KEPT
    over = (
        UserSession.objects.filter(expire_date__lte=now),
        ApiToken.objects.filter(expires_at__lte=now),
        AuditPlace.objects.filter(noted_at__lte=old),
        *(table.objects.filter(attempt_time__lte=old) for table in _ACCESS_TABLES),
    )
    return sum(rows.delete()[0] for rows in over)


def credentials_revoke(user: AbstractBaseUser, *, but_session: str | None = None) -> None:
    """End the account's tokens and its sessions, except the session with this key."""
    UserSession.objects.filter(user_id=user.pk).exclude(session_key=but_session).delete()
    ApiToken.objects.filter(user_id=user.pk).delete()


def sign_in_log_delete(username: str) -> None:
    """Delete the records of this account's sign-ins."""
    for table in _ACCESS_TABLES:
        table.objects.filter(username=username).delete()
