"""One line in the log for each request, without the secrets that some links carry in their address."""

import re

from django.http import HttpRequest
from django_structlog.middlewares import RequestMiddleware

_SECRET_LINKS = re.compile(r"(/(?:join|register|password|account/email|releases/mail/(?:confirm|end))/)[^\s?]+")


class RequestLog(RequestMiddleware):
    """Name each request in its line; whoever reads the log cannot join in somebody's place."""

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        """Return the method and the address."""
        return _SECRET_LINKS.sub(r"\1…", RequestMiddleware.format_request(request))
