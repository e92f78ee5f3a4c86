"""Answers HEAD requests with the headers of GET."""

from typing import Any

from django.http import HttpRequest
from django.utils.deprecation import MiddlewareMixin


class NoBodyForHead(MiddlewareMixin):
    """Drops the body of an answer to HEAD once its length is stated; the web server would warn each time."""

    def process_response(self, request: HttpRequest, answer: Any) -> Any:
        """Return the answer, to HEAD without its body."""
        if request.method == "HEAD":
            if answer.streaming:
                answer.streaming_content = ()
            else:
                answer.content = b""
        return answer
