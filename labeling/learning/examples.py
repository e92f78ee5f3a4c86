"""The worked examples beside the rules of the instructions, without database queries.

They are some of the tutorial's examples, drawn small by `tools.learning_pictures.examples`, with the tutorial's words.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.utils.translation import get_language

from labeling.learning.content import listed_pictures
from labeling.learning.wording import answer_words, truth_words

FOLDER = "img/instructions"
# Rule -> its question, and its example pictures: first those that fulfil the rule, last those that do not.
_SHOWN = {
    "questions": ("contains_bird", ("tutorial-16-toy", "tutorial-05-uncertain", "tutorial-03-neither-class")),
    "largest": ("outline", ("tutorial-18-several", "tutorial-07-too-small")),
    "complete": ("complete", ("tutorial-08-truncated", "tutorial-09-truncated")),
    "unoccluded": ("unoccluded", ("tutorial-11-occluded", "tutorial-12-occluded")),
    "real": ("real", ("tutorial-14-painting", "tutorial-15-painting")),
}


@dataclass(frozen=True, slots=True)
class InstructionExample:
    """One picture beside a rule: the static file, what it shows, the right answer, and why."""

    file: str
    title: str
    answer: str
    reason: str


def instruction_examples() -> dict[str, list[InstructionExample]]:
    """Return rule -> its examples, in the reader's language."""
    language = (get_language() or "en").partition("-")[0]
    return {rule: [_example(name, question, language) for name in names] for rule, (question, names) in _SHOWN.items()}


def _example(name: str, question: str, language: str) -> InstructionExample:
    row = _rows()[f"{name}.png"]
    words = row["reasons"].get(language) or row["reasons"]["en"]
    return InstructionExample(f"{FOLDER}/{name}.webp", words["title"], _right(row, question), words[question])


def _right(row: Mapping[str, Any], question: str) -> str:
    """Return the right answer in words; empty for an outline."""
    if question == "outline":
        return ""
    if question == "contains_bird":
        return answer_words(row["accepts_bird"])
    return truth_words(row[question])


@cache
def _rows() -> Mapping[str, Mapping[str, Any]]:
    return {row["file"]: row for row in listed_pictures()}
