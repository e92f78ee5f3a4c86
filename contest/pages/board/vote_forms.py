"""Forms of a case: voting, dropping a motion, deciding (R19-R22)."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib.auth.models import User

from adjudication.counting import CHOICES, agrees
from adjudication.rules import REASONS
from adjudication.services import MAX_EXPLANATION_CHARACTERS
from adjudication.wording import REASON_WORDS
from common.domain_clock import domain_now
from common.web.forms import Form, TextField
from contest.board.cases import MAX_VOTE_CHARACTERS, VoteCount, ballot_of, vote_cast
from contest.board.decisions import case_decide
from contest.board.models import CaseDecision, Vote
from contest.board.motions import motion_drop
from contest.board.public_decisions import CHOICE_WORDS
from contest.core.enums import CaseKind, VoteChoice
from contest.core.models import Case
from labeling.enums import Label

REJECT = "reject"
_NO_CHOICE = "Choose what you vote for."


class NamedRadios(forms.RadioSelect):
    """Radio buttons whose element ids end in their values."""

    def create_option(self, name: str, value: Any, label: Any, *arguments: Any, **named: Any) -> dict[str, Any]:
        """Return one of them."""
        option = super().create_option(name, value, label, *arguments, **named)
        option["attrs"] |= {"id": f"{name}-{value}", "data-words": label}
        return option


class VoteForm(Form):
    """A member's vote on a case."""

    choice = forms.ChoiceField(
        widget=NamedRadios, error_messages={"required": _NO_CHOICE, "invalid_choice": _NO_CHOICE}
    )
    outcome = forms.ChoiceField(
        choices=[*((each.value, f"valid, a {each}") for each in Label), (REJECT, "rejected, because")],
        widget=NamedRadios,
        required=False,
        error_messages={"invalid_choice": "Choose bird, bicycle or rejected."},
    )
    reasons = forms.MultipleChoiceField(
        choices=[(each.value, REASON_WORDS[each].words) for each in REASONS],
        widget=forms.CheckboxSelectMultiple,
        required=False,
        error_messages={"invalid_choice": "Choose reasons from the list."},
    )
    words = TextField("Your own words on your vote", max_length=MAX_VOTE_CHARACTERS, rows=3, required=False)
    public = forms.BooleanField(label="Publish this text with the decision, without my name", required=False)

    def __init__(self, *arguments: Any, case: Case, vote: Vote | None, words: str = "", **named: Any) -> None:
        super().__init__(*arguments, initial=_initial(vote) | ({"words": words} if words else {}), **named)
        self.case = case
        choices = [(each.value, CHOICE_WORDS[each].capitalize()) for each in CHOICES[CaseKind(case.kind)]]
        self.fields["choice"].choices = choices  # type: ignore[attr-defined]

    def save(self, *, by: User) -> Vote:
        """Cast the vote."""
        data = self.cleaned_data
        overrules = data["choice"] == VoteChoice.OVERRULE
        rejects = data["outcome"] == REJECT
        return vote_cast(
            case=self.case,
            by=by,
            now=domain_now(),
            choice=VoteChoice(data["choice"]),
            label=data["outcome"] if overrules and not rejects else "",
            # Reasons count only with the choice of a rejection.
            reasons=data["reasons"] if overrules and rejects else [],
            words=data["words"],
            public=data["public"],
        )


def _initial(vote: Vote | None) -> dict[str, Any]:
    if vote is None:
        return {}
    outcome = vote.label or (REJECT if vote.reasons else "")
    return {
        "choice": vote.choice,
        "outcome": outcome,
        "reasons": vote.reasons,
        "words": vote.words,
        "public": vote.public,
    }


class DropMotionForm(Form):
    """A member withdraws their motion."""

    def save(self, *, case: Case, by: User) -> CaseDecision:
        """Close the motion."""
        return motion_drop(case=case, by=by, now=domain_now())


class CaseDecisionForm(Form):
    """A member confirms the outcome of the votes. `seen` is the mark of the votes that the member saw, `previewed` the
    explanation in the preview that the member saw."""

    seen = forms.CharField(required=False)
    previewed = TextField("", max_length=MAX_EXPLANATION_CHARACTERS, required=False)
    explanation = TextField(
        "Public explanation, if you want to give one", max_length=MAX_EXPLANATION_CHARACTERS, rows=6, required=False
    )

    def __init__(self, *arguments: Any, count: VoteCount, **named: Any) -> None:
        super().__init__(*arguments, initial={"explanation": _published(count)}, **named)
        if count.decides.choice is VoteChoice.OVERRULE:
            words = "Public explanation (required: what the answers show, and why the board rules differently)"
            self.fields["explanation"].label = words

    @property
    def is_previewed(self) -> bool:
        """Say whether the explanation is the one in the preview that the member saw."""
        self.is_valid()
        return bool(self.cleaned_data.get("previewed") == self.cleaned_data.get("explanation"))

    def save(self, *, case: Case, by: User) -> CaseDecision:
        """Decide the case."""
        seen, explanation = self.cleaned_data["seen"], self.cleaned_data["explanation"]
        return case_decide(case=case, seen=seen, explanation=explanation, by=by, now=domain_now())


def _published(count: VoteCount) -> str:
    """Return the public explanations of the votes for the outcome: the initial text of the decision's explanation."""
    texts: Sequence[str] = [
        vote.words for vote in count.votes if vote.public and agrees(ballot_of(vote), count.decides)
    ]
    return "\n\n".join(dict.fromkeys(texts))  # identical texts once, whoever wrote them
