"""Domain errors become HTTP answers of one shape: {"code", "detail"} and, for a 400, "fields"."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.views import exception_handler, set_rollback

from common.answers import error_body, http_status
from common.errors import DomainError


def api_exception(error: Exception, context: dict[str, Any]) -> Response | None:
    """Translate what a view raised; None lets an unexpected error surface as a 500."""
    if isinstance(error, DomainError):
        set_rollback()
        return Response(error_body(error), status=http_status(error))
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
