"""The organizers' page of stakes: payments to record, what is at stake, and defenses that should be published (R32)."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import Conflict, DomainError
from common.typed import whole_number
from common.web.error_status import http_status
from common.web.form_fields import SeeOther
from common.web.page import page
from contest.defenses import selectors, stake_rows, staking
from contest.web.page_context import fields_of
from policy.selectors import policy_in_force
from scoring.models import CopyFlag
from scoring.trials.selectors import copy_flags_of

LATEST = 50


@page(organizer_of, "GET POST")
def stakes(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show the stakes, and record a payment or drop a wish."""
    now = domain_now()
    if request.method != "POST":
        return _page(request, now)
    try:
        words = _act(request, organizer, now)
    except DomainError as error:
        return _page(request, now, error)
    messages.success(request, words)
    return SeeOther(reverse("organizer-stakes"))


def _act(request: HttpRequest, organizer: User, now: datetime) -> str:
    number = whole_number(request.POST.get("stake", "")) or 0
    stake = selectors.stake_without_money(number)
    if stake is None:
        raise Conflict("This stake is not waiting for a payment any more.", "not_asked")
    if "drop" in request.POST:
        staking.stake_cancel(stake, by=organizer, now=now)
        return f"The wish to stake {stake.defense.name} is dropped."
    staking.stake_receive(stake, request.POST.get("receipt", ""), by=organizer, now=now)
    return f"The payment is on record: {stake.defense.name} is at stake from now on."


def _flagged(rows: Iterable[Any]) -> list[tuple[Any, list[CopyFlag]]]:
    """Return each row of an entry with what says that its defense looks like another one."""
    return [(row, copy_flags_of(row.entry.defense)) for row in rows]


def _page(request: HttpRequest, now: datetime, error: DomainError | None = None) -> HttpResponse:
    policy = policy_in_force(now).policy
    unpublished = stake_rows.entry_rows(selectors.entries_unpublished(), now)
    context = {
        "asked": [stake_rows.stake_row(stake, now) for stake in selectors.stakes_requested()],
        "in_force": [stake_rows.stake_row(stake, now) for stake in selectors.stakes_in_force()],
        "ended": [stake_rows.stake_row(stake, now) for stake in selectors.stakes_over()[:LATEST]],
        "overdue": _flagged(selectors.overdue(policy, now)),
        "waiting": _flagged(row for row in unpublished if not row.failed and row.entry.due_at > now),
        "failed": [row for row in unpublished if row.failed],
        "given": request.POST if request.method == "POST" else {},
        "wrong": error,
        "fields": fields_of(error),
        "longest": staking.LONGEST_RECEIPT,
        "now": now,
        "zone": policy.time_zone,
    }
    return render(request, "stakes/organizer.html", context, status=http_status(error) if error else 200)
