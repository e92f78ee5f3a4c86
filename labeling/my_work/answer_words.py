"""Formats answers, durations and outlines for a tasker's own pages."""

import json
from typing import TYPE_CHECKING, TypeAlias

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from labeling.enums import Answer
from labeling.models import KnownPicture, Response
from labeling.my_work.answer_status import AnswerState, AnswerStatus
from labeling.wording import ANSWERS, QUESTIONS

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

SHORT = {answer: short for answer, _full, short in ANSWERS}
STATEMENT_NAMES = {
    "complete": gettext_lazy("Complete"),
    "unoccluded": gettext_lazy("Not occluded"),
    "real": gettext_lazy("Real"),
}
OUTLINE_NAME = gettext_lazy("Outline")
STANDINGS = {
    AnswerState.COUNTED: gettext_lazy("counted"),
    AnswerState.SURPLUS: gettext_lazy(
        "kept, not counted: it arrived after the picture was given to somebody else or taken out, or your labeling "
        "was paused"
    ),
    AnswerState.VOIDED: gettext_lazy("does not count any more"),
}
# The colours of states that every page shares.
_LOOKS = {AnswerState.COUNTED: "valid", AnswerState.SURPLUS: "open", AnswerState.VOIDED: "rejected"}


# The short name of a question, and an answer to it in words.
AnsweredQuestion: TypeAlias = "tuple[StrOrPromise, StrOrPromise]"


def answers_in_words(response: Response) -> list[AnsweredQuestion]:
    """Return the answer, in words, to each question that applied."""
    said = [(question.name, SHORT[Answer(getattr(response, question.field))]) for question in QUESTIONS]
    if response.complete is None:
        return said
    outline = _("drawn") if response.outline else _("cannot be drawn")
    statements = [(name, _truth(getattr(response, field))) for field, name in STATEMENT_NAMES.items()]
    return [*said, (OUTLINE_NAME, outline), *statements]


def expected_in_words(known: KnownPicture) -> list[AnsweredQuestion]:
    """Return the right answers, in words, to each question that has one."""
    accepted = (known.accepts_bird, known.accepts_bicycle)
    expected: list[AnsweredQuestion] = [
        (question.name, _(" or ").join(str(SHORT[Answer(answer)]) for answer in answers))
        for question, answers in zip(QUESTIONS, accepted, strict=True)
    ]
    if known.outline:
        overlap = _("overlaps by at least %(percent)s %%") % {"percent": known.min_iou_percent}
        expected.append((OUTLINE_NAME, overlap))
    facts = ((name, getattr(known, field)) for field, name in STATEMENT_NAMES.items())
    return [*expected, *((name, _truth(fact)) for name, fact in facts if fact is not None)]


def marks_in_words(marks: dict[str, bool]) -> "list[tuple[StrOrPromise, str, bool]]":
    """Return right or wrong for each question of a mark, with the bool behind the words."""
    names = {question.field: question.name for question in QUESTIONS}
    names |= {"outline": OUTLINE_NAME, **STATEMENT_NAMES}
    return [(names[field], _("right") if right else _("wrong"), right) for field, right in marks.items()]


def _truth(value: bool | None) -> str:
    return _("true") if value else _("false")


def standing_in_words(standing: AnswerStatus) -> "dict[str, StrOrPromise]":
    """Return a status for display: in words, the name of its style, and the reason."""
    return {"words": STANDINGS[standing.state], "look": _LOOKS[standing.state], "reason": standing.reason}


def svg_polygons(outline: str) -> list[str]:
    """Return the `points` of an SVG polygon for each ring of an outline in canonical JSON."""
    rings = json.loads(outline) if outline else []
    return [" ".join(f"{x},{y}" for x, y in ring) for ring in rings]


def duration(milliseconds: int) -> str:
    """Return a time spent, for example `14 s`, `3 min` or `2 h 5 min`."""
    seconds = round(milliseconds / 1000)
    if seconds < 120:
        return _("%(seconds)s s") % {"seconds": seconds}
    minutes = seconds // 60
    if minutes < 120:
        return _("%(minutes)s min") % {"minutes": minutes}
    return _("%(hours)s h %(minutes)s min") % {"hours": minutes // 60, "minutes": minutes % 60}
