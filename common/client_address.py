"""Whose wrong passwords are counted together: the client's address, also behind proxies."""

from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str | None:
    """Return the address from which the outermost of TRUSTED_PROXIES was asked; None over a local socket.

    Each proxy appends the address it was asked from, so counting starts at the right: whatever a client writes into
    the header itself stands further left.
    """
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    if 0 < settings.TRUSTED_PROXIES <= len(forwarded):
        try:
            return str(ip_address(forwarded[-settings.TRUSTED_PROXIES].strip()))
        except ValueError:
            return _peer(request)
    return _peer(request)


def _peer(request: HttpRequest) -> str | None:
    return request.META.get("REMOTE_ADDR") or None
