"""Session store, authentication backend and middleware that read a session and its user in one query.

Django's own engine reads the session, then the user; at two requests per label that is the first cost to trim. The
checks stay the same: expiry, the session's signature, the user being active, and the hash that ends every session
when a password changes.
"""

from copy import deepcopy
from datetime import timedelta
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.core import signing
from django.core.exceptions import ValidationError
from django.db.models import CharField, DateTimeField, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin
from django.utils.functional import SimpleLazyObject

from accounts.credentials import renewed_hash
from accounts.devices import describe_user_agent
from accounts.models import UserSession
from accounts.passkeys import passkey_take
from accounts.second_factor import code_take, has_second_factor
from common.database.lookups import Parameter, PreparedLookup

# How long a proof of the right password is valid while its owner looks for the code.
CODE_WITHIN = timedelta(minutes=5)
_PROOF_SALT = "password was right"


class CodeNeeded(ValidationError):
    """The password is right and a second factor is needed. `proof` replaces the password for 5 minutes."""

    def __init__(self, user: User) -> None:
        super().__init__("This account has a second factor: its code is needed too.", "code_needed")
        self.user = user
        self.proof = signing.dumps([user.pk, user.get_session_auth_hash()], salt=_PROOF_SALT)


def _proven_user(username: str | None, proof: str) -> User | None:
    """Return the user of a valid proof, None when it has expired or the password has changed since."""
    try:
        number, known = signing.loads(proof, salt=_PROOF_SALT, max_age=CODE_WITHIN)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=number, username=username, is_active=True).first()
    return user if user is not None and renewed_hash(user, known) else None


class UserBackend(ModelBackend):
    """Authentication backend for every way to sign in: page, dialog, form over a half-drawn outline, and token.

    The user is loaded with the relations that SIGNED_IN_RELATED names.
    """

    def authenticate(self, request: Any, username: str | None = None, password: str | None = None, **extra: Any) -> Any:
        """Return the user, or None. The password alone is enough for accounts without a second factor; others also need
        a code (`otp`) or the response of a passkey (`passkey`): CodeNeeded when neither is given, None when wrong."""
        otp, passkey, proof = (extra.pop(name, "") for name in ("otp", "passkey", "proof"))
        user: Any = _proven_user(username, proof) if proof else super().authenticate(request, username, password)
        if user is None or not has_second_factor(user):
            return user
        if not (otp or passkey):
            raise CodeNeeded(user)
        now = timezone.now()
        if passkey and passkey_take(request, user, credential=passkey, now=now):
            return user
        if otp and code_take(user=user, code=otp, now=now):
            return user
        # The form distinguishes a wrong code from a wrong password; the rate limit counts both alike.
        request.wrong_code = CodeNeeded(user)
        return None

    def get_user(self, user_id: int) -> Any:
        """Return the active user, or None."""
        users = get_user_model()._default_manager.select_related(*settings.SIGNED_IN_RELATED)
        user = users.filter(pk=user_id).first()
        return user if user is not None and self.user_can_authenticate(user) else None


def _compose_current_session() -> QuerySet[UserSession]:
    related = [f"user__{name}" for name in settings.SIGNED_IN_RELATED]
    rows = UserSession.objects.select_related("user", *related)
    return rows.filter(session_key=Parameter("key", CharField()), expire_date__gt=Parameter("now", DateTimeField()))


_current_session = PreparedLookup("current_session", _compose_current_session)


@lru_cache(maxsize=2048)
def _signed_values(session_data: str, salt: str, serializer: Any, *_secrets: str) -> dict[str, Any]:
    """Return the values of a session whose signature is right with these secrets. Callers must not change them."""
    values: dict[str, Any] = signing.loads(session_data, salt=salt, serializer=serializer)
    return values


class SessionStore(DatabaseSessionStore):
    """The database store, with the row's user kept for the middleware."""

    user: AbstractBaseUser | None = None

    @classmethod
    def get_model_class(cls) -> type[UserSession]:
        """Return the session's table."""
        return UserSession

    def _validate_session_key(self, key: str | None) -> bool:
        # Session keys are letters and digits. PostgreSQL refuses some characters that a cookie can hold, such as NUL.
        return bool(super()._validate_session_key(key) and key and key.isalnum())  # type: ignore[misc]

    def _get_session_from_db(self) -> UserSession | None:
        found = _current_session(key=self.session_key, now=timezone.now())
        if not found:
            self._session_key = None
            return None
        self.user = found[0].user
        return found[0]

    def decode(self, session_data: Any) -> dict[str, Any]:
        """Return the session's values. The check of a signature is cached: each request brings the same one."""
        secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
        try:
            return deepcopy(_signed_values(session_data, self.key_salt, self.serializer, *secrets))
        except Exception:  # invalid data gives an empty session
            return super().decode(session_data)

    def create_model_instance(self, data: dict[str, Any]) -> UserSession:
        """Write the user's id beside the session's data."""
        row: Any = super().create_model_instance(data)
        row.user_id = int(data[SESSION_KEY]) if SESSION_KEY in data else None
        written: UserSession = row
        return written


def signed_in_user(request: HttpRequest) -> AbstractBaseUser | AnonymousUser:
    """Return the user of the request's session; anonymous when any check fails."""
    session: Any = request.session
    user_id = session.get(SESSION_KEY)  # loads the row, and with it the user
    user: AbstractBaseUser | None = session.user
    if user_id is None or user is None or str(user.pk) != user_id or not user.is_active:
        return AnonymousUser()
    known = session.get(HASH_SESSION_KEY, "")
    present = renewed_hash(user, known)
    if present is None:
        session.flush()
        return AnonymousUser()
    if present != known:
        # Signed with a former SECRET_KEY: sign with the present one and change the session key, as Django does.
        session.cycle_key()
        session[HASH_SESSION_KEY] = present
    return user


def remember_device(sender: Any, request: HttpRequest, user: Any, **_: Any) -> None:
    """Store the time and the device of the sign-in in a new session, so that its owner recognises it."""
    request.session["since"] = timezone.now().isoformat()
    request.session["device"] = describe_user_agent(request.META.get("HTTP_USER_AGENT", ""))


class SignedInUserMiddleware(MiddlewareMixin):
    """Set `request.user`, which is loaded when first used."""

    def process_request(self, request: HttpRequest) -> None:
        """Set the request's user."""
        user: Any = SimpleLazyObject(lambda: signed_in_user(request))
        request.user = user
