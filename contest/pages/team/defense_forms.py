"""The forms of a team's page about one defense. `save` returns what was done, for the person to read."""

from django import forms
from django.contrib.auth.models import User

from common.domain_clock import domain_now
from common.errors import InvalidInput
from common.web.forms import Form, TextField
from contest.core.models import Stake
from contest.defenses import entries, selectors, staking
from contest.defenses.models import DefenseEntry

_LONGEST_REASON = 4_000


class ConfirmField(forms.BooleanField):
    """A box that has to be checked."""

    def __init__(self) -> None:
        super().__init__(
            error_messages={"required": "Nothing was changed. Check the box to confirm."},
            widget=forms.CheckboxInput({"value": "yes", "required": True}),
        )


class DefenseForm(Form):
    """A form about a defense of the team."""

    def save(self, *, entry: DefenseEntry, by: User) -> str:
        """Do it."""
        raise NotImplementedError


class StakeDefenseForm(DefenseForm):
    """That the team wants to stake its defense (R32)."""

    sure = ConfirmField()

    def save(self, *, entry: DefenseEntry, by: User) -> str:
        """Request the stake."""
        staking.stake_request(entry.defense, by=by, now=domain_now())
        return "The organizers were notified. The stake begins when your payment is received."


class CancelStakeForm(DefenseForm):
    """That the team no longer wants to stake it."""

    def save(self, *, entry: DefenseEntry, by: User) -> str:
        """Cancel the requested stake."""
        staking.stake_cancel(_stake_of(entry), by=by, now=domain_now())
        return "The stake is cancelled. There is nothing to pay."


class ReturnDefenseForm(DefenseForm):
    """Why the board should return the stake."""

    reason = TextField("Why should the board return it?", most=_LONGEST_REASON, rows=3)

    def save(self, *, entry: DefenseEntry, by: User) -> str:
        """Ask the board."""
        staking.return_request(_stake_of(entry), self.cleaned_data["reason"], by=by, now=domain_now())
        return "The board was asked. Until it answers, the defense stays at stake."


class WithdrawDefenseForm(DefenseForm):
    """That the defense is withdrawn for good."""

    sure = ConfirmField()

    def save(self, *, entry: DefenseEntry, by: User) -> str:
        """Withdraw the defense."""
        entries.entry_withdraw(entry, by=by, now=domain_now())
        return f"{entry.defense.name} is withdrawn. Its answers stay in the record."


def _stake_of(entry: DefenseEntry) -> Stake:
    stake = selectors.open_stake_of(entry.defense)
    if stake is None:
        raise InvalidInput("This defense is not at stake.", "not_staked")
    return stake
