"""Forms of gold (R6): the filter of candidates, the right answers of a picture, and what happens with one in use."""

from datetime import datetime

from django import forms
from django.contrib.auth.models import User
from django_filters import ChoiceFilter

from common.typed import whole_number
from common.web.forms import Form, TextField
from common.web.lists import ListFilter
from labeling.enums import Origin
from labeling.models import KnownPicture, Panel
from labeling.wording import ANSWERS
from monitoring import gold_choice
from monitoring.actions import MAX_REASON_CHARACTERS
from policy.enums import OutlineGate

_FACTS = [("", "Not marked"), (True, "True"), (False, "False")]
_NO_ACTION = "Choose what happens with the picture."


class CandidateFilter(ListFilter):
    """Settled panels by the origin of their picture."""

    origin = ChoiceFilter(
        label="Origin",
        field_name="image__origin",
        empty_label="All",
        choices=[(each.value, each.capitalize()) for each in Origin],
    )


def _answers_field(label: str) -> forms.MultipleChoiceField:
    choices = [(answer.value, short) for answer, _, short in ANSWERS]
    return forms.MultipleChoiceField(
        label=f"{label}: what counts as right", choices=choices, required=False, widget=forms.CheckboxSelectMultiple
    )


def _fact_field(label: str) -> forms.NullBooleanField:
    return forms.NullBooleanField(label=label, required=False, widget=forms.Select(choices=_FACTS))


class GoldForm(Form):
    """The right answers of a picture; the service says which of them do not fit together."""

    accepts_bird = _answers_field("Bird")
    accepts_bicycle = _answers_field("Bicycle")
    outline = forms.CharField(
        label="Outline, as rings of corners in pixels; empty where nothing is to be outlined",
        required=False,
        widget=forms.Textarea({"rows": 4, "cols": False, "spellcheck": "false"}),
    )
    min_iou_percent = TextField("An outline is right from this overlap on, percent", max_length=3, inputmode="numeric")
    complete = _fact_field("Complete")
    unoccluded = _fact_field("Unoccluded")
    real = _fact_field("Real")
    topic = forms.ChoiceField(
        label="What it tests", choices=[(each.value, each.replace("_", " ")) for each in gold_choice.GOLD_TOPICS]
    )

    def clean_min_iou_percent(self) -> int:
        """Return the number; 0 for anything else."""
        return whole_number(self.cleaned_data["min_iou_percent"], digits=3) or 0

    def save(self, *, panel: Panel, gate: OutlineGate, by: User, now: datetime) -> KnownPicture:
        """Make the picture gold."""
        expected = gold_choice.GoldAnswers(**self.cleaned_data)
        return gold_choice.gold_add(panel=panel, expected=expected, gate=gate, by=by, now=now)


class GoldChangeForm(Form):
    """What happens with a gold picture in use; the reason is for retiring it."""

    action = forms.ChoiceField(
        choices=[("hold", "Hold"), ("let_go", "Let go"), ("retire", "Retire for ever")],
        error_messages={"required": _NO_ACTION, "invalid_choice": _NO_ACTION},
    )
    reason = TextField("Reason", max_length=MAX_REASON_CHARACTERS)

    def save(self, *, known: KnownPicture, by: User, now: datetime) -> str:
        """Change it; return what it is now."""
        match self.cleaned_data["action"]:
            case "hold":
                gold_choice.gold_hold(known=known, by=by, now=now)
                return "held; it is not dealt until you let it go"
            case "let_go":
                gold_choice.gold_release(known=known, by=by, now=now)
                return "in use again"
        gold_choice.gold_retire(known=known, reason=self.cleaned_data["reason"], by=by, now=now)
        return "retired; it is never dealt again"
