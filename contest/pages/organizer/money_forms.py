"""Organizers' forms of prize money: deposits, payments, corrections, repayments by teams."""

from typing import Any

from django import forms
from django.contrib.auth.models import User

from common.domain_clock import domain_now
from common.web.forms import Form, TextField, WholeNumberField
from contest.core.teams import team_by_id
from contest.ledger.amounts import money
from contest.ledger.models import Correction, LedgerEntry, Payment
from contest.ledger.services import MAX_ENTRY_CHARACTERS, pool_deposit
from contest.payments import corrections
from contest.payments.services import payment_cancel, payment_pay
from contest.payments.statements import TeamDebt
from contest.web.money_forms import MoneyForm, SumField
from contest.web.page_context import sum_words

_NO_TEAM = "Choose the team that gave money back."


class DepositForm(MoneyForm):
    """Records a deposit of prize money."""

    sum = SumField()
    reason = TextField("Where it came from (it is public)", max_length=MAX_ENTRY_CHARACTERS, rows=2)

    def save(self, *, by: User) -> LedgerEntry:
        """Post the deposit."""
        return pool_deposit(cents=self.cleaned_data["sum"], reason=self.cleaned_data["reason"], by=by, now=domain_now())


class PaidForm(Form):
    """Records that a payment was made."""

    reference = TextField("The bank's reference", max_length=200)

    def save(self, *, payment: Payment, by: User) -> Payment:
        """Post the payment."""
        return payment_pay(payment_id=payment.pk, reference=self.cleaned_data["reference"], by=by, now=domain_now())


class CancelPaymentForm(Form):
    """Cancels a payment."""

    def save(self, *, payment: Payment, by: User) -> Payment:
        """Cancel the payment."""
        return payment_cancel(payment_id=payment.pk, by=by, now=domain_now())


class CorrectionForm(MoneyForm):
    """Requests a correction: a wrong ledger entry, and how much of it is reversed."""

    entry = WholeNumberField("Number of the entry", error="Write the number of the entry.")
    sum = SumField("Sum to take back")
    reason = TextField("What was wrong (it is public)", max_length=MAX_ENTRY_CHARACTERS, rows=2)

    def save(self, *, by: User) -> Correction:
        """Request the correction, which another organizer confirms."""
        data = self.cleaned_data
        return corrections.correction_request(
            entry=data["entry"], cents=data["sum"], reason=data["reason"], by=by, now=domain_now()
        )


class RepaymentForm(MoneyForm):
    """Requests to record a team's repayment."""

    team = forms.ChoiceField(label="Team", error_messages={"required": _NO_TEAM, "invalid_choice": _NO_TEAM})
    sum = SumField()
    reason = TextField("Which transfer it was (it is public)", max_length=MAX_ENTRY_CHARACTERS, rows=2)

    def __init__(self, *arguments: Any, owed: list[TeamDebt], currency: str, **named: Any) -> None:
        super().__init__(*arguments, currency=currency, **named)
        rows = ((each.team.public_id, f"{each.team.name}: owes {money(each.cents, currency)}") for each in owed)
        self.fields["team"].choices = [("", "Choose a team"), *rows]  # type: ignore[attr-defined]

    def save(self, *, by: User) -> Correction:
        """Request to record the repayment, which another organizer confirms."""
        team = team_by_id(self.cleaned_data["team"])
        assert team is not None, "it is one of the choices"
        return corrections.repayment_request(
            team=team, cents=self.cleaned_data["sum"], reason=self.cleaned_data["reason"], by=by, now=domain_now()
        )


class ConfirmCorrectionForm(Form):
    """Confirms a correction."""

    def save(self, *, correction: Correction, by: User) -> str:
        """Post it."""
        done = corrections.correction_confirm(correction_id=correction.pk, by=by, now=domain_now())
        return f"{sum_words(correction.cents)} are corrected: entry {done.entry_id} of the ledger."


class CancelCorrectionForm(Form):
    """Cancels a correction."""

    def save(self, *, correction: Correction, by: User) -> str:
        """Cancel it."""
        corrections.correction_cancel(correction_id=correction.pk, by=by, now=domain_now())
        return "The correction is called off. Nothing was moved."
