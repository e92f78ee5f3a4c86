"""The line of the log that each request gets."""

from uuid import uuid4

from django.http import HttpRequest
from django_structlog.middlewares import RequestMiddleware
from structlog.contextvars import bind_contextvars


class RequestLog(RequestMiddleware):
    """One line when a request is answered. Nothing is prepared for a line at its beginning, which nobody sees."""

    def prepare(self, request: HttpRequest) -> None:
        """Give the request an ID, which all lines written meanwhile have. One that a client sends is not taken over."""
        bind_contextvars(request_id=str(uuid4()))
