"""The JSON parser of the API, with limits on size and depth."""

import re
from collections.abc import Iterable
from io import BytesIO
from typing import Any

from rest_framework import parsers
from rest_framework.exceptions import ParseError

from common.errors import TooLarge
from common.web.body_limits import DEFAULT_BYTES, KIB

# An answer with its outline has four levels.
MAX_LEVELS = 16
MAX_BYTES = DEFAULT_BYTES
# PostgreSQL stores no NUL, and half of a surrogate pair is no character: neither can be written as UTF-8 or kept.
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")
_TOO_DEEP = f"The body is nested too deeply: {MAX_LEVELS} levels are the most."


class JSONParser(parsers.JSONParser):
    """JSON as it comes, ParseError (400 `parse_error`) for what no call can use.

    NaN and Infinity arrive as numbers, so that the check of their field refuses them by name.
    """

    strict = False

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        """Return the body's value; TooLarge where the view takes longer bodies, which are files and no JSON."""
        data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise TooLarge(f"JSON has at most {MAX_BYTES // KIB} KiB here. Send less.", "too_large")
        try:
            value = super().parse(BytesIO(data), media_type, parser_context)
        except RecursionError:
            raise ParseError(_TOO_DEEP) from None
        _check_depth(value)
        # In UTF-8, which it is where nothing else is named, neither can be written without one of these.
        if parser_context is not None or b"\\u" in data or b"\x00" in data:
            _check_text(value)
        return value


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_LEVELS):
        level = [inner for each in level if type(each) in (list, dict) for inner in _inside(each)]
    if level:
        raise ParseError(_TOO_DEEP)


def _check_text(value: Any) -> None:
    for inner in _inside(value):
        _check_text(inner)
    if isinstance(value, str) and _NO_TEXT.search(value):
        raise ParseError("Text holds a NUL character or half of a surrogate pair: take it out.")


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    return value if isinstance(value, list) else ()
