"""Authentication of API calls: the session of the page, or a token."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import CharField, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import authentication, exceptions
from rest_framework.request import Request

from accounts.credentials import renewed_hash
from accounts.models import ApiToken
from common.audit.origin import TOKEN_SCHEMES
from common.database.lookups import Parameter, PreparedLookup

TOKEN_LIFETIME = timedelta(days=90)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def issue_token(user: User, *, now: datetime) -> str:
    """Make a token for `user`, valid for 90 days or until the password changes; it is shown once, kept as a hash."""
    token = secrets.token_urlsafe(32)
    ApiToken.objects.create(
        user=user,
        digest=_digest(token),
        auth_hash=user.get_session_auth_hash(),
        created_at=now,
        expires_at=now + TOKEN_LIFETIME,
    )
    return token


def revoke_token(token_id: int) -> None:
    """End the token with this number, whether or not it is over already; other tokens of the account go on."""
    ApiToken.objects.filter(pk=token_id).delete()


def _compose_token_with_user() -> QuerySet[ApiToken]:
    related = [f"user__{name}" for name in settings.SIGNED_IN_RELATED]
    return ApiToken.objects.select_related("user", *related).filter(digest=Parameter("digest", CharField()))


_token_with_user = PreparedLookup("token_with_user", _compose_token_with_user)


def _counts(token: ApiToken, *, now: datetime) -> bool:
    if token.expires_at <= now or not token.user.is_active:
        return False
    present = renewed_hash(token.user, token.auth_hash)
    if present is not None and present != token.auth_hash:
        ApiToken.objects.filter(pk=token.pk).update(auth_hash=present)
    return present is not None


def _unused_view(_: HttpRequest) -> HttpResponse:
    return HttpResponse()


_CSRF_CHECK = authentication.CSRFCheck(_unused_view)


class SessionAuthentication(authentication.SessionAuthentication):
    """The signed-in session, CSRF checked; a stranger gets 401, so that a page can offer to sign in again."""

    def enforce_csrf(self, request: Request) -> None:
        """As the framework does, with one check for all requests; the site's middleware has read the cookie."""
        if reason := _CSRF_CHECK.process_view(request, _unused_view, (), {}):
            raise exceptions.PermissionDenied(f"CSRF Failed: {reason}")

    def authenticate_header(self, request: Request) -> str:
        """Make the answer to strangers 401, not 403."""
        return "Session"


class TokenAuthentication(authentication.BaseAuthentication):
    """`Authorization: Token …`, or `Bearer …`, which many HTTP clients write by themselves."""

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        """Return the user and the token; None when no token was sent."""
        scheme, _, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() not in TOKEN_SCHEMES:
            return None
        found = _token_with_user(digest=_digest(token.strip()))
        if not found or not _counts(found[0], now=timezone.now()):
            raise exceptions.AuthenticationFailed("This token is not valid. Create a new one.")
        return found[0].user, found[0]

    def authenticate_header(self, request: Request) -> str:
        """Name the scheme in a 401."""
        return "Token"


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the schema names the session."""

    target_class = "accounts.tokens.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the OpenAPI security scheme."""
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the schema names the token."""

    target_class = "accounts.tokens.TokenAuthentication"
    match_subclasses = True
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the OpenAPI security scheme."""
        return {"type": "apiKey", "in": "header", "name": "Authorization", "description": "Token … or Bearer …"}
