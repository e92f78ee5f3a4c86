"""The origin of an audited action: a page, an API call, a command, a task or a sweep.

Code that writes audit entries is far below the request. The origin is in a context variable, so that no service needs
another parameter; every request, command, task and sweep sets its own at its beginning.

A client's address is never stored, only a digest keyed with SECRET_KEY: equal addresses are recognised, and without
the key nobody can test an address against it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac

from common.commands import ContestCommand
from common.web.client_address import client_address

# The schemes of `Authorization` that carry a token of the API.
TOKEN_SCHEMES = ("token", "bearer")
_PLACE_DIGITS = 12


@dataclass(frozen=True, slots=True)
class RequestOrigin:
    """The origin: words such as `page`, `command add_user` or `sweep rulings`, and for a request the client's address.

    Only the digest of the address is recorded.
    """

    words: str
    address: str = field(default="", repr=False)

    @property
    def place(self) -> str:
        """The digest of the address, computed on demand because few requests record anything."""
        return place_of(self.address) if self.address else ""


_SHELL = RequestOrigin("shell")
_origin: ContextVar[RequestOrigin] = ContextVar("origin", default=_SHELL)


def origin() -> RequestOrigin:
    """Return the origin of the present work."""
    return _origin.get()


@contextmanager
def audit_origin(words: str, address: str | None = None) -> Iterator[None]:
    """Set the origin of everything done inside."""
    token = _origin.set(RequestOrigin(words, address or ""))
    try:
        yield
    finally:
        _origin.reset(token)


def place_of(address: str) -> str:
    """Return the stored digest of a client's address."""
    return salted_hmac("common.audit.origin", address, algorithm="sha256").hexdigest()[:_PLACE_DIGITS]


def _is_program(request: HttpRequest) -> bool:
    scheme, _, _ = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    return scheme.lower() in TOKEN_SCHEMES


class OriginMiddleware:
    """Records for each request whether it comes from a page or from a program with a token, and its address."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with audit_origin("program" if _is_program(request) else "page", client_address(request)):
            return self.get_response(request)


class RecordedCommand(ContestCommand):
    """A management command whose actions are in the audit trail under its name."""

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run the command as usual."""
        with audit_origin(f"command {type(self).__module__.rpartition('.')[2]}"):
            return super().execute(*args, **options)
