"""The contest's time, used for every date that people see. In a demo it can be moved forward.

It is the machine's time. In demo mode alone it may be ahead of it: `./unanimous demo_clock` moves it forward, so that a
newcomer sees a week end. Sessions, lockouts, links in letters, tokens and rate limits keep the machine's time.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from functools import cache

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from common.models import DemoClock


def _read() -> timedelta:
    return timedelta(seconds=DemoClock.objects.values_list("ahead_seconds", flat=True).first() or 0)


# Returns how far the clock is ahead: `_read`, or within `one_time` its first result.
_ahead: ContextVar[Callable[[], timedelta]] = ContextVar("demo clock", default=_read)


def domain_now() -> datetime:
    """Return the contest's time. Outside demo mode this reads only the machine's clock."""
    return timezone.now() + demo_ahead() if settings.DEMO else timezone.now()


def demo_ahead() -> timedelta:
    """Return how far the contest's time is ahead of the machine's: whole seconds, none outside demo mode.

    The row is read at each call, or once within `one_time`: every process sees a moved clock at its next call.
    """
    return _ahead.get()() if settings.DEMO else timedelta(0)


@contextmanager
def one_time() -> Iterator[None]:
    """Inside, the clock does not jump: the first reading is used to the end."""
    token = _ahead.set(cache(_read))
    try:
        yield
    finally:
        _ahead.reset(token)


def one_time_middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Let each request see one time."""
    return one_time()(get_response)
