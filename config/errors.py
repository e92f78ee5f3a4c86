"""Domain errors become HTTP answers of one shape: {"code", "detail"} and, for a 400, "fields"."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.views import exception_handler, set_rollback

from common.errors import Conflict, DomainError, InvalidInput, NotAllowed, NotFound, WrongFields

_STATUS: list[tuple[type[DomainError], int]] = [
    (InvalidInput, status.HTTP_400_BAD_REQUEST),
    (NotFound, status.HTTP_404_NOT_FOUND),
    (NotAllowed, status.HTTP_403_FORBIDDEN),
    (Conflict, status.HTTP_409_CONFLICT),
]


def http_status(error: DomainError) -> int:
    """Return the status of a domain error; one with no kind of its own is a conflict."""
    return next((code for kind, code in _STATUS if isinstance(error, kind)), status.HTTP_409_CONFLICT)


def api_exception(error: Exception, context: dict[str, Any]) -> Response | None:
    """Translate what a view raised; None lets an unexpected error surface as a 500."""
    if isinstance(error, DomainError):
        set_rollback()
        body: dict[str, Any] = {"code": error.code, "detail": error.message}
        wrong = error.fields if isinstance(error, WrongFields) else {error.field: error.message}
        if fields := {name: [message] for name, message in wrong.items() if name}:
            body["fields"] = fields
        return Response(body, status=http_status(error))
    if isinstance(error, exceptions.ValidationError):
        set_rollback()
        return Response(
            {"code": "invalid", "detail": "Some fields are wrong.", "fields": error.detail},
            status=status.HTTP_400_BAD_REQUEST,
        )
    response = exception_handler(error, context)
    if response is not None:
        response.data = {"code": _code(error), "detail": str(response.data.get("detail", error))}
    return response


def _code(error: Exception) -> str:
    if isinstance(error, Http404):
        return "not_found"
    if isinstance(error, PermissionDenied):
        return "permission_denied"
    codes = error.get_codes() if isinstance(error, exceptions.APIException) else "error"
    return codes if isinstance(codes, str) else "error"
