"""Organizers' pages of prize money: deposits, sums due, payments, the check of the ledger, CSV files."""

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import DomainError
from common.web.form_fields import redirect_with_message
from common.web.lists import csv_file
from common.web.page import page
from contest.core.teams import team_named
from contest.ledger.services import check_ledger_sums
from contest.pages.organizer.correction_views import corrected
from contest.pages.organizer.money_forms import CancelPaymentForm, DepositForm, PaidForm
from contest.payments import exports
from contest.payments.corrections import corrections_open
from contest.payments.payable import payables
from contest.payments.services import (
    payment_numbered,
    payment_request,
    payments_open,
    payments_over,
)
from contest.payments.statements import entries, money_overview
from contest.prizes.prize_facts import unpaid_own_breaks
from contest.web.page_context import money_context, page_end, sum_words
from policy.selectors import policy_in_force

PAYMENTS_SHOWN = 20


@page(organizer_of, "GET POST")
def organizer_money(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show the organizers' page of money; a POST records a deposit."""
    form = DepositForm.of(request, currency=_currency())
    if entry := form.submit(by=organizer):
        return redirect_with_message(
            request, f"{sum_words(entry.cents)} came into the pool, half of it for each side.", "organizer-money"
        )
    return _page(request, form)


def _currency() -> str:
    currency: str = policy_in_force(domain_now()).policy.currency
    return currency


def _page(request: HttpRequest, form: DepositForm) -> HttpResponse:
    now = domain_now()
    shown, more = entries(told_at=None, before=page_end(request))
    under_way = list(payments_open())
    asked = {each.team_id: each.pk for each in under_way}
    context: dict[str, Any] = {
        "money": money_overview(told_at=None),
        "payables": [(each, asked.get(each.team.pk)) for each in payables(now=now)],
        "open": under_way,
        "over": list(payments_over()[:PAYMENTS_SHOWN]),
        "corrections": [corrected(each) for each in corrections_open()],
        "conflicts": unpaid_own_breaks(),
        "check": check_ledger_sums(),
        "entries": shown,
        "more": more,
        "before": page_end(request),
        "form": form,
    }
    return render(request, "money/organizer.html", context | money_context(now), status=form.status)


@page(organizer_of, "POST")
def payment_new(request: HttpRequest, organizer: User, public_id: str) -> HttpResponse:
    """Request the payment of all that is due to a team."""
    team = team_named(public_id)
    try:
        payment = payment_request(team=team, by=organizer, now=domain_now())
    except DomainError as error:
        form = DepositForm(currency=_currency())
        form.refuse(error)
        return _page(request, form)
    return redirect_with_message(
        request,
        f"{sum_words(payment.cents)} to team {team.name} wait for another organizer to pay them.",
        "organizer-money",
    )


@page(organizer_of, "GET POST")
def payment(request: HttpRequest, organizer: User, number: int) -> HttpResponse:
    """Show a payment under way; mark it as paid with the bank's reference, or cancel it."""
    row = payment_numbered(number)
    paid, cancelled = PaidForm.of(request), CancelPaymentForm.of(request, action="cancel")
    if cancelled.submit(payment=row, by=organizer):
        return redirect_with_message(
            request, f"The payment to team {row.team.name} is cancelled. Nothing was moved.", "organizer-money"
        )
    if paid.submit(payment=row, by=organizer):
        return redirect_with_message(
            request, f"{sum_words(row.cents)} to team {row.team.name} are recorded as paid.", "organizer-money"
        )
    form = cancelled if cancelled.is_bound else paid
    context = {
        "payment": payment_numbered(number),
        "own": row.asked_by_id == organizer.pk,
        "form": paid,
        "sent": form,
    }
    return render(request, "money/payment.html", context | money_context(domain_now()), status=form.status)


@page(organizer_of)
def payables_csv(request: HttpRequest, organizer: User) -> HttpResponse:
    """Return the sums due to each team as a CSV file."""
    now = domain_now()
    rows = exports.payable_rows(currency=str(money_context(now)["currency"]), now=now)
    return csv_file(f"payables-{now:%Y-%m-%d}", exports.PAYABLE_COLUMNS, rows)


@page(organizer_of)
def receipts_csv(request: HttpRequest, organizer: User) -> HttpResponse:
    """Return all incoming and outgoing money as a CSV file."""
    now = domain_now()
    rows = exports.receipt_rows(currency=str(money_context(now)["currency"]))
    return csv_file(f"receipts-{now:%Y-%m-%d}", exports.RECEIPT_COLUMNS, rows)
