"""Words about known pictures for the learning pages: titles, answers, explanations. No database queries."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from labeling import wording
from labeling.enums import Answer, Topic
from labeling.marking import STATEMENTS
from labeling.models import KnownPicture

Words = str | Promise

TOPICS: dict[str, Words] = {
    Topic.CLEAR: gettext_lazy("Clear pictures"),
    Topic.UNCERTAIN: gettext_lazy("Unsure"),
    Topic.BOTH_CLASSES: gettext_lazy("Both classes"),
    Topic.NEITHER_CLASS: gettext_lazy("Neither class"),
    Topic.SEVERAL: gettext_lazy("Several of one kind"),
    Topic.TOO_SMALL: gettext_lazy("Large enough or too small"),
    Topic.TRUNCATED: gettext_lazy("Complete or cut off"),
    Topic.OCCLUDED: gettext_lazy("Free or hidden"),
    Topic.PAINTING: gettext_lazy("Real or painted"),
    Topic.TOY: gettext_lazy("Real or a toy"),
}
QUESTIONS: dict[str, Words] = {
    "contains_bird": gettext_lazy("Is there a bird?"),
    "contains_bicycle": gettext_lazy("Is there a bicycle?"),
    "outline": gettext_lazy("Outline"),
    "complete": gettext_lazy("Complete"),
    "unoccluded": gettext_lazy("Not occluded"),
    "real": gettext_lazy("Real"),
}
_SHORT = {answer: short for answer, _text, short in wording.ANSWERS}


@dataclass(frozen=True, slots=True)
class ExplanationRow:
    """One question about a picture: the right answer and why; `given` and `right` where it was answered."""

    name: str
    question: Words
    expected: str
    reason: str
    given: str = ""
    right: bool | None = None


def reason_of(known: KnownPicture, key: str) -> str:
    """Return the explanation for one question in the reader's language, else in English."""
    language = (get_language() or "en").partition("-")[0]
    words = known.reasons.get(language) or known.reasons.get("en") or {}
    return str(words.get(key, ""))


def lesson_title(known: KnownPicture) -> str:
    """Return the title of a worked example."""
    return reason_of(known, "title") or str(TOPICS[known.topic])


def answer_words(answers: list[str]) -> str:
    """Return accepted answers to question 1 or 2, for example `Definitely yes`."""
    short = [str(_SHORT[Answer(answer)]) for answer in answers]
    return _(" or ").join(short)


def expected_rows(known: KnownPicture) -> list[ExplanationRow]:
    """Return every question with its right answer and the reason."""
    return [_row(known, name) for name in QUESTIONS if _has_answer(known, name)]


def marked_rows(known: KnownPicture, answers: Mapping[str, Any], marks: Mapping[str, Any]) -> list[ExplanationRow]:
    """Return every marked question with the given answer, the right answer, and the reason."""
    return [_row(known, name, _answer_words(name, answers), right) for name, right in marks["questions"].items()]


def _row(known: KnownPicture, name: str, given: str = "", right: bool | None = None) -> ExplanationRow:
    return ExplanationRow(name, QUESTIONS[name], _expected(known, name), reason_of(known, name), given, right)


def _has_answer(known: KnownPicture, name: str) -> bool:
    if name == "outline":
        return bool(known.outline)
    return name not in STATEMENTS or getattr(known, name) is not None


def _expected(known: KnownPicture, name: str) -> str:
    if name == "outline":
        return _("As drawn; an overlap of %(percent)d %% is enough") % {"percent": known.min_iou_percent}
    if name in STATEMENTS:
        return truth_words(getattr(known, name))
    return answer_words(getattr(known, f"accepts_{name.removeprefix('contains_')}"))


def _answer_words(name: str, answers: Mapping[str, Any]) -> str:
    if name == "outline":
        return _("Drawn") if answers["outline"] else _("Nothing outlined")
    if name in STATEMENTS:
        return truth_words(answers[name])
    return answer_words([answers[name]])


def truth_words(value: bool | None) -> str:
    """Return true or false in words; None is a question that was not answered."""
    if value is None:
        return _("Not answered")
    return _("True") if value else _("False")


@dataclass(frozen=True, slots=True)
class DecisiveRow:
    """The decisive question of a worked example, with its choices as (value, words) and the right values."""

    text: str
    choices: list[tuple[str, str]]
    right: frozenset[str]


def decisive_question(known: KnownPicture, min_box_fraction: Fraction) -> DecisiveRow:
    """Return the decisive question of a worked example."""
    if known.topic == Topic.UNCERTAIN:
        return _how_sure(known)
    if known.topic == Topic.SEVERAL:
        return _which_one()
    if known.topic == Topic.TOO_SMALL:
        return _large_enough(known, min_box_fraction)
    statement = _STATEMENT_OF.get(known.topic)
    return _true_or_false(known, statement) if statement else _which_class(known)


_STATEMENT_OF: dict[str, str] = {
    Topic.TRUNCATED: "complete",
    Topic.OCCLUDED: "unoccluded",
    Topic.PAINTING: "real",
    Topic.TOY: "real",
}


def _how_sure(known: KnownPicture) -> DecisiveRow:
    choices = [(str(answer), str(short)) for answer, _text, short in wording.ANSWERS]
    return DecisiveRow(_("Is there a bird?"), choices, frozenset(known.accepts_bird))


def _which_class(known: KnownPicture) -> DecisiveRow:
    bird, bicycle = Answer.DEFINITELY_YES in known.accepts_bird, Answer.DEFINITELY_YES in known.accepts_bicycle
    right = {(True, True): "both", (True, False): "bird", (False, True): "bicycle", (False, False): "neither"}
    choices = [("bird", _("A bird")), ("bicycle", _("A bicycle")), ("both", _("Both")), ("neither", _("Neither"))]
    return DecisiveRow(_("What is in this picture?"), choices, frozenset({right[bird, bicycle]}))


def _true_or_false(known: KnownPicture, statement: str) -> DecisiveRow:
    texts = {
        "complete": _("Is it complete, with no part outside of the picture?"),
        "unoccluded": _("Is it not occluded, with nothing in front of it?"),
        "real": _("Is it real, and not a depiction?"),
    }
    right = "yes" if getattr(known, statement) else "no"
    return DecisiveRow(texts[statement], _yes_or_no(), frozenset({right}))


def _large_enough(known: KnownPicture, fraction: Fraction) -> DecisiveRow:
    text = _("Does the box around it cover at least %(percent)d %% of the picture?") % {
        "percent": round(fraction * 100)
    }
    image = known.image
    large = box_share(known.outline, image.width * image.height) >= fraction
    return DecisiveRow(text, _yes_or_no(), frozenset({"yes" if large else "no"}))


def box_share(outline: str, area: int) -> Fraction:
    """Return the share of the picture's `area` that the outline's box covers."""
    corners = [(Fraction(str(x)), Fraction(str(y))) for ring in json.loads(outline) for x, y in ring]
    across, down = zip(*corners, strict=True)
    width, height = max(across) - min(across), max(down) - min(down)
    return Fraction(width * height, area)


def _which_one() -> DecisiveRow:
    choices = [
        ("one", _("One: the largest, or the one the page names")),
        ("each", _("All of them, each with an outline of its own")),
        ("any", _("Any one of them")),
    ]
    return DecisiveRow(_("What do you outline?"), choices, frozenset({"one"}))


def _yes_or_no() -> list[tuple[str, str]]:
    return [("yes", _("Yes")), ("no", _("No"))]
