"""The contest's time, used for every date that people see. In a demo it can be moved forward.

It is the machine's time. In demo mode alone it may be ahead of it: `./unanimous demo_clock` moves it forward, so that a
newcomer sees a week end. Sessions, lockouts, links in letters, tokens and rate limits keep the machine's time.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from common.models import DemoClock

_NOT_AHEAD = timedelta(0)


class _Once:
    """How far ahead the clock is, read when it is first needed and kept as long as the work lasts."""

    def __init__(self) -> None:
        self._read: timedelta | None = None

    def ahead(self) -> timedelta:
        if self._read is None:
            self._read = _read()
        return self._read


_once: ContextVar[_Once | None] = ContextVar("demo clock", default=None)


def domain_now() -> datetime:
    """Return the contest's time. Outside demo mode this asks nothing but the machine."""
    return timezone.now() + demo_ahead() if settings.DEMO else timezone.now()


def demo_ahead() -> timedelta:
    """Return how far the contest's time is ahead of the machine's: whole seconds, none outside demo mode.

    The row is read each time, or once within `one_time`: every process sees a moved clock with its next question.
    """
    if not settings.DEMO:
        return _NOT_AHEAD
    once = _once.get()
    return _read() if once is None else once.ahead()


def _read() -> timedelta:
    return timedelta(seconds=DemoClock.objects.values_list("ahead_seconds", flat=True).first() or 0)


@contextmanager
def one_time() -> Iterator[None]:
    """Inside, the clock does not jump: what is read of it first holds to the end."""
    token = _once.set(_Once())
    try:
        yield
    finally:
        _once.reset(token)


class OneTimeMiddleware:
    """Let each request see one time."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with one_time():
            return self.get_response(request)
