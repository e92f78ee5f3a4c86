"""Limits the size of request bodies per view, before anything is read.

A view without a limit of its own takes DEFAULT_BYTES. The stated length can be trusted: Django reads no more than
`Content-Length`, and a chunked body without a length is read up to the limit.
"""

from collections.abc import Callable
from http import HTTPStatus
from io import BytesIO
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _

from common.errors import DomainError, InvalidInput, TooLarge
from common.web.error_status import error_body, http_status

KIB, MIB = 1024, 1024 * 1024
DEFAULT_BYTES = 256 * KIB  # answers with their outlines, and every form of the pages
SMALL_BYTES = 8 * KIB  # short bodies: credentials, preferences, leases
REPORT_BYTES = 32 * KIB  # a lease with a report of 2,000 characters, each of which JSON may write as 12 bytes
_MAX_DIGITS = 18

MAX_FIELDS = 1_000  # of a form

_View = TypeVar("_View")


def limit_body(max_bytes: int) -> Callable[[_View], _View]:
    """Let a view, or all methods of a class, take bodies of at most `max_bytes`."""

    def decorate(view: _View) -> _View:
        view.max_body_bytes = max_bytes  # type: ignore[attr-defined]
        return view

    return decorate


def body_limit(view: Any) -> int:
    """Return how many bytes the body of a request to `view` may have."""
    for place in (view, getattr(view, "cls", None), getattr(view, "view_class", None)):
        found = getattr(place, "max_body_bytes", None)
        if found is not None:
            return int(found)
    return DEFAULT_BYTES


class BodyLimits(MiddlewareMixin):
    """Answers 413 to a body that is too long for its view. It comes before all middleware that reads
    bodies, such as the CSRF check."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Any, values: Any
    ) -> HttpResponse | None:
        """Return the refusal; None lets the view have the request."""
        max_bytes = body_limit(view)
        stated = request.META.get("CONTENT_LENGTH") or "0"
        if stated.isascii() and stated.isdecimal() and (len(stated) > _MAX_DIGITS or int(stated) > max_bytes):
            return _refused(request, view, _too_large(max_bytes))
        if "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower():
            return _take_chunks(request, view, max_bytes)
        return None


def _take_chunks(request: HttpRequest, view: Any, max_bytes: int) -> HttpResponse | None:
    """Read a body without a length, which Django would take for an empty one, or refuse it."""
    if max_bytes > DEFAULT_BYTES or not request.META.get("wsgi.input_terminated"):
        words = "Say how long the body is (Content-Length): an upload of unknown length is not taken."
        return _refused(request, view, InvalidInput(words, "length_required"), HTTPStatus.LENGTH_REQUIRED)
    data = request.META["wsgi.input"].read(max_bytes + 1)
    if len(data) > max_bytes:
        return _refused(request, view, _too_large(max_bytes))
    request.META["CONTENT_LENGTH"] = str(len(data))
    request._stream = BytesIO(data)
    return None


def _too_large(max_bytes: int) -> TooLarge:
    shown = f"{max_bytes // MIB:,} MiB" if max_bytes >= MIB else f"{max_bytes // KIB} KiB"
    words = _("What was sent is too long: %(most)s are the most here. Nothing was kept. Send less.") % {"most": shown}
    return TooLarge(words, "too_large")


def _refused(request: HttpRequest, view: Any, error: DomainError, status: int | None = None) -> HttpResponse:
    status = status or http_status(error)
    asks_json = getattr(view, "answers_json", False) or "application/json" in request.headers.get("Accept", "")
    if asks_json or request.path.startswith("/api/v1/"):
        return JsonResponse(error_body(error), status=status)
    return render(request, "refused.html", {"error": error}, status=status)
