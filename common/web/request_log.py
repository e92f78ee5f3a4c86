"""Middleware that logs one line for each request."""

from uuid import uuid4

from django.http import HttpRequest
from django_structlog.middlewares import RequestMiddleware
from structlog.contextvars import bind_contextvars


class RequestLog(RequestMiddleware):
    """Writes one line when a request is answered, and none when it begins."""

    def prepare(self, request: HttpRequest) -> None:
        """Give the request an ID for all its log lines. An ID that a client sends is not used."""
        bind_contextvars(request_id=str(uuid4()))
