"""Forms of questions and reports: a tasker's question, and the answers and decisions of organizers."""

from datetime import datetime
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from common.errors import NotFound
from common.web.forms import Form, RowForm, RowNumberField, TextField
from labeling.enums import ReportDecision
from labeling.models import Image, Question, Report, Tasker
from labeling.questions.selectors import reported_image
from labeling.questions.services import (
    MAX_ANSWER_CHARACTERS,
    MAX_QUESTION_CHARACTERS,
    MAX_REPORT_CHARACTERS,
    question_answer,
    question_send,
    report_decide,
)

_EVERYBODY, _ASKER = "everybody", "asker"
_NO_READER = "Choose who reads the answer."
_NO_DECISION = "Choose whether the picture goes back to the taskers or stays away from them."


class QuestionForm(Form):
    """A tasker's question."""

    text = TextField(gettext_lazy("Your question"), max_length=MAX_QUESTION_CHARACTERS, rows=4)

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        words = _(
            "At most %(max_characters)s characters. Organizers see your tasker ID, not your name. An answer that "
            "helps everybody is published without your question."
        )
        self.fields["text"].help_text = words % {"max_characters": MAX_QUESTION_CHARACTERS}

    def save(self, *, tasker: Tasker, now: datetime) -> Question:
        """Send the question."""
        return question_send(tasker=tasker, text=self.cleaned_data["text"], now=now)


class AnswerForm(RowForm):
    """An organizer's answer to a question."""

    keys = ("question",)
    question = RowNumberField()
    answer = TextField("Answer", max_length=MAX_ANSWER_CHARACTERS, rows=3)
    to = forms.ChoiceField(
        label="Who reads it",
        choices=[(_ASKER, "Only the tasker who asked"), (_EVERYBODY, "Everybody, as a clarification")],
        widget=forms.RadioSelect,
        error_messages={"required": _NO_READER, "invalid_choice": _NO_READER},
    )
    requalify = forms.BooleanField(
        label="A clarification that changes answers: everybody passes a short qualification first",
        required=False,
        widget=forms.CheckboxInput({"value": "yes"}),
    )

    def save(self, *, by: User, now: datetime, confirmed: bool) -> Question:
        """Send the answer. One after which everybody qualifies again is sent once it is `confirmed`: until then return
        the question without an answer."""
        data = self.cleaned_data
        return question_answer(
            question_id=data["question"],
            answer=data["answer"],
            to_everybody=data["to"] == _EVERYBODY,
            requalify=data["requalify"],
            by=by,
            now=now,
            only_check=data["requalify"] and not confirmed,
        )


class QuestionDecisionForm(RowForm):
    """An organizer's decision on a reported picture."""

    keys = ("image",)
    image = forms.CharField(widget=forms.HiddenInput, required=False)
    decision = forms.ChoiceField(
        label="Decision",
        choices=[
            (ReportDecision.REOPENED.value, "Give it back to the taskers"),
            (ReportDecision.KEPT_OUT.value, "Keep it out: nobody is asked about it any more (needs a reason)"),
        ],
        widget=forms.RadioSelect,
        error_messages={"required": _NO_DECISION, "invalid_choice": _NO_DECISION},
    )
    reply = TextField("Reply, or the reason", max_length=MAX_REPORT_CHARACTERS, rows=2, required=False)

    def clean_image(self) -> Image:
        """Return the picture; NotFound for one that nobody reported."""
        image = reported_image(self.cleaned_data["image"])
        if image is None:
            raise NotFound("There is no such reported picture.", "not_found")
        return image

    def save(self, *, by: User, now: datetime) -> list[Report]:
        """Decide the reports of the picture."""
        data = self.cleaned_data
        decision = ReportDecision(data["decision"])
        return report_decide(image=data["image"], decision=decision, reply=data["reply"], by=by, now=now)
