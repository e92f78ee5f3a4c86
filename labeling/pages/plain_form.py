"""Reads the labeling form of a browser without scripts."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from common.errors import InvalidInput, NotFound
from labeling.answers import MAX_SECONDS, QUESTIONS
from labeling.marking import STATEMENTS

_TRUTH = {"true": True, "false": False, "": None}


def assignment_id_of(fields: Mapping[str, str]) -> UUID:
    """Return the posted assignment's id; NotFound when it is none."""
    try:
        return UUID(fields.get("assignment", ""))
    except ValueError:
        raise NotFound(_("There is no such assignment of yours."), "not_found") from None


def read_plain_form(fields: Mapping[str, str], *, now: datetime) -> dict[str, Any]:
    """Return the posted fields in the shape of `answers.read_form`; what is wrong in them is found there.

    Only the outline's text can be unreadable here: InvalidInput, with the line to change.
    """
    return {
        "lease_token": fields.get("lease_token", ""),
        **{name: fields.get(name) or None for name in QUESTIONS},
        **_outline(fields),
        **{name: _truth(fields.get(name, "")) for name in STATEMENTS},
        "seconds": seconds_of(fields, now=now),
    }


def _outline(fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the outline as a field, null when ticked as impossible (R15): the tick wins over what was typed.

    An empty outline without the tick is left out, so that it reads as forgotten where one was asked.
    """
    if fields.get("cannot_outline"):
        return {"outline": None}
    outline = outline_of_text(fields.get("outline", ""))
    return {} if outline is None else {"outline": outline}


def _truth(text: str) -> bool | str | None:
    # Anything else stays text, which the answers refuse by name.
    return _TRUTH.get(text, text)


def seconds_of(fields: Mapping[str, str], *, now: datetime) -> float:
    """Return the time taken: as measured by the page, else since the form was `shown` (seconds since 1970)."""
    try:
        seconds = float(fields.get("seconds") or now.timestamp() - float(fields.get("shown") or now.timestamp()))
    except ValueError:
        return 0.0
    return min(max(seconds, 0.0), float(MAX_SECONDS)) if seconds == seconds else 0.0


def outline_of_text(text: str) -> Any:
    """Read an outline typed as text; None when there is none.

    Either JSON rings, as the API takes them, or one corner `x,y` a line with a blank line between outlines.
    """
    text = text.strip()
    if not text:
        return None
    return _json_rings(text) if text.startswith("[") else _line_rings(text)


def _json_rings(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        message = _("The outline begins like JSON and cannot be read. Write [[[x, y], …]], or one corner x,y a line.")
        raise InvalidInput(message, "invalid", field="outline") from None


def _line_rings(text: str) -> list[list[list[float]]]:
    rings: list[list[list[float]]] = [[]]
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            rings[-1].append(_corner(line, number))
        elif rings[-1]:
            rings.append([])
    return rings


def _corner(line: str, number: int) -> list[float]:
    try:
        x, y = (float(part) for part in line.replace(";", ",").split(","))
    except ValueError:
        found = line.strip()[:40]
        message = _("Line %(number)d of the outline is %(found)r. Write one corner a line as x,y, such as 40,120.5.")
        raise InvalidInput(message % {"number": number, "found": found}, "invalid", field="outline") from None
    return [x, y]
