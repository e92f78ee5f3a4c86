"""Limits on guessing: after ten wrong passwords, codes or links from one address, one hour's lockout.

An address may also fail with ten accounts a minute and thirty an hour and no more, so that nobody tries one password
with every name, and an office whose people mistype their names goes on. An account that signs in rightly is not counted
any more: whoever guesses cannot take back what failed with other names. A signed-in person who confirms something is
never refused for what neighbours do.

Links are too long to be guessed: one that works opens whatever was tried before, so that nobody closes it to a house
that shares an address. Letters are counted apart from links: by whom they go to, or by the account that asks.
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

# Counted like accounts that nobody has: user names cannot hold a blank.
LINKS = "any link"
LETTERS = "any letter"
_LETTERS_TO, _LETTERS_OF = "letters to ", "letters of "
# Under these names links and letters are counted, no accounts.
_NO_NAMES = Q(username__in=[LINKS, LETTERS]) | Q(username__startswith=_LETTERS_TO) | Q(username__startswith=_LETTERS_OF)
MOST_TRIES = 10
# Accounts with which one address may fail without signing in rightly: within an hour, and within a minute.
MOST_NAMES = 30
MOST_NAMES_A_MINUTE = 10
_MINUTE = timedelta(minutes=1)
_IPV6_SHARED_BITS = 64
# From one address that many people may share, to whomever they go.
MOST_LETTERS = 100
MOST_LETTERS_TO_ONE = 5


def most_tries(_: HttpRequest, credentials: Mapping[str, Any] | None) -> int:
    """Return how many tries of a kind one address has in an hour; for the setting AXES_FAILURE_LIMIT."""
    kind = str((credentials or {}).get("username") or "")
    if kind == LETTERS:
        return MOST_LETTERS
    return MOST_LETTERS_TO_ONE if kind.startswith(_LETTERS_TO) else MOST_TRIES


class SignInGuard(AxesDatabaseHandler):  # type: ignore[misc]
    """Counts wrong tries for one name from one address, and names that failed from one address."""

    def is_locked(self, request: Any, credentials: Any = None) -> bool:
        """Say whether this name, or every name that has not failed yet, is closed to the request's address."""
        return super().is_locked(request, credentials) or too_many_names(request, credentials) > 0

    def user_login_failed(self, sender: Any, credentials: Any, request: Any = None, **kwargs: Any) -> None:
        """Count the try. What is kept of its address opens nothing."""
        if request is not None:
            request.axes_path_info = mask(request.axes_path_info)
        super().user_login_failed(sender, credentials, request, **kwargs)


def too_many_names(request: Any, credentials: Mapping[str, Any] | None) -> int:
    """Return the limit that names other than this one, which failed from the request's address, have reached; or 0.

    MOST_NAMES closes for an hour, MOST_NAMES_A_MINUTE for a minute.
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
    if len(failed) >= MOST_NAMES:
        return MOST_NAMES
    lately = sum(moment >= timezone.now() - _MINUTE for moment in failed)
    return MOST_NAMES_A_MINUTE if lately >= MOST_NAMES_A_MINUTE else 0


def counted_address(request: HttpRequest) -> str | None:
    """Return the address whose tries are counted together; for AXES_CLIENT_IP_CALLABLE.

    An IPv6 connection has 2**64 addresses of its own, which count as one.
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
    """Return what the log says of who failed to sign in: a place that is known again, never a name or a path."""
    return f"place {place_of(address)}" if address else "a local socket"


def is_of_letters(kind: str) -> bool:
    """Say whether what was counted under this name are letters."""
    return kind == LETTERS or kind.startswith((_LETTERS_TO, _LETTERS_OF))


def count_wrong_link(request: HttpRequest) -> None:
    """Count a link that opens nothing; with too many of them the middleware answers 429."""
    if _is_open(request, LINKS):
        _count(request, LINKS)


def may_send_letter(request: HttpRequest, address: str) -> bool:
    """Say whether a letter to `address` may still be asked for; when not, the middleware answers 429 in any case."""
    return all(_is_open(request, kind) for kind in _letters(request, address))


def count_letter(request: HttpRequest, address: str) -> None:
    """Count a letter that was asked for: nobody is flooded with them."""
    guarded: Any = request
    for kind in _letters(request, address):
        _count(request, kind)
        guarded.axes_locked_out = False  # the last one that is allowed leaves as well


def _letters(request: HttpRequest, address: str) -> list[str]:
    """Return under which names a letter counts: whom it goes to, and the account or the shared address that asks."""
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
    """Say whether `password` is that of the signed-in `user`; wrong ones count as at sign-in."""
    try:
        return authenticate(request, username=user.get_username(), password=password) == user
    except CodeNeeded:
        # The password was right; whoever is signed in has given a code already.
        return True
