"""Rate limits against guessing: ten wrong passwords, codes or links from one IP address cause a lockout of one hour.

An IP address may also fail with at most ten accounts a minute and thirty an hour, so that nobody tries one password
with every name, while an office whose people mistype their names can go on. A successful sign-in clears the failures
of that account alone: an attacker cannot clear failures with other names by it. A signed-in person who confirms
something is never refused because of others at the same address.

Links are too long to be guessed: a valid link works whatever was tried before, so that nobody can block it for people
who share an IP address. Letters are counted apart from links: by recipient, and by the account or IP address.
"""

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.handlers.proxy import AxesProxyHandler
from axes.models import AccessAttempt
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.db.models import Max, Q
from django.http import HttpRequest
from django.utils import timezone

from accounts.session_store import CodeNeeded
from common.audit.origin import place_of
from common.log_mask import mask
from common.web.client_address import client_address

# Counted under names that no account can have: user names cannot hold a blank.
LINKS = "any link"
LETTERS = "any letter"
_LETTERS_TO, _LETTERS_OF = "letters to ", "letters of "
# The names under which links and letters are counted, not accounts.
_NO_NAMES = Q(username__in=[LINKS, LETTERS]) | Q(username__startswith=_LETTERS_TO) | Q(username__startswith=_LETTERS_OF)
MAX_TRIES = 10
# Accounts with which one IP address may fail without a successful sign-in: within an hour, and within a minute.
MAX_NAMES_PER_HOUR = 30
MAX_NAMES_PER_MINUTE = 10
_MINUTE = timedelta(minutes=1)
_IPV6_SHARED_BITS = 64
# Letters requested from one IP address, which many people may share, to any recipients.
MAX_LETTERS = 100
MAX_LETTERS_PER_RECIPIENT = 5


def allowed_tries(_: HttpRequest, credentials: Mapping[str, Any] | None) -> int:
    """Return how many tries of a kind, letters too, an IP address has in an hour; for AXES_FAILURE_LIMIT."""
    kind = str((credentials or {}).get("username") or "")
    if kind == LETTERS:
        return MAX_LETTERS
    return MAX_LETTERS_PER_RECIPIENT if kind.startswith(_LETTERS_TO) else MAX_TRIES


class SignInGuard(AxesDatabaseHandler):  # type: ignore[misc]
    """django-axes handler that counts failures per name and IP address, and failed names per IP address."""

    def is_locked(self, request: Any, credentials: Any = None) -> bool:
        """Say whether the IP address is locked out for this name, or for every name that has not failed yet."""
        return super().is_locked(request, credentials) or too_many_names(request, credentials) > 0

    def user_login_failed(self, sender: Any, credentials: Any, request: Any = None, **kwargs: Any) -> None:
        """Count the failure. The path in its record is masked, so that it keeps no secret of a link."""
        if request is not None:
            request.axes_path_info = mask(request.axes_path_info)
        super().user_login_failed(sender, credentials, request, **kwargs)


def too_many_names(request: Any, credentials: Mapping[str, Any] | None) -> int:
    """Return the limit that other names, which failed from the request's IP address, have reached; or 0.

    MAX_NAMES_PER_HOUR locks out for an hour, MAX_NAMES_PER_MINUTE for a minute.
    """
    name = str((credentials or {}).get("username") or "")
    place = request.axes_ip_address
    user = getattr(request, "user", None)
    if not place or is_of_letters(name) or name == LINKS or (user is not None and user.get_username() == name):
        return 0
    tries = AccessAttempt.objects.filter(ip_address=place, attempt_time__gte=get_cool_off_threshold(request))
    others = tries.exclude(_NO_NAMES).exclude(username=name)
    last_tried = others.values_list("username").annotate(Max("attempt_time"))
    failed = [moment for _, moment in last_tried]
    if len(failed) >= MAX_NAMES_PER_HOUR:
        return MAX_NAMES_PER_HOUR
    lately = sum(moment >= timezone.now() - _MINUTE for moment in failed)
    return MAX_NAMES_PER_MINUTE if lately >= MAX_NAMES_PER_MINUTE else 0


def counted_address(request: HttpRequest) -> str | None:
    """Return the IP address under which failures are counted; for AXES_CLIENT_IP_CALLABLE.

    The 2**64 addresses of an IPv6 network count as one.
    """
    address = client_address(request)
    try:
        parsed = ip_address(address or "")
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped or ip_network((parsed, _IPV6_SHARED_BITS), strict=False).network_address)
    return str(parsed)


def logged_client(_username: str, address: str | None, *_: Any) -> str:
    """Return the pseudonym of an IP address for the log of failed sign-ins; it never holds a user name or a path."""
    return f"place {place_of(address)}" if address else "a local socket"


def is_of_letters(kind: str) -> bool:
    """Say whether letters are counted under this name."""
    return kind == LETTERS or kind.startswith((_LETTERS_TO, _LETTERS_OF))


def count_wrong_link(request: HttpRequest) -> None:
    """Count an invalid link; after too many of them the middleware answers 429."""
    if _is_open(request, LINKS):
        _count(request, LINKS)


def may_send_letter(request: HttpRequest, address: str) -> bool:
    """Say whether another letter to `address` may be requested; if not, the middleware answers 429."""
    return all(_is_open(request, kind) for kind in _letters(request, address))


def count_letter(request: HttpRequest, address: str) -> None:
    """Count a requested letter, so that nobody is flooded with letters."""
    guarded: Any = request
    for kind in _letters(request, address):
        _count(request, kind)
        guarded.axes_locked_out = False  # the last allowed letter is sent too


def _letters(request: HttpRequest, address: str) -> list[str]:
    """Return the names under which a letter counts: its recipient, and the requesting account or IP address."""
    digest = hashlib.sha256(address.strip().lower().encode()).hexdigest()
    asks = f"{_LETTERS_OF}{request.user.pk}" if request.user.is_authenticated else LETTERS
    return [f"{_LETTERS_TO}{digest}", asks]


def _is_open(request: HttpRequest, kind: str) -> bool:
    credentials = {"username": kind}
    if AxesProxyHandler.is_allowed(request, credentials):
        return True
    guarded: Any = request
    guarded.axes_locked_out, guarded.axes_credentials = True, credentials
    return False


def _count(request: HttpRequest, kind: str) -> None:
    AxesProxyHandler.user_login_failed(__name__, {"username": kind}, request)


def password_matches(request: HttpRequest, user: User, password: str) -> bool:
    """Say whether `password` is that of the signed-in `user`; wrong ones count towards the lockout, as at sign-in."""
    try:
        return authenticate(request, username=user.get_username(), password=password) == user
    except CodeNeeded:
        # The password was right; a signed-in user gave the second factor at sign-in.
        return True
