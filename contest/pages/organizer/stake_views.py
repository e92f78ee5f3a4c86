"""Organizers' page of stakes: payments to record, current stakes, defenses that should be published (R32)."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import Conflict, required
from common.web.form_fields import redirect_with_message
from common.web.forms import Form, RowForm, RowNumberField, TextField
from common.web.page import page
from contest.core.models import Stake
from contest.defenses import selectors, stake_rows, staking
from policy.selectors import policy_in_force
from scoring.models import CopyFlag
from scoring.trials.selectors import copy_flags_of

LATEST = 50


class ReceivedForm(RowForm):
    """Records that the payment of a requested stake was received."""

    keys = ("stake",)
    stake = RowNumberField()
    receipt = TextField("Which payment it was: date, bank's reference", max_length=staking.MAX_RECEIPT_CHARACTERS)

    def save(self, *, by: User) -> str:
        """Begin the stake."""
        stake = _requested(self.cleaned_data["stake"])
        staking.stake_receive(stake, self.cleaned_data["receipt"], by=by, now=domain_now())
        return f"The payment is on record: {stake.defense.name} is at stake from now on."


class DropStakeForm(Form):
    """Cancels a requested stake."""

    stake = RowNumberField()

    def save(self, *, by: User) -> str:
        """Cancel the request."""
        stake = _requested(self.cleaned_data["stake"])
        staking.stake_cancel(stake, by=by, now=domain_now())
        return f"The wish to stake {stake.defense.name} is dropped."


def _requested(number: int) -> Stake:
    return required(
        selectors.stake_without_money(number),
        Conflict("This stake no longer waits for a payment. Reload the page to see its state.", "not_waiting"),
    )


@page(organizer_of, "GET POST")
def stakes(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show the stakes; record a payment, or cancel a request."""
    now, drops = domain_now(), "drop" in request.POST
    received = ReceivedForm(request.POST if request.method == "POST" and not drops else None)
    sent = DropStakeForm(request.POST) if drops else received
    if done := sent.submit(by=organizer):
        return redirect_with_message(request, done, "organizer-stakes")
    policy = policy_in_force(now).policy
    unpublished = stake_rows.entry_rows(selectors.entries_unpublished(), now)
    context = {
        "asked": [
            (stake_rows.stake_row(each, now), received.for_row(each.pk)) for each in selectors.stakes_requested()
        ],
        "in_force": [stake_rows.stake_row(each, now) for each in selectors.stakes_in_force()],
        "ended": [stake_rows.stake_row(each, now) for each in selectors.stakes_over()[:LATEST]],
        "overdue": _flagged(selectors.overdue(policy, now)),
        "waiting": _flagged(row for row in unpublished if not row.failed and row.entry.due_at > now),
        "failed": [row for row in unpublished if row.failed],
        "form": sent,
        "now": now,
        "zone": policy.time_zone,
    }
    return render(request, "stakes/organizer.html", context, status=sent.status)


def _flagged(rows: Iterable[Any]) -> list[tuple[Any, list[CopyFlag]]]:
    """Return each row with the flags that its defense looks like a copy of another."""
    return [(row, copy_flags_of(row.entry.defense)) for row in rows]
