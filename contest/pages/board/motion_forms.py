"""Forms that open a board member's motions: grants, stakes, withheld prizes, awards (R21)."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from common.domain_clock import domain_now
from common.errors import InvalidInput, NotFound, required
from common.typed import whole_number
from common.web.forms import Form, RowForm, RowNumberField, TextField
from contest.board import motions
from contest.board.recusal import teams_stepped_aside_for
from contest.core.decisions import MAX_REASON_CHARACTERS
from contest.core.models import Case, Stake, Team
from contest.core.teams import team_by_id
from contest.defenses.selectors import return_request_of
from contest.defenses.staking import MAX_STATEMENT_CHARACTERS
from contest.ledger.models import Account
from contest.ledger.selectors import account_of_prizes
from contest.ledger.services import MAX_ENTRY_CHARACTERS
from contest.prizes.selectors import award_by_number, award_of
from contest.teams.selectors import entitlement_by_number, other_teams
from contest.web.money_forms import MoneyForm, SumField
from scoring.models import Defense
from scoring.selectors import defenses_named

_NO_TEAM = "Choose a team of the list."
_NO_ACCOUNT = "Choose an account of the list."
_RETURNED = (
    "Yes: the stake ends and its money goes back. Pictures that were sent in its time still run, and may break it"
)
Choices = list[tuple[str, str]]


class MotionForm(Form):
    """Base form of a member's motion. `save` opens the motion and returns its case."""

    # The value of the submit button, its label and its CSS class.
    action: ClassVar[str] = ""
    button: ClassVar[str]
    look: ClassVar[str] = ""
    # The subject of the page, for the name of its draft.
    about = ""
    reason = TextField("Reason (it is public)", max_length=MAX_REASON_CHARACTERS, rows=3)

    @classmethod
    def of(cls, request: HttpRequest, /, *, action: str | tuple[str, ...] = "", **named: Any) -> Self:
        """Return the form as it was sent, or an empty one."""
        return super().of(request, action=action or cls.action, **named)

    @property
    def draft(self) -> str:
        """Return the name of the browser draft, without the account."""
        keys = [str(field.value() or "") for field in self.hidden_fields()]
        return " ".join(["motion", type(self).__name__, *filter(None, [self.about, *keys])])

    def motion_arguments(self) -> dict[str, Any]:
        """Return the arguments that every motion has."""
        return {"reason": self.cleaned_data["reason"], "now": domain_now()}


def _choose(form: Form, name: str, choices: Choices) -> None:
    form.fields[name].widget.choices = choices


# Grants ---------------------------------------------------------------------------------------------------------------


