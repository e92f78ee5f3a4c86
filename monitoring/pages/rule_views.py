"""The organizers' page of monitoring rules: rules in force, events, and agreement over a period."""

from datetime import date, datetime, timedelta
from math import isfinite
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import Conflict, DomainError, InvalidInput, WrongFields
from common.typed import whole_number
from common.web.form_fields import SeeOther
from common.web.page import page
from labeling.enums import MonitoringAction
from monitoring.days import day_of, today_in
from monitoring.rule_changes import rule_add, rule_retire
from monitoring.rules import COLLECTORS, COMPARISONS
from monitoring.selectors import newest_events, open_links, public_ids_of, retired_rules, rules_in_force
from monitoring.tasker_figures import Agreement, Period, agreement_of_period
from policy.selectors import policy_in_force

MOST_EVENTS = 50
USUAL_DAYS = 7
LONGEST_DAYS = 92
MOVERS_SHOWN = 3


@page(organizer_of, "GET POST")
def watching(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show the rules and what they found; add or retire one."""
    now = domain_now()
    if request.method != "POST":
        return _page(request, now)
    try:
        told = _change(request.POST.dict(), organizer, now)
    except (InvalidInput, Conflict) as error:
        return _page(request, now, refused=error)
    messages.success(request, told)
    return SeeOther(reverse("watching"))


def _change(form: dict[str, str], by: User, now: datetime) -> str:
    if "retire" in form:
        rule = rule_retire(rule_id=_whole(form["retire"]) or 0, by=by, now=now)
        return f"Retired: {rule.name}."
    rule = rule_add(
        name=form.get("name", ""),
        collector=form.get("collector", ""),
        window=_whole(form.get("window", "")),
        minimum=_whole(form.get("minimum", "")),
        comparison=form.get("comparison", ""),
        threshold=_number(form.get("threshold", "")),
        action=form.get("action", ""),
        words=form.get("words", ""),
        by=by,
        now=now,
    )
    return f"Added: {rule.name}. It looks at every tasker from the next sweep on."


def _whole(text: str) -> int | None:
    return whole_number(text.strip(), digits=9)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _page(request: HttpRequest, now: datetime, refused: DomainError | None = None) -> HttpResponse:
    zone = policy_in_force(now).policy.time_zone
    first, last = _days(request, today_in(now, zone))
    period = Period.of_days(first, last, zone)
    context = {
        "rules": rules_in_force(),
        "retired": retired_rules(),
        "events": newest_events(MOST_EVENTS),
        "most_events": MOST_EVENTS,
        "links": open_links(),
        "agreements": [(each, _movers(each)) for each in agreement_of_period(period)],
        "first": first,
        "last": last,
        "collectors": COLLECTORS,
        "comparisons": list(COMPARISONS),
        "actions": list(MonitoringAction),
        "typed": request.POST.dict(),
        "wrong": refused.fields if isinstance(refused, WrongFields) else {},
        "refused": refused.message if refused else "",
        "now": now,
        "zone": zone,
    }
    return render(request, "watching/watching.html", context, status=400 if refused else 200)


def _days(request: HttpRequest, today: date) -> tuple[date, date]:
    """The period in the address, bounded; the last week for none."""
    last = min(day_of(request.GET.get("to", "")) or today, today)
    first = day_of(request.GET.get("from", "")) or last - timedelta(USUAL_DAYS - 1)
    return max(min(first, last), last - timedelta(LONGEST_DAYS - 1)), last


def _movers(agreement: Agreement) -> list[dict[str, Any]]:
    """Who lowers alpha most, by public ID."""
    lowest = [each for each in agreement.influences if each.change < 0][:MOVERS_SHOWN]
    names = public_ids_of(each.tasker_id for each in lowest)
    return [{"tasker": names[each.tasker_id], "without": each.without} for each in lowest]
