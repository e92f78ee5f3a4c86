"""Access rules for taskers: the pages they may open (R8). Other pages could reveal attackers, targets, predictions,
verdicts or weeks.

Only this module decides it, for pages, feeds, files, releases and the API, by session and by token. An address that
is not named here is refused, so that a new one is closed to taskers until it is added.
"""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.urls import ResolverMatch
from django.utils.translation import gettext as _
from rest_framework.request import Request

from accounts import tokens
from accounts.models import ApiToken
from common.errors import NotAllowed

_WORK = {"home", "label", "instructions", "instructions-news", "picture", "paused", "questions", "learn", "lesson"}
_WORK |= {"qualification", "qualification-picture", "qualification-marks", "qualification-try"}
_WORK |= {"my-work", "my-download", "my-checks", "my-answer", "signing-keys"}
_CALLS = {f"assignment-{name}" for name in ("next", "draft", "heartbeat", "release", "response")}
_CALLS |= {f"qualification-{name}" for name in ("next", "heartbeat", "release", "response")}
_CALLS |= {"token", "me", "preferences", "notices", "notice-seen", "question-ask", "api-policies"}
_ACCOUNT = {"sign-in", "sign-out", "language", "join", "password-reset", "password-reset-confirm", "account"}
_ACCOUNT |= {"account-settings", "account-sessions-end", "account-token-revoke", "account-email"}
_ACCOUNT |= {"account-email-confirm", "account-password", "account-second-factor", "account-delete"}
# The public rules and documents: they name no attack, no defense and no week.
_DOCUMENTS = {
    "rules",
    "policy-version",
    "docs-defenses",
    "kit",
    "docs-status",
    "docs-release-format",
    "docs-verdicts-in-pandas",
    "guide-taskers",
    "api-schema",
    "api-docs",
    "api-client",
    "favicon",
    "api-index",
}
# Anybody may unsubscribe an address from letters.
_OTHERS = {"healthz", "readyz", "metrics", "release-mail-end"}
OPEN_TO_TASKERS = frozenset(_WORK | _CALLS | _ACCOUNT | _DOCUMENTS | _OTHERS)
# The pages in every language of the catalogue: they offer the choice. All others are in English.
TRANSLATED = frozenset(_WORK | _ACCOUNT)


def refusal_for(user: Any, address: ResolverMatch | None) -> NotAllowed | None:
    """Return why `user` may not open `address`; None if a tasker may, and for users who are no taskers."""
    name = address.url_name if address is not None else None
    if name in OPEN_TO_TASKERS or getattr(user, "tasker", None) is None:
        return None
    words = _("Who labels pictures does not see how attacks and defenses fare. The start page leads to your work.")
    return NotAllowed(words, "not_for_taskers")


def signed_in_refusal(request: Any) -> NotAllowed | None:
    """Return `refusal_for` of the session's user; the session is read only where it matters."""
    address: ResolverMatch | None = request.resolver_match
    if address is not None and address.url_name in OPEN_TO_TASKERS:
        return None
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return None  # a stranger; reading the session would make the answer uncacheable
    return refusal_for(getattr(request, "user", AnonymousUser()), address)


class AudienceTokenAuthentication(tokens.TokenAuthentication):
    """Authentication by `Authorization: Token …`, with the same limits for taskers as a session."""

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        """Return the user and the token, or None; NotAllowed (`not_for_taskers`)."""
        found = super().authenticate(request)
        if found is not None and (refusal := refusal_for(found[0], request.resolver_match)):
            raise refusal
        return found
