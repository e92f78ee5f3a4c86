"""Signing in at the price of one query: the session row is read together with its user.

Django's own engine reads the session, then the user; at two requests per label that is the first cost to trim. What
is checked stays the same: expiry, the session's signature, the user being active, and the hash that ends every
session when a password changes.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.functional import SimpleLazyObject

from common.models import UserSession


class UserBackend(ModelBackend):
    """Passwords as Django checks them; the user comes with what SIGNED_IN_RELATED names."""

    def get_user(self, user_id: int) -> Any:
        """Return the active user, or None."""
        users = get_user_model()._default_manager.select_related(*settings.SIGNED_IN_RELATED)
        user = users.filter(pk=user_id).first()
        return user if user is not None and self.user_can_authenticate(user) else None


class SessionStore(DatabaseSessionStore):
    """The database store, with the row's user kept for the middleware."""

    user: AbstractBaseUser | None = None

    @classmethod
    def get_model_class(cls) -> type[UserSession]:
        """Return the session's table."""
        return UserSession

    def _get_session_from_db(self) -> UserSession | None:
        related = [f"user__{name}" for name in settings.SIGNED_IN_RELATED]
        row = (
            UserSession.objects.select_related("user", *related)
            .filter(session_key=self.session_key, expire_date__gt=timezone.now())
            .first()
        )
        if row is None:
            self._session_key = None
            return None
        self.user = row.user
        return row

    def create_model_instance(self, data: dict[str, Any]) -> UserSession:
        """Write the user's id beside the session's data."""
        row = super().create_model_instance(data)
        row.user_id = int(data[SESSION_KEY]) if SESSION_KEY in data else None
        return row


def signed_in_user(request: HttpRequest) -> AbstractBaseUser | AnonymousUser:
    """Return the user of the request's session; anonymous when anything does not fit."""
    session: Any = request.session
    user_id = session.get(SESSION_KEY)  # loads the row, and with it the user
    user = session.user
    if user_id is None or user is None or str(user.pk) != user_id or not user.is_active:
        return AnonymousUser()
    known = session.get(HASH_SESSION_KEY, "")
    accepted = [user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()]
    if not any(constant_time_compare(known, each) for each in accepted):
        session.flush()
        return AnonymousUser()
    return user


class SignedInUserMiddleware:
    """Put `request.user` there, read when first asked for."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.user = SimpleLazyObject(lambda: signed_in_user(request))
        return self.get_response(request)
