"""Error pages, and middleware that shows domain errors as pages and keeps taskers to their own pages (R8)."""

import sys
from collections.abc import Callable
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from common.errors import DomainError, ServiceUnavailable, TooLarge
from common.outages import outage_of, traces
from common.web.error_status import error_body, error_json, http_status, retry_headers, wants_json
from config.audience import signed_in_refusal


class DomainErrorPages:
    """Refuses taskers pages that are not for them, and turns a domain error that a view raises into a page.

    The API has its own translation (config.errors), so nothing under /api/v1/ arrives here.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        """Return the refusal where a signed-in tasker requests a page that is not for taskers (R8)."""
        error = signed_in_refusal(request)
        return None if error is None else _refused(request, error)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return the page for a DomainError or an outage; None lets every other error be a 500."""
        outage = (
            outage_of(error) if not isinstance(error, DomainError) or isinstance(error, ServiceUnavailable) else None
        )
        if outage is not None:
            traces.log(outage, error)
            return _unavailable(request, outage)
        if not isinstance(error, DomainError):
            return None
        if wants_json(request):
            return error_json(error)
        answer = render(request, "refused.html", {"error": error}, status=http_status(error))
        for name, value in retry_headers(error).items():
            answer[name] = value
        return answer


def _refused(request: HttpRequest, error: DomainError) -> HttpResponse:
    if request.path.startswith("/api/v1/"):
        return error_json(error)
    return render(request, "refused.html", {"error": error}, status=http_status(error))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400, or 413 where a form has too many fields or too much in them."""
    if isinstance(exception, (RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent)):
        words = _("The form holds too much: too many fields, or too much text in them. Send less.")
        return _refused(request, TooLarge(words, "too_large"))
    return _answer(request, 400, "bad_request", _("This request could not be read."))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404."""
    return _answer(request, 404, "not_found", _("There is nothing at this address."))


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 403."""
    return _answer(request, 403, "permission_denied", _("This account may not open this."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 500 without asking the database anything; the code is the request's id in the logs.

    An outage outside the views, for instance while the session is read, is answered like an outage in a view.
    """
    if outage := outage_of(sys.exc_info()[1]):
        return _unavailable(request, outage)
    code = structlog.contextvars.get_contextvars().get("request_id", "")
    detail = _("The server failed at this request; it is in the log as %(code)s.") % {"code": code}
    if request.path.startswith("/api/v1/"):
        return JsonResponse({"code": "server_error", "detail": detail}, status=500)
    # Rendered without the request: its session and user may be what failed.
    return render(None, "500.html", {"support_code": code, "contact": settings.CONTACT_EMAIL}, status=500)


def _unavailable(request: HttpRequest, outage: ServiceUnavailable) -> HttpResponse:
    """Answer 503 or 507 without asking the database anything."""
    status = http_status(outage)
    if request.path.startswith("/api/v1/") or wants_json(request):
        answer: HttpResponse = JsonResponse(error_body(outage), status=status)
    else:
        # Rendered without the request: its session and user may be what failed.
        answer = render(None, "unavailable.html", {"error": outage, "contact": settings.CONTACT_EMAIL}, status=status)
    for name, value in {**retry_headers(outage), "Cache-Control": "no-store"}.items():
        answer[name] = value
    return answer


def _answer(request: HttpRequest, status: int, code: str, detail: str) -> HttpResponse:
    if request.path.startswith("/api/v1/"):
        return JsonResponse({"code": code, "detail": detail}, status=status)
    return render(request, f"{status}.html", status=status)
