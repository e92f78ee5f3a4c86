"""Maps domain errors to HTTP: the status, and a body {"code", "detail"} and, for a 400, "fields"."""

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, JsonResponse

from common.errors import (
    Conflict,
    DomainError,
    InvalidInput,
    NotAllowed,
    NotFound,
    ServerBusy,
    ServiceUnavailable,
    StorageFull,
    TooLarge,
    TooMany,
    WrongFields,
)

_STATUS: list[tuple[type[DomainError], int]] = [
    (InvalidInput, HTTPStatus.BAD_REQUEST),
    (NotFound, HTTPStatus.NOT_FOUND),
    (NotAllowed, HTTPStatus.FORBIDDEN),
    (Conflict, HTTPStatus.CONFLICT),
    (TooMany, HTTPStatus.TOO_MANY_REQUESTS),
    (TooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (StorageFull, HTTPStatus.INSUFFICIENT_STORAGE),
    (ServiceUnavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (ServerBusy, HTTPStatus.SERVICE_UNAVAILABLE),
]


def http_status(error: DomainError) -> int:
    """Return the status of a domain error; an error without a class of its own is a conflict (409)."""
    return next((code for kind, code in _STATUS if isinstance(error, kind)), HTTPStatus.CONFLICT)


def error_body(error: DomainError) -> dict[str, Any]:
    """Return the body of a refusal."""
    body: dict[str, Any] = {"code": error.code, "detail": error.message}
    wrong = error.fields if isinstance(error, WrongFields) else {error.field: error.message}
    if fields := {name: [message] for name, message in wrong.items() if name}:
        body["fields"] = fields
    return body


def retry_headers(error: DomainError) -> dict[str, str]:
    """Return the header that says when to try again, where the error knows it."""
    return {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}


def wants_json(request: HttpRequest) -> bool:
    """Say whether the request comes from a page's script."""
    return request.headers.get("Accept") == "application/json"


def error_json(error: DomainError) -> JsonResponse:
    """Return a refusal as a JSON response."""
    return JsonResponse(error_body(error), status=http_status(error), headers=retry_headers(error))
