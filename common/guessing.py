"""Guessing, closed in one way: ten wrong passwords, codes or links from one address, then nothing for an hour.

Links are too long to be guessed: one that works opens whatever was tried before, so that nobody closes it to a house
that shares an address. Letters are counted apart from links: by whom they go to, or by the account that asks.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.http import HttpRequest

from common.sessions import CodeNeeded

# Counted like accounts that nobody has: user names cannot hold a blank.
LINKS = "any link"
LETTERS = "any letter"
_LETTERS_TO, _LETTERS_OF = "letters to ", "letters of "
MOST_TRIES = 10
# From one address that many people may share, to whomever they go.
MOST_LETTERS = 100
MOST_LETTERS_TO_ONE = 5


def most_tries(_: HttpRequest, credentials: Mapping[str, Any] | None) -> int:
    """Return how many tries of a kind one address has in an hour; for the setting AXES_FAILURE_LIMIT."""
    kind = str((credentials or {}).get("username") or "")
    if kind == LETTERS:
        return MOST_LETTERS
    return MOST_LETTERS_TO_ONE if kind.startswith(_LETTERS_TO) else MOST_TRIES


def is_of_letters(kind: str) -> bool:
    """Say whether what was counted under this name are letters."""
    return kind == LETTERS or kind.startswith((_LETTERS_TO, _LETTERS_OF))


def wrong_link(request: HttpRequest) -> None:
    """Count a link that opens nothing; with too many of them the middleware answers 429."""
    if _is_open(request, LINKS):
        _count(request, LINKS)


def letters_open(request: HttpRequest, address: str) -> bool:
    """Say whether a letter to `address` may still be asked for; when not, the middleware answers 429 in any case."""
    return all(_is_open(request, kind) for kind in _letters(request, address))


def letter_asked(request: HttpRequest, address: str) -> None:
    """Count a letter that was asked for: nobody is flooded with them."""
    guarded: Any = request
    for kind in _letters(request, address):
        _count(request, kind)
        guarded.axes_locked_out = False  # the last one that is allowed leaves as well


def _letters(request: HttpRequest, address: str) -> list[str]:
    """Return under which names a letter counts: a signed-in account has its own, strangers share their address."""
    if request.user.is_authenticated:
        return [f"{_LETTERS_OF}{request.user.pk}"]
    digest = hashlib.sha256(address.strip().lower().encode()).hexdigest()
    return [f"{_LETTERS_TO}{digest}", LETTERS]


def _is_open(request: HttpRequest, kind: str) -> bool:
    credentials = {"username": kind}
    if AxesProxyHandler.is_allowed(request, credentials):
        return True
    guarded: Any = request
    guarded.axes_locked_out, guarded.axes_credentials = True, credentials
    return False


def _count(request: HttpRequest, kind: str) -> None:
    AxesProxyHandler.user_login_failed(__name__, {"username": kind}, request)


def password_fits(request: HttpRequest, user: User, password: str) -> bool:
    """Say whether `password` is that of the signed-in `user`; wrong ones count as at sign-in."""
    try:
        return authenticate(request, username=user.get_username(), password=password) == user
    except CodeNeeded:
        # The password was right; whoever is signed in has given a code already.
        return True
