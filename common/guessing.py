"""Guessing, closed in one way: ten wrong passwords, codes or links from one address, then nothing for an hour."""

from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.http import HttpRequest

from common.sessions import CodeNeeded

# Counted like an account that nobody has: user names cannot hold a blank.
LINKS = "any link"


def links_open(request: HttpRequest) -> bool:
    """Say whether links are still looked at for this address; when not, the middleware answers 429 in any case."""
    credentials = {"username": LINKS}
    if AxesProxyHandler.is_allowed(request, credentials):
        return True
    guarded: Any = request
    guarded.axes_locked_out, guarded.axes_credentials = True, credentials
    return False


def wrong_link(request: HttpRequest) -> None:
    """Count a link that opens nothing."""
    AxesProxyHandler.user_login_failed(__name__, {"username": LINKS}, request)


def password_fits(request: HttpRequest, user: User, password: str) -> bool:
    """Say whether `password` is that of the signed-in `user`; wrong ones count as at sign-in."""
    try:
        return authenticate(request, username=user.get_username(), password=password) == user
    except CodeNeeded:
        # The password was right; whoever is signed in has given a code already.
        return True
