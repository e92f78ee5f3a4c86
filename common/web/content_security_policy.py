"""Middleware that sets the Content-Security-Policy header; most answers share one prepared header."""

from functools import cache

from csp import middleware
from csp.constants import HEADER
from csp.utils import build_policy
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class CSPMiddleware(middleware.CSPMiddleware):
    """Replaces the library's middleware, which composes the same header again for every response."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Add the site's policy; where a view changed it, or used a nonce, the library does."""
        if response.has_header(HEADER) or any(name.startswith("_csp") for name in (*vars(request), *vars(response))):
            return super().process_response(request, response)
        response.headers[HEADER] = _policy()
        return response


@cache
def _policy() -> str:
    return build_policy()
