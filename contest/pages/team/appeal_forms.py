"""The forms of teams' appeals and of their answers to appeals (R18). Each is previewed before it is sent."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.auth.models import User

from common.domain_clock import domain_now
from common.web.forms import Form, TextField
from contest.appeals import services
from contest.board.models import Appeal, AppealStatement
from contest.core.models import Case, Team
from contest.core.roles import refuse_other_team
from contest.web.typed_marks import TypedMark, typed_marks, with_empty_rows
from labeling.models import Image


@dataclass(frozen=True, slots=True)
class AppealPreview:
    """An appeal as the board and the other side will read it."""

    argument: str
    marks: list[dict[str, Any]]


class MarksInput(forms.Widget):
    """Rows of five inputs each."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[TypedMark]:
        """Return the rows that have anything in them."""
        return typed_marks(data)


class PreviewedForm(Form):
    """A form that is previewed and then sent: `do` says which, or that it is shown again. It names the `team` that it
    was opened for."""

    team = forms.CharField(widget=forms.HiddenInput, required=False)

    @property
    def do(self) -> str:
        """Return the value of the button: send, preview, change, or more."""
        return str(self.data.get("do", ""))


class AppealForm(PreviewedForm):
    """An appeal on a picture."""

    argument = TextField(
        "Your argument",
        most=services.MOST_CHARACTERS,
        rows=9,
        minlength=services.MINIMUM_TEXT.characters,
        help_text=f"Say why the ruling is wrong by the rules, and where it shows: {services.MINIMUM_TEXT}, at most "
        f"{services.MOST_CHARACTERS:,} characters. The other side reads it and may answer.",
    )
    marks = forms.Field(widget=MarksInput, required=False)

    @property
    def mark_rows(self) -> list[TypedMark]:
        """Return the rows of marks, with a few empty ones."""
        return with_empty_rows(self["marks"].value() or [])

    def save(self, *, image: Image, team: Team, by: User) -> Appeal | AppealPreview | None:
        """Send the appeal, or return its preview; None where the form is shown again."""
        data = self.cleaned_data
        refuse_other_team(data["team"], team)
        argument, marks = data["argument"], [each.value for each in data["marks"]]
        if self.do == "send":
            return services.appeal_send(image=image, team=team, argument=argument, marks=marks, by=by, now=domain_now())
        if self.do == "preview":
            return AppealPreview(services.validate_argument(argument), services.validate_marks(marks, image))
        return None


class StatementForm(PreviewedForm):
    """A team's one answer to the appeals of a case."""

    words = TextField(
        "What the board should know",
        most=services.MOST_CHARACTERS,
        rows=7,
        minlength=services.MINIMUM_TEXT.characters,
        help_text="Say what speaks for the ruling, or what the argument leaves out: "
        f"{services.MINIMUM_TEXT}, at most {services.MOST_CHARACTERS:,} characters.",
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
