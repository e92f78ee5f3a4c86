"""Knows whether the server of a browser test still works on a request: tables must not be emptied under it."""

from collections.abc import Callable
from threading import Condition

from django.http import HttpRequest, HttpResponse

_changed = Condition()
_requests = 0


class InFlight:
    """The outermost middleware of the test settings."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        _count(1)
        try:
            return self.get_response(request)
        finally:
            _count(-1)


def _count(change: int) -> None:
    global _requests
    with _changed:
        _requests += change
        _changed.notify_all()


def wait_until_quiet(seconds: float = 30) -> None:
    with _changed:
        if not _changed.wait_for(lambda: _requests == 0, timeout=seconds):
            raise TimeoutError("the server still answers a request")
