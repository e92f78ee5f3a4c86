"""Answers HEAD requests with the headers of GET."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest


class NoBodyForHead:
    """Drop the body of an answer to HEAD once its length is stated; the server would have to, and warns of each."""

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> Any:
        answer = self.get_response(request)
        if request.method != "HEAD":
            return answer
        if answer.streaming:
            answer.streaming_content = ()
        else:
            answer.content = b""
        return answer
