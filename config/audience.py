"""Which pages taskers may open (R8): everything else could reveal attackers, targets, answers of models, verdicts or
weeks.

This is the one place that decides it, for pages, feeds, files, releases and the API, by session and by token. An
address that is not named here is refused, so that a new one is closed to taskers until somebody opens it.
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
# The rules and documents as they stand for everybody: they name no attack, no defense and no week.
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
# Ending letters that come to an address of theirs needs no permission.
_OTHERS = {"healthz", "readyz", "metrics", "release-mail-end"}
OPEN_TO_TASKERS = frozenset(_WORK | _CALLS | _ACCOUNT | _DOCUMENTS | _OTHERS)
# The pages in every language of the catalogue: they offer the choice. All others are in English.
TRANSLATED = frozenset(_WORK | _ACCOUNT)


def refusal_for(user: Any, address: ResolverMatch | None) -> NotAllowed | None:
    """Return why `user` may not open `address`; None for what a tasker may, and for everybody else."""
    name = address.url_name if address is not None else None
    if name in OPEN_TO_TASKERS or getattr(user, "tasker", None) is None:
        return None
    words = _("Who labels pictures does not see how attacks and defenses fare. The start page leads to your work.")
    return NotAllowed(words, "not_for_taskers")


def signed_in_refusal(request: Any) -> NotAllowed | None:
    """Return what `refusal_for` says of the session's user, who is read only where it matters."""
    address: ResolverMatch | None = request.resolver_match
    if address is not None and address.url_name in OPEN_TO_TASKERS:
        return None
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return None  # a stranger; reading the session would keep the answer out of every cache between
    return refusal_for(getattr(request, "user", AnonymousUser()), address)


class AudienceTokenAuthentication(tokens.TokenAuthentication):
    """`Authorization: Token …`, which opens to a tasker what the session does."""

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        """Return the user and the token, or None; NotAllowed (`not_for_taskers`)."""
        found = super().authenticate(request)
        if found is not None and (refusal := refusal_for(found[0], request.resolver_match)):
            raise refusal
        return found
