"""Organizers' pages of ledger corrections and repayments: one organizer requests, another confirms."""

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import NotFound, required
from common.typed import whole_number
from common.web.form_fields import redirect_with_message
from common.web.page import page
from contest.ledger.amounts import plain_amount
from contest.ledger.models import Correction
from contest.pages.organizer.money_forms import (
    CancelCorrectionForm,
    ConfirmCorrectionForm,
    CorrectionForm,
    RepaymentForm,
)
from contest.payments import corrections as correcting
from contest.payments.statements import account_words
from contest.web.page_context import money_context, sum_words

MOVEMENTS_SHOWN = 20
OVER_SHOWN = 20


@page(organizer_of, "GET POST")
def corrections(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show corrections and entries that can be corrected; request a correction, or record a team's repayment."""
    now, owed = domain_now(), correcting.owed_by_teams()
    shown = money_context(now)
    correction = CorrectionForm.of(request, currency=shown["currency"], initial=_chosen(request))
    repayment = RepaymentForm.of(request, action="repay", prefix="back", currency=shown["currency"], owed=owed)
    if asked := correction.submit(by=organizer) or repayment.submit(by=organizer):
        return redirect_with_message(
            request, f"{sum_words(asked.cents)} wait for another organizer to confirm the correction.", "corrections"
        )
    sent = repayment if repayment.is_bound else correction
    over = correcting.visible_corrections().exclude(confirmed_at=None, cancelled_at=None)[:OVER_SHOWN]
    context: dict[str, Any] = {
        "open": [corrected(each) for each in correcting.corrections_open()],
        "over": [corrected(each) for each in over],
        "movements": [(each, _way(each)) for each in correcting.movements(MOVEMENTS_SHOWN)],
        "owed": owed,
        "correction": correction,
        "repayment": repayment,
        "form": sent,
    }
    return render(request, "money/corrections.html", context | shown, status=sent.status)


def _chosen(request: HttpRequest) -> dict[str, str]:
    """Return initial values: the ledger entry that the address names, with the sum of it that is not corrected."""
    number = whole_number(request.GET.get("entry", "")[:18])
    found = correcting.movement(number) if number is not None else None
    return {"entry": str(found.entry.pk), "sum": plain_amount(found.left)} if found and found.left else {}


def _way(of: correcting.Movement) -> str:
    return f"{account_words(of.entry.source)} → {account_words(of.entry.target)}"


def corrected(each: Correction) -> tuple[Correction, str]:
    """Return a correction, with the corrected entry in words."""
    if each.corrects is None:
        return each, f"team {each.team} gave back what it owes"
    found = correcting.Movement(each.corrects, 0)
    return each, f"{found.kind} of entry {each.corrects.pk}, {_way(found)}"


@page(organizer_of, "GET POST")
def correction(request: HttpRequest, organizer: User, number: int) -> HttpResponse:
    """Show a correction; confirm or cancel it."""
    form = CancelCorrectionForm if "cancel" in request.POST else ConfirmCorrectionForm
    sent = form(request.POST if request.method == "POST" else None)
    if done := sent.submit(correction=_row(number), by=organizer):
        return redirect_with_message(request, done, "corrections")
    row = _row(number)
    _, words = corrected(row)
    context = {
        "correction": row,
        "words": words,
        "kind": correcting.Movement(row.corrects, 0).kind if row.corrects else correcting.MovementKind.REPAYMENT,
        "own": row.asked_by_id == organizer.pk,
        "form": sent,
    }
    return render(request, "money/correction.html", context | money_context(domain_now()), status=sent.status)


def _row(number: int) -> Correction:
    return required(
        correcting.visible_corrections().select_related("entry").filter(pk=number).first(),
        NotFound("There is no correction with this number.", "not_found"),
    )
