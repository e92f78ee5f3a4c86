"""Reads the marks of an appeal form: five fields each."""

from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from common.typed import whole_number
from contest.appeals.services import MOST_MARKS

SIDES = ("x", "y", "width", "height")
# Rows that a form without its script offers to type into.
EMPTY_ROWS = 2
_MOST_DIGITS = 6


@dataclass(frozen=True, slots=True)
class TypedMark:
    """One row of the form, as it was typed."""

    number: int
    x: str = ""
    y: str = ""
    width: str = ""
    height: str = ""
    words: str = ""

    @property
    def value(self) -> dict[str, Any]:
        """Return the mark with its numbers; what is no number stays as it was typed, and is refused with its place."""
        sides = {name: _number(getattr(self, name)) for name in SIDES}
        return {**sides, "words": self.words}


def _number(typed: str) -> int | str:
    number = whole_number(typed, digits=_MOST_DIGITS)
    return typed if number is None else number


def typed_marks(form: QueryDict) -> list[TypedMark]:
    """Return the rows of a form that have anything in them, numbered anew."""
    columns = [[each.strip() for each in form.getlist(f"mark_{name}")] for name in (*SIDES, "words")]
    # One more than is allowed is enough to be refused.
    rows = [row for row in zip(*columns, strict=False) if any(row)][: MOST_MARKS + 1]
    return [TypedMark(number, *row) for number, row in enumerate(rows, 1)]


def with_empty_rows(marks: list[TypedMark]) -> list[TypedMark]:
    """Return the rows that a form shows: those with something in them, and a few to type into."""
    empty = min(EMPTY_ROWS, MOST_MARKS - len(marks))
    return [*marks, *(TypedMark(len(marks) + each) for each in range(1, empty + 1))]
