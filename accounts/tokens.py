"""API tokens, and the authentication of API calls by the session of the page or by a token."""

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
    """Issue a token for `user`, valid for 90 days or until the password changes; only its hash is stored."""
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
    """End the token with this number, whether or not it has expired; other tokens of the account stay valid."""
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
    """Authentication by session, with CSRF check; without a session the answer is 401: pages offer to sign in."""

    def enforce_csrf(self, request: Request) -> None:
        """Check CSRF as the framework does, with one check object for all requests; middleware has read the cookie."""
        if reason := _CSRF_CHECK.process_view(request, _unused_view, (), {}):
            raise exceptions.PermissionDenied(f"CSRF Failed: {reason}")

    def authenticate_header(self, request: Request) -> str:
        """Return a scheme, which makes the answer to unauthenticated calls 401 instead of 403."""
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
    """OpenAPI description of the authentication by session."""

    target_class = "accounts.tokens.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the OpenAPI security scheme."""
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """OpenAPI description of the authentication by token."""

    target_class = "accounts.tokens.TokenAuthentication"
    match_subclasses = True
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the OpenAPI security scheme."""
        return {"type": "apiKey", "in": "header", "name": "Authorization", "description": "Token … or Bearer …"}
