"""Finds the client's address, also behind proxies, for counting wrong passwords."""

from functools import cache
from ipaddress import ip_address

import structlog
from django.conf import settings
from django.http import HttpRequest

log = structlog.get_logger(__name__)


def client_address(request: HttpRequest) -> str | None:
    """Return the address from which the outermost of TRUSTED_PROXIES got the request; None over a local socket.

    Each proxy appends the address of its client, so counting starts at the right: text that a client writes into the
    header itself is further left.
    """
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    if any(forwarded) and settings.TRUSTED_PROXIES == 0:
        _warn_of_a_proxy()
    if 0 < settings.TRUSTED_PROXIES <= len(forwarded):
        try:
            return str(ip_address(forwarded[-settings.TRUSTED_PROXIES].strip()))
        except ValueError:
            return _peer(request)
    return _peer(request)


def _peer(request: HttpRequest) -> str | None:
    return request.META.get("REMOTE_ADDR") or None


@cache  # once in a process: anybody can send the header
def _warn_of_a_proxy() -> None:
    hint = "X-Forwarded-For arrives and TRUSTED_PROXIES is 0: behind a proxy everybody has one address, and one person "
    log.warning("proxy_not_trusted", hint=hint + "who guesses closes sign-in to all. Say how many proxies there are.")
