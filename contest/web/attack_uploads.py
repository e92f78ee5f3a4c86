"""Helpers of views that take attack uploads: access, limits on simultaneous uploads, errors as JSON."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from common.errors import DomainError
from common.gates import ConcurrencyGate, HolderLimit
from common.web.body_limits import MIB, limit_body
from common.web.error_status import error_json
from contest.attacks.uploads import MAX_ZIP_BYTES
from contest.core.models import Team
from contest.core.roles import own_team_of

# The files, and the other fields of the form.
MAX_UPLOAD_BYTES = MAX_ZIP_BYTES + MIB
# A web process has 16 threads; 4 remain for everything but uploads.
UPLOADS = ConcurrencyGate(at_once=12, waiting=0, seconds=2.0)
# The most simultaneous uploads of one account, however slowly it sends.
UPLOADS_OF_ONE = HolderLimit(at_once=2, seconds=2.0)
_AT_ONCE = 64 * 1024


@contextmanager
def upload_place(user: Any) -> Iterator[None]:
    """Hold a place for an upload; raises ServerBusy."""
    with UPLOADS_OF_ONE.of(user.pk), UPLOADS:
        yield


@contextmanager
def uploading(user: Any) -> Iterator[Team]:
    """Hold a place for an upload and return the sender's team; raises as `own_team_of` does, and ServerBusy."""
    team = own_team_of(user)
    with upload_place(user):
        yield team


def for_script(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Answer a page's script, which cannot follow a sign-in: every refusal is JSON, 401 `signed_out` for strangers.

    A GET, as by a person who opens the address, is redirected to the page of attacks.
    """

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **values: Any) -> HttpResponse:
        if request.method in ("GET", "HEAD"):
            return redirect("attacks")
        try:
            if not request.user.is_authenticated:
                return _signed_out(request)
            answer = view(request, *args, **values)
        except DomainError as error:
            return error_json(error)
        except Http404:
            return _refused(HTTPStatus.NOT_FOUND, "not_found", "This account is in no team, and sends no pictures.")
        # The check for forged requests answers with a page.
        if answer.status_code == HTTPStatus.FORBIDDEN and not isinstance(answer, JsonResponse):
            words = "The server could not tell that this page sent it. Reload the page and choose the pictures again."
            return _refused(HTTPStatus.FORBIDDEN, "forged", words)
        return answer

    answered.answers_json = True  # type: ignore[attr-defined]  # read where a body is too long
    return answered


def _signed_out(request: HttpRequest) -> HttpResponse:
    # A browser reads the answer only once all that it sends was taken.
    while request.read(_AT_ONCE):
        pass
    return _refused(HTTPStatus.UNAUTHORIZED, "signed_out", "You are signed out. Nothing was sent.")


def _refused(status: HTTPStatus, code: str, detail: str) -> HttpResponse:
    return JsonResponse({"code": code, "detail": detail}, status=status)


def bounded_upload(
    place: Callable[[Any], AbstractContextManager[Any]] = uploading,
) -> Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]:
    """Let a page take an upload while it holds a place; the check for forged requests, which reads all of the upload,
    comes after the sign-in."""

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        checked = csrf_protect(view)

        @limit_body(MAX_UPLOAD_BYTES)
        @csrf_exempt
        @wraps(view)
        def looked_at(request: HttpRequest, *args: Any, **values: Any) -> HttpResponse:
            if request.method != "POST":
                return checked(request, *args, **values)
            with place(request.user):
                return checked(request, *args, **values)

        return looked_at

    return decorate
