"""Middleware that sets the language and time zone of each request, with no query beyond that of the session."""

from collections.abc import Callable
from contextlib import ExitStack
from datetime import tzinfo
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation

# URLs that answer everybody alike: for them the session is not read.
_FOR_EVERYBODY = ("/pictures/", "/static/", "/healthz", "/readyz", "/metrics")


class PersonMiddleware:
    """Answer a tasker in their own language and time zone; others in their browser's language, in UTC."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        tasker = _tasker(request)
        if tasker is None or not (tasker.language or tasker.time_zone):
            return self.get_response(request)
        with ExitStack() as stack:
            if tasker.language in dict(settings.LANGUAGES):
                stack.enter_context(translation.override(tasker.language))
                setattr(request, "LANGUAGE_CODE", tasker.language)  # noqa: B010 - as LocaleMiddleware does
            if zone := parse_zone(tasker.time_zone):
                stack.enter_context(timezone.override(zone))
            response = self.get_response(request)
            response.headers.setdefault("Content-Language", translation.get_language() or settings.LANGUAGE_CODE)
            return response


def _tasker(request: HttpRequest) -> Any:
    if settings.SESSION_COOKIE_NAME not in request.COOKIES or request.path.startswith(_FOR_EVERYBODY):
        return None
    return getattr(request.user, "tasker", None)


@cache
def zone_names() -> tuple[str, ...]:
    """Return the names of the IANA time zones that name a place, and UTC, in order."""
    named = {name for name in available_timezones() if "/" in name and not name.startswith(("Etc/", "SystemV/"))}
    return ("UTC", *sorted(named))


def parse_zone(name: str) -> tzinfo | None:
    """Return the time zone, None for a name that the time zone database does not have (or no longer has)."""
    return ZoneInfo(name) if name in zone_names() else None
