"""Converts domain errors to API responses."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import exception_handler, set_rollback

from common.errors import DomainError
from common.outages import outage_of, traces
from common.web.error_status import error_body, http_status, retry_headers


def api_exception(error: Exception, context: dict[str, Any]) -> Response | None:
    """Convert an exception of a view; None lets an unexpected error surface as a 500."""
    refusal = error if isinstance(error, DomainError) else outage_of(error)
    if refusal is not None:
        set_rollback()
        if refusal is not error:
            traces.log(refusal, error)
        return Response(error_body(refusal), status=http_status(refusal), headers=retry_headers(refusal))
    if isinstance(error, exceptions.ValidationError):
        set_rollback()
        return Response(
            {"code": "invalid", "detail": "Some fields are wrong.", "fields": _fields(error.detail)},
            status=status.HTTP_400_BAD_REQUEST,
        )
    response = exception_handler(error, context)
    if response is not None:
        response.data = {"code": _code(error), "detail": str(response.data.get("detail", error))}
    if response is not None and isinstance(error, exceptions.UnsupportedMediaType):
        taken = " or ".join(parser.media_type for parser in context["view"].get_parsers())
        response.data["detail"] += f" Send {taken}, and name it in Content-Type."
    return response


def _fields(detail: Any) -> dict[str, list[str]]:
    """Return the messages of each field; errors of no field are under the framework's name for them."""
    by_name = detail if isinstance(detail, Mapping) else {api_settings.NON_FIELD_ERRORS_KEY: detail}
    return {str(name): _messages(of_field) for name, of_field in by_name.items()}


def _messages(detail: Any) -> list[str]:
    """Return the messages about one field; one about an entry of a list says which, counted from one."""
    if isinstance(detail, Mapping):
        return [f"Entry {place + 1}: {words}" for place, of_entry in detail.items() for words in _messages(of_entry)]
    return [str(words) for words in detail]


def _code(error: Exception) -> str:
    if isinstance(error, Http404):
        return "not_found"
    if isinstance(error, PermissionDenied):
        return "permission_denied"
    codes = error.get_codes() if isinstance(error, exceptions.APIException) else "error"
    return codes if isinstance(codes, str) else "error"
