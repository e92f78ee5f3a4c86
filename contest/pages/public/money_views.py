"""Public page of the prize money: balances, withheld sums, ledger entries."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from common.domain_clock import domain_now
from common.web.page import page
from contest.payments.statements import entries, money_overview
from contest.web.page_context import money_context, page_end


@page()
def money(request: HttpRequest) -> HttpResponse:
    """Show balances, withheld money with reasons, and every entry with its rule and its causes (R34, R38)."""
    now = domain_now()
    shown, more = entries(told_at=now, before=page_end(request))
    context = {"money": money_overview(told_at=now), "entries": shown, "more": more, "before": page_end(request)}
    return render(request, "money/money.html", context | money_context(now))