class GrantForm(MotionForm):
    """Motion that a team without a paper may attack."""

    button = "Move to grant it"
    field_order = ["team", "reason"]
    team = forms.CharField(label="Team", widget=forms.Select, error_messages={"required": _NO_TEAM})

    def __init__(self, *arguments: Any, teams: list[Team], **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.teams = teams
        rows = [(each.public_id, f"{each.name} ({each.public_id})") for each in teams]
        _choose(self, "team", [("", "Choose a team"), *rows])

    def save(self, *, by: User) -> Case:
        """Open the motion."""
        team = required(team_by_id(self.cleaned_data["team"]), InvalidInput(_NO_TEAM, "invalid", field="team"))
        return motions.grant_move(team, by=by, **self.motion_arguments())


class RevokeGrantForm(MotionForm, RowForm):
    """Motion to revoke a grant."""

    action, button, look = "revoke", "Move to revoke it", "final"
    keys = ("grant",)
    grant = RowNumberField()

    def save(self, *, by: User) -> Case:
        """Open the motion."""
        grant = required(
            entitlement_by_number(self.cleaned_data["grant"]), InvalidInput("Choose a grant of the list.", "invalid")
        )
        return motions.revoke_move(grant, by=by, **self.motion_arguments())


# Stakes ---------------------------------------------------------------------------------------------------------------


class DefensesField(forms.MultipleChoiceField):
    """Defenses by their IDs. The service says which of them can be staked."""

    def valid_value(self, value: Any) -> bool:
        """Take every ID."""
        return True


class StakeMotionForm(MotionForm):
    """Motion to stake defenses together."""

    names = {"defenses": "defense"}
    button = "Move to stake them"
    field_order = ["defense", "criteria", "reason"]
    defense = DefensesField(
        label="Defenses",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one defense."},
    )
    criteria = TextField(
        "Criteria by which these were chosen (they are public)", max_length=MAX_STATEMENT_CHARACTERS, rows=3
    )

    def __init__(self, *arguments: Any, defenses: list[Defense], **named: Any) -> None:
        super().__init__(*arguments, **named)
        _choose(self, "defense", [(each.public_id, each.name) for each in defenses])

    def save(self, *, by: User) -> Case:
        """Open the motion."""
        chosen = defenses_named(self.cleaned_data["defense"])
        if not chosen:
            raise InvalidInput("Choose at least one defense.", "invalid", field="defenses")
        moved = self.motion_arguments()
        return motions.stakes_move(chosen, self.cleaned_data["criteria"], moved.pop("reason"), by=by, **moved)


class ReturnAnswerForm(MotionForm, RowForm):
    """Motion to answer a team that wants its defense returned."""

    action, button = "answer", "Move this answer"
    keys = ("stake",)
    field_order = ["stake", "granted", "reason"]
    stake = RowNumberField()
    granted = forms.ChoiceField(
        label="Is it returned?",
        widget=forms.RadioSelect,
        choices=[
            ("yes", _RETURNED),
            ("no", "No: it stays at stake"),
        ],
        error_messages={"required": "Choose whether it is returned."},
    )

    def clean(self) -> None:
        """Refuse an answer where the team's request is not open."""
        self._asked_back = return_request_of(self.cleaned_data["stake"])
        if self._asked_back is None:
            raise ValidationError("The request for this defense is no longer open. Reload the page.", "not_requested")

    def save(self, *, by: User) -> Case:
        """Open the motion."""
        assert self._asked_back is not None, "clean refuses it"
        granted = self.cleaned_data["granted"] == "yes"
        return motions.answer_move(self._asked_back, granted=granted, by=by, **self.motion_arguments())


# Withheld prizes ------------------------------------------------------------------------------------------------------


class WithholdForm(MoneyForm, MotionForm):
    """Motion to withhold money of a team, or of a team's share of a stake."""

    button = "Move to withhold it"
    field_order = ["account", "team", "sum", "reason"]
    account = forms.CharField(label="Of", widget=forms.Select, error_messages={"required": _NO_ACCOUNT})
    team = forms.CharField(
        label="Of a stake: whose share",
        widget=forms.Select,
        required=False,
        help_text="Only this team has less. The others who broke the defense have their shares whole.",
    )
    sum = SumField()

    def __init__(self, *arguments: Any, accounts: Choices, teams: list[Team], **named: Any) -> None:
        super().__init__(*arguments, **named)
        _choose(self, "account", [("", "Choose an account"), *accounts])
        rows = [(each.public_id, f"Team {each.name}") for each in teams]
        _choose(self, "team", [("", "Not of a stake"), *rows])

    def save(self, *, by: User) -> Case:
        """Open the motion."""
        account, team = account_and_team(self.cleaned_data, by)
        return motions.withhold_move(account, self.cleaned_data["sum"], team=team, by=by, **self.motion_arguments())


class ReturnWithheldForm(MotionForm, RowForm):
    """Motion to give withheld money back."""

    action, button, look = "return", "Move to give it back", "secondary"
    keys = ("account", "team", "award")
    names = {"account": ""}  # it is hidden
    account = forms.CharField(widget=forms.HiddenInput, required=False)
    team = forms.CharField(widget=forms.HiddenInput, required=False)
    award = RowNumberField()

    def save(self, *, by: User) -> Case:
        """Open the motion."""
        account, team = account_and_team(self.cleaned_data, by)
        award = award_by_number(self.cleaned_data["award"])
        return motions.return_move(account, team=team, award=award, by=by, **self.motion_arguments())


def account_and_team(data: dict[str, Any], by: User) -> tuple[Account, Team | None]:
    """Return the account that a form names, and for a stake the team whose share is meant.

    A member who steps aside for the account's team may not know of it here (R21).
    """
    aside = teams_stepped_aside_for(by, now=domain_now())
    account = required(
        account_of_prizes(whole_number(data["account"]) or 0, but=aside),
        InvalidInput(_NO_ACCOUNT, "invalid", field="account"),
    )
    if account.stake_id is None:
        return account, None
    return account, other_teams(aside).filter(public_id=data["team"]).first()


# Awards ---------------------------------------------------------------------------------------------------------------


class OneStakeMotionForm(MotionForm):
    """Base form of a motion about one stake, or about its award."""

    service: ClassVar[Callable[..., Case]]
    of_award: ClassVar[bool] = False

    def __init__(self, *arguments: Any, stake: Stake, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.stake, self.about = stake, str(stake.pk)

    def save(self, *, by: User) -> Case:
        """Open the motion; NotFound without an award where it is about that."""
        subject = required(
            award_of(self.stake) if self.of_award else self.stake,
            NotFound("Nothing was awarded for this stake.", "not_found"),
        )
        return type(self).service(subject, by=by, **self.motion_arguments())


class AwardForm(OneStakeMotionForm):
    """Motion that the stake wins the prize."""

    button = "Move to award it"
    service = staticmethod(motions.award_move)
    field_order = ["statement", "reason"]
    statement = TextField("Public statement", max_length=MAX_ENTRY_CHARACTERS, rows=4)

    def motion_arguments(self) -> dict[str, Any]:
        """Return the arguments with the statement."""
        return super().motion_arguments() | {"statement": self.cleaned_data["statement"]}


class EndStakeForm(OneStakeMotionForm):
    """Motion to end a stake that lost the race."""

    action, button, look = "end", "Move to end it", "secondary"
    service = staticmethod(motions.end_move)


class WithholdAwardForm(OneStakeMotionForm):
    """Motion to withhold the stake's award."""

    action, button, look = "withhold", "Move to withhold it", "secondary"
    service, of_award = staticmethod(motions.award_withhold_move), True


class ForfeitForm(OneStakeMotionForm):
    """Motion to return the award's withheld money to the defenders' half."""

    action, button, look = "forfeit", "Move to put it back", "final"
    service, of_award = staticmethod(motions.forfeit_move), True
