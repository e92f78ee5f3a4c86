"""The forms of teams' appeals and of their answers to appeals (R18). Each is previewed before it is sent."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.functional import cached_property

from common.domain_clock import domain_now
from common.typed import whole_number
from common.web.forms import Form, TextField
from contest.appeals import services
from contest.board.models import Appeal, AppealStatement
from contest.core.models import Case, Team
from contest.core.roles import refuse_other_team
from labeling.models import Image

_MAX_DIGITS = 6


@dataclass(frozen=True, slots=True)
class AppealPreview:
    """An appeal as the board and the other side will read it."""

    argument: str
    marks: list[dict[str, Any]]


class SideField(forms.Field):
    """One number of a mark. The service says which mark is wrong."""

    def __init__(self, label: str) -> None:
        widget = forms.TextInput({"inputmode": "numeric", "autocomplete": "off"})
        super().__init__(label=label, required=False, widget=widget)

    def to_python(self, value: Any) -> int | str:
        """Return the number; text that is no number, as it was typed."""
        typed = str(value or "").strip()
        number = whole_number(typed, digits=_MAX_DIGITS)
        return typed if number is None else number


class MarkForm(Form):
    """A mark on the picture: a rectangle in pixels, and what is to be seen there."""

    x, y, width, height = SideField("x"), SideField("y"), SideField("width"), SideField("height")
    words = TextField("What is to be seen there", max_length=services.MAX_MARK_CHARACTERS, required=False)


# One mark too many is enough to be refused. Two rows are offered where the page's script does not run.
MarkForms = forms.formset_factory(MarkForm, extra=2, max_num=services.MAX_MARKS, absolute_max=services.MAX_MARKS + 1)


class PreviewedForm(Form):
    """A form that is previewed and then sent: `do` is the pressed button, `team` the team for which it was opened."""

    team = forms.CharField(widget=forms.HiddenInput, required=False)

    @property
    def do(self) -> str:
        """Return the value of the button: send, preview, change, or more."""
        return str(self.data.get("do", ""))


class AppealForm(PreviewedForm):
    """An appeal on a picture."""

    argument = TextField(
        "Your argument",
        max_length=services.MAX_ARGUMENT_CHARACTERS,
        rows=9,
        minlength=services.MIN_TEXT.characters,
        help_text=f"Say why the ruling is wrong by the rules, and where it shows: {services.MIN_TEXT}, at most "
        f"{services.MAX_ARGUMENT_CHARACTERS:,} characters. The other side reads it and may answer.",
    )
    # Shows the errors of the marks, each of which has its own form.
    marks = forms.Field(required=False, widget=forms.HiddenInput)

    @cached_property
    def typed_marks(self) -> list[dict[str, Any]]:
        """Return the marks that have anything in them."""
        rows = MarkForms(self.data, prefix="mark") if self.is_bound else ()
        return [row.cleaned_data for row in rows if row.has_changed() and row.is_valid()]

    def clean_marks(self) -> None:
        """Refuse marks that come without their count, so that none is lost silently."""
        is_counted = MarkForms(self.data, prefix="mark").management_form.is_valid()
        if not is_counted and any(name.startswith(("mark-", "mark_")) for name in self.data):
            raise ValidationError("The marks did not arrive. Reload the page and mark the spots again.", "invalid")

    @property
    def mark_forms(self) -> "forms.BaseFormSet[MarkForm]":
        """Return the forms of the marks, with empty ones after those that were typed."""
        return MarkForms(initial=self.typed_marks, prefix="mark", auto_id="%s")

    def save(self, *, image: Image, team: Team, by: User) -> Appeal | AppealPreview | None:
        """Send the appeal, or return its preview; None where the form is shown again."""
        data = self.cleaned_data
        refuse_other_team(data["team"], team)
        argument, marks = data["argument"], self.typed_marks
        if self.do == "send":
            return services.appeal_send(image=image, team=team, argument=argument, marks=marks, by=by, now=domain_now())
        if self.do == "preview":
            return AppealPreview(services.validate_argument(argument), services.validate_marks(marks, image))
        return None


class StatementForm(PreviewedForm):
    """A team's one answer to the appeals of a case."""

    words = TextField(
        "What the board should know",
        max_length=services.MAX_ARGUMENT_CHARACTERS,
        rows=7,
        minlength=services.MIN_TEXT.characters,
        help_text="Say what speaks for the ruling, or what the argument leaves out: "
        f"{services.MIN_TEXT}, at most {services.MAX_ARGUMENT_CHARACTERS:,} characters.",
    )

    def save(self, *, case: Case, team: Team, by: User) -> AppealStatement | str:
        """Send the answer, or return its preview; empty where the form is shown again."""
        words = self.cleaned_data["words"]
        refuse_other_team(self.cleaned_data["team"], team)
        if self.do == "change":
            return ""
        if self.do == "send":
            return services.statement_send(case=case, team=team, words=words, by=by, now=domain_now())
        services.refuse_statement(case, team)
        return services.validate_answer(words)
