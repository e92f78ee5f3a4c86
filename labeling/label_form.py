"""What the labeling page's template shows: the questions with what is filled in and what is wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse

from labeling import wording
from labeling.answers import STATEMENTS
from labeling.api import assignment_json
from labeling.enums import Answer, Label, OutlineGate
from labeling.models import Assignment
from labeling.rules import outline_asked_of

_CHOOSE = "Choose one of the four answers."
_TRUE_OR_FALSE = "Choose true or false."
_NOT_ASKED = "This is not asked with these answers to questions 1 and 2: choose “not asked”."
_NO_OUTLINE_ASKED = "No outline is asked with these answers to questions 1 and 2: leave the field empty."


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer as a button: `key` is what to press."""

    value: str
    text: str
    short: str
    key: int
    checked: bool


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """Question 1 or 2 on the page."""

    question: wording.Question
    choices: list[Choice]
    error: str
    open: bool

    @property
    def short(self) -> str:
        """Return the chosen answer in short, or nothing."""
        return next((choice.short for choice in self.choices if choice.checked), "")


@dataclass(frozen=True, slots=True)
class ShownStatement:
    """One statement of question 4 on the page."""

    field: str
    key: int
    text: str
    value: str
    error: str


@dataclass(frozen=True, slots=True)
class ShownForm:
    """The whole form. `values` are the posted text fields, `errors` what to change by field."""

    values: Mapping[str, str]
    errors: Mapping[str, str]
    gate: OutlineGate

    @property
    def asked(self) -> Label | None:
        """Return the class questions 3 and 4 are about with what is filled in (R10)."""
        bird, bicycle = (_answer(self.values.get(question.field)) for question in wording.QUESTIONS)
        return outline_asked_of(bird, bicycle, self.gate) if bird and bicycle else None

    @property
    def questions(self) -> list[ShownQuestion]:
        """Return questions 1 and 2; the first one, and any wrong one, stands open."""
        return [
            ShownQuestion(
                question=question,
                choices=self._choices(question.field),
                error=_CHOOSE if question.field in self.errors else "",
                open=question.field in self.errors or (question.number == 1 and not self.errors),
            )
            for question in wording.QUESTIONS
        ]

    def _choices(self, field: str) -> list[Choice]:
        return [
            Choice(str(answer), text, short, key, checked=self.values.get(field) == answer)
            for key, (answer, text, short) in enumerate(wording.ANSWERS, start=1)
        ]

    @property
    def follow_up(self) -> wording.FollowUp:
        """Return the words of questions 3 and 4: of one class where it is known."""
        return wording.FOLLOW_UPS[self.asked] if self.asked else wording.FOLLOW_UP_OF_EITHER

    @property
    def statements(self) -> list[ShownStatement]:
        """Return the three statements of question 4."""
        return [
            ShownStatement(
                field=field,
                key=key,
                text=getattr(self.follow_up, field),
                value=self.values.get(field, ""),
                error=self._statement_error(field),
            )
            for key, field in enumerate(STATEMENTS, start=1)
        ]

    def _statement_error(self, field: str) -> str:
        if field not in self.errors:
            return ""
        return _TRUE_OR_FALSE if self.asked else _NOT_ASKED

    @property
    def outline(self) -> str:
        """Return the outline as typed."""
        return self.values.get("outline", "")

    @property
    def cannot_outline(self) -> bool:
        """Return whether it is ticked that nothing can be outlined (R15)."""
        return bool(self.values.get("cannot_outline"))

    @property
    def outline_error(self) -> str:
        """Return what to change in the outline."""
        if "outline" not in self.errors:
            return ""
        if self.asked is None:
            return _NO_OUTLINE_ASKED
        if self.outline.strip():
            return self.errors["outline"]
        return f"Outline the largest single {self.asked}, or tick “{wording.CANNOT_OUTLINE}”."


def _answer(value: str | None) -> Answer | None:
    return Answer(value) if value in list(Answer) else None


def page_data(assignment: Assignment | None, *, username: str, gate: OutlineGate, retry_after: int) -> dict[str, Any]:
    """Return what the page's script starts from: the assignment, the addresses, the words and the gate's table."""
    return {
        "assignment": assignment_json(assignment) if assignment else None,
        "retryAfter": retry_after,
        "username": username,
        "api": reverse("assignment-next").removesuffix("next/"),
        "signIn": reverse("sign-in"),
        "asked": gate_table(gate),
        "followUps": {label: _words(follow_up) for label, follow_up in wording.FOLLOW_UPS.items()},
        "tieBreaks": wording.TIE_BREAKS,
    }


def _words(follow_up: wording.FollowUp) -> dict[str, str]:
    return {field: getattr(follow_up, field) for field in ("outline", *STATEMENTS)}


def gate_table(gate: OutlineGate) -> dict[str, str]:
    """Return `"<bird> <bicycle>" -> class` for each pair of answers that asks questions 3 and 4 (R10).

    The browser looks answers up here, so that the rule has one home.
    """
    pairs = ((bird, bicycle, outline_asked_of(bird, bicycle, gate)) for bird in Answer for bicycle in Answer)
    return {f"{bird} {bicycle}": asked.value for bird, bicycle, asked in pairs if asked}


def hidden_fields(assignment: Assignment | None, *, now: datetime) -> dict[str, str]:
    """Return what goes along with the answers: the lease, and when the form was shown."""
    return {
        "assignment": str(assignment.public_id) if assignment else "",
        "lease_token": assignment.lease_token if assignment else "",
        "shown": f"{now.timestamp():.3f}",
    }
