"""Validates a submitted labeling form: returns the answers, or names every wrong field (R9-R12)."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from common.errors import InvalidInput, WrongFields
from labeling.enums import Answer, Label
from labeling.marking import STATEMENTS
from labeling.outline_gate import class_to_outline
from labeling.outlines import Outline, read_outline
from policy.enums import OutlineGate

QUESTIONS = ("contains_bird", "contains_bicycle")
FIELDS = frozenset({"lease_token", *QUESTIONS, "outline", *STATEMENTS, "seconds"})
MAX_SECONDS = 24 * 3600
OUTLINE_OR_NULL = {
    Label.BIRD: gettext_lazy("Outline the largest single bird, or send null to say that you cannot."),
    Label.BICYCLE: gettext_lazy("Outline the largest single bicycle, or send null to say that you cannot."),
}


@dataclass(frozen=True, slots=True)
class FormAnswers:
    """One filled-in form. The three statements are None exactly when question 4 did not apply.

    `outline` is None when question 3 did not apply, or when the tasker states that nothing can be outlined.
    """

    bird: Answer
    bicycle: Answer
    outline: Outline | None
    complete: bool | None
    unoccluded: bool | None
    real: bool | None
    milliseconds: int

    @property
    def sha256(self) -> str:
        """Return a hash that distinguishes a repeated submission from a different one; it leaves out the time taken."""
        said = [
            self.bird,
            self.bicycle,
            self.outline.json if self.outline else None,
            self.complete,
            self.unoccluded,
            self.real,
        ]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def read_form(data: Mapping[str, Any], *, width: int, height: int, gate: OutlineGate) -> FormAnswers:
    """Read a form for a `width` x `height` pixel image; WrongFields names every field that has to change."""
    wrong = {name: _("The field '%(name)s' is not known.") % {"name": name} for name in sorted(set(data) - FIELDS)}
    answers = {name: _answer(data, name, wrong) for name in QUESTIONS}
    bird, bicycle = answers["contains_bird"], answers["contains_bicycle"]
    milliseconds = _milliseconds(data.get("seconds", 0), wrong)
    if wrong or bird is None or bicycle is None:
        raise WrongFields(wrong)
    asked = class_to_outline(bird, bicycle, gate)
    statements = {name: _statement(data.get(name), name, asked, wrong) for name in STATEMENTS}
    outline = _outline(data, asked, width, height, wrong)
    if wrong:
        raise WrongFields(wrong)
    return FormAnswers(bird, bicycle, outline, **statements, milliseconds=milliseconds)


def _answer(data: Mapping[str, Any], name: str, wrong: dict[str, str]) -> Answer | None:
    value = data.get(name)
    if isinstance(value, str) and value in Answer._value2member_map_:
        return Answer(value)
    wrong[name] = _("Answer %(name)s with one of: %(answers)s.") % {"name": name, "answers": ", ".join(Answer)}
    return None


def _milliseconds(value: Any, wrong: dict[str, str]) -> int:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and 0 <= value <= MAX_SECONDS:
        return int(round(value * 1000))
    wrong["seconds"] = _("Send seconds as a number from 0 to %(most)s.") % {"most": MAX_SECONDS}
    return 0


def _statement(value: Any, name: str, asked: Label | None, wrong: dict[str, str]) -> bool | None:
    if asked is None and value is not None:
        message = _("%(name)s was not asked with these answers to questions 1 and 2: leave it out.")
        wrong[name] = message % {"name": name}
    elif asked is not None and not isinstance(value, bool):
        message = _("Answer %(name)s with true or false: question 4 is asked with these answers to questions 1 and 2.")
        wrong[name] = message % {"name": name}
    return value if isinstance(value, bool) else None


def _outline(
    data: Mapping[str, Any], asked: Label | None, width: int, height: int, wrong: dict[str, str]
) -> Outline | None:
    value = data.get("outline")
    if asked is None and value is not None:
        wrong["outline"] = _("No outline was asked with these answers to questions 1 and 2: leave it out.")
    elif asked is not None and "outline" not in data:
        # An explicit null states that nothing can be outlined; a missing field does not.
        wrong["outline"] = str(OUTLINE_OR_NULL[asked])
    elif asked is not None and value is not None:
        try:
            return read_outline(value, width=width, height=height)
        except InvalidInput as error:
            wrong["outline"] = error.message
    return None
