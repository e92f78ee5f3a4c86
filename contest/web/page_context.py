"""Template context that pages share: time, currency, sums."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest

from common.domain_clock import domain_now
from common.typed import whole_number
from contest.ledger.amounts import money
from policy.selectors import policy_in_force

PAGE_SIZE = 50


def page_end(request: HttpRequest) -> int | None:
    """Return the `before` row number of the address (the page lists older rows), None for the newest page."""
    return whole_number(request.GET.get("before", ""))


def sum_words(cents: int) -> str:
    """Return a sum in the contest's currency."""
    return money(cents, policy_in_force(domain_now()).policy.currency)


def money_context(now: datetime) -> dict[str, Any]:
    """Return what every page of money needs: the moment, the zone and the currency."""
    policy = policy_in_force(now).policy
    return {"now": now, "zone": policy.time_zone, "currency": policy.currency, "policy": policy}
