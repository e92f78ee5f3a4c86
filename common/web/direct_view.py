"""Base API view that answers ordinary requests without the framework's dispatch, because that is faster.

The dispatch takes an eighth of the server's time for a label. Authentication, parsing and errors use the same classes
as every other call. Any other request (not signed in, forged, another method or media type, an empty or unreadable
body) goes to the framework, so that there is one place that refuses it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.http.response import HttpResponseBase
from rest_framework.exceptions import APIException
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import APIView

from common.errors import DomainError
from common.web.json_parser import JSONParser

_ANYTHING = ("*/*", "application/json")
_PARSER = JSONParser()
_RENDERER = JSONRenderer()
_RENDERED_AS = {
    "accepted_renderer": _RENDERER,
    "accepted_media_type": JSONRenderer.media_type,
    "renderer_context": {},
}


@dataclass(frozen=True, slots=True)
class DirectAnswer:
    """The answer to a call; `data` is the body's value, None for no body."""

    data: Any
    status: int = 200
    headers: Mapping[str, str] | None = None

    def response(self) -> Response:
        """Return it as the framework renders it."""
        return Response(self.data, status=self.status, headers=self.headers)


class _SignedRequest:
    """The part of the framework's request that authenticators read."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    def __getattr__(self, name: str) -> Any:
        return getattr(self._request, name)


class DirectView(APIView, ABC):
    """A call by POST, with JSON, for signed-in users; subclasses implement `answer`."""

    @abstractmethod
    def answer(self, user: Any, data: Any, **values: Any) -> DirectAnswer:
        """Return the answer to `data`, the body's value; `values` are from the address."""

    def dispatch(self, request: HttpRequest, *args: Any, **values: Any) -> HttpResponseBase:
        """Answer an ordinary request; hand any other to the framework."""
        try:
            signed_in = self._signed_in(request) if _is_ordinary(request) else None
            data = _PARSER.parse(BytesIO(request.body)) if signed_in else None
        except (APIException, DomainError, UnreadablePostError):
            signed_in = None  # the framework finds the same error, and refuses the request
        if signed_in is None:
            return super().dispatch(request, *args, **values)
        response: HttpResponse | None
        try:
            answer = self.answer(signed_in, data, **values)
        except Exception as error:
            response = self.get_exception_handler()(error, {"view": self, "request": request})
            if response is None:
                raise
            vars(response).update(_RENDERED_AS)
        else:
            response = _rendered(answer)
        for name, value in self.default_response_headers.items():
            response[name] = value
        return response

    def _signed_in(self, request: HttpRequest) -> Any:
        """Return who is signed in, by session or token; None for a stranger. Raises as authenticators do."""
        asked = _SignedRequest(request)
        for each in self.get_authenticators():
            if found := each.authenticate(asked):  # type: ignore[arg-type]
                request.user = found[0]
                return found[0]
        return None


def _rendered(answer: DirectAnswer) -> HttpResponse:
    body = _RENDERER.render(answer.data)
    response = HttpResponse(body, JSONRenderer.media_type, answer.status, headers=answer.headers)
    if not body:
        del response["Content-Type"]
    return response


def _is_ordinary(request: HttpRequest) -> bool:
    return (
        request.method == "POST"
        and request.META.get("CONTENT_TYPE") == "application/json"
        and request.META.get("HTTP_ACCEPT", "*/*") in _ANYTHING
        and request.META.get("CONTENT_LENGTH", "") not in ("", "0")
    )
