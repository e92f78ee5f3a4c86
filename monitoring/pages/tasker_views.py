"""Views of the organizers' pages about taskers: list, details, actions (R6)."""

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import Conflict, NotFound
from common.web.form_fields import redirect_with_message
from common.web.lists import csv_file
from common.web.page import page
from labeling import voiding
from labeling.models import Tasker
from labeling.outlines import drawn_outline
from labeling.pictures.addresses import picture_url
from monitoring import links
from monitoring.access import reviewer_of, tasker_named
from monitoring.pages.tasker_forms import ACTIONS, EndLinkForm, SinceForm, TaskerFilter, VoidForm, begin_of
from monitoring.selectors import link_by_number, newest_answers
from monitoring.tasker_figures import (
    MAX_ANSWERS,
    MAX_PANELS,
    Period,
    agreement_of_period,
    statistics_by_day,
    today_in,
)
from monitoring.tasker_plot import tasker_plot
from monitoring.tasker_rows import (
    COLUMNS,
    TaskerRow,
    drawings,
    links_of,
    present_taskers,
    tasker_columns,
    tasker_rows,
    timeline,
)
from policy.selectors import policy_in_force

SPANS = (7, 14, 30)
LATEST_SHOWN = 12
MAX_SETTLED = 500


@page(organizer_of)
def tasker_list(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show every tasker with the figures of today and of the week; sorted and filtered by the address."""
    filtered, zone = TaskerFilter(request, present_taskers()), _zone(domain_now())
    rows = _rows(filtered, zone)
    context = {
        "rows": rows,
        "plot": tasker_plot(rows),
        "filter": filtered,
        "sort": filtered.sorting,
        "zone": zone,
    }
    return render(request, "monitoring/taskers.html", context)


def _rows(filtered: TaskerFilter, zone: str) -> list[TaskerRow]:
    return tasker_rows(filtered.rows, today=today_in(domain_now(), zone), zone=zone, sort=filtered.sorting)


@page(organizer_of)
def tasker_list_csv(request: HttpRequest, organizer: User) -> HttpResponse:
    """Return the list as a CSV file, with the same filter and order."""
    now, filtered = domain_now(), TaskerFilter(request, present_taskers())
    zone = _zone(now)
    rows = map(tasker_columns, _rows(filtered, zone))
    return csv_file(f"taskers-{today_in(now, zone)}", COLUMNS, rows, status=filtered.form.status)


def _zone(now: datetime) -> str:
    return policy_in_force(now).policy.time_zone


@page(organizer_of)
def tasker_detail(request: HttpRequest, organizer: User, public_id: str) -> HttpResponse:
    """Show one tasker: the story, the days, agreement with others, and the latest answers."""
    tasker, now = tasker_named(public_id), domain_now()
    zone, span = _zone(now), _span(request)
    today = today_in(now, zone)
    period = Period.of_days(today - timedelta(span - 1), today, zone)
    days = statistics_by_day(period, tasker.pk, zone)
    context = {
        "tasker": tasker,
        "entries": timeline(tasker),
        "links": [link for link in links_of(tasker) if link.ended_at is None],
        "days": days,
        "max_answers": MAX_ANSWERS,
        "all_counted": sum(len(figures.milliseconds) for figures in days.values()) < MAX_ANSWERS,
        "max_panels": MAX_PANELS,
        "charts": drawings(days),
        "agreements": [(each, _influence(each.influences, tasker)) for each in agreement_of_period(period)],
        "latest": _latest(tasker, now),
        "actions": [action for action in ACTIONS.values() if action.is_offered(tasker)],
        "span": span,
        "spans": SPANS,
        "now": now,
        "zone": zone,
    }
    return render(request, "monitoring/tasker.html", context)


def _span(request: HttpRequest) -> int:
    asked = request.GET.get("days", "")
    return int(asked) if asked in map(str, SPANS) else SPANS[1]


def _influence(influences: Any, tasker: Tasker) -> Any:
    return next((each for each in influences if each.tasker_id == tasker.pk), None)


def _latest(tasker: Tasker, now: datetime) -> list[dict[str, Any]]:
    return [
        {"response": row, "url": picture_url(row.image, now=now), "outline": drawn_outline(row.outline)}
        for row in newest_answers(tasker, LATEST_SHOWN)
    ]


@page(reviewer_of)
def settled_answers(request: HttpRequest, reviewer: User, public_id: str) -> HttpResponse:
    """Show the settled pictures that counted a tasker's answers: voiding leaves those to the board."""
    tasker, now = tasker_named(public_id), domain_now()
    settled = voiding.settled_responses(tasker, None).select_related("image", "panel").order_by("-submitted_at", "-pk")
    context = {
        "tasker": tasker,
        "settled": settled[:MAX_SETTLED],
        "count": settled.count(),
        "most": MAX_SETTLED,
        "now": now,
        "zone": _zone(now),
    }
    return render(request, "monitoring/settled.html", context)


@page(organizer_of, "GET POST")
def tasker_action(request: HttpRequest, organizer: User, public_id: str, name: str) -> HttpResponse:
    """Say what an action would do, and do it when it is confirmed with a reason."""
    now, tasker = domain_now(), tasker_named(public_id)
    if name not in ACTIONS:
        raise NotFound("There is no such action.", "not_found")
    if tasker.left_at is not None and name != VoidForm.name:
        raise Conflict("This tasker has left: only answers without a ruling can still be voided.", "left")
    form = ACTIONS[name].of(request, initial=request.GET.dict())
    if done := form.submit(tasker=tasker, by=organizer, now=now):
        return redirect_with_message(
            request, done, "organizer-tasker", public_id, extra_tags=f"{name} {organizer.get_username()} {public_id}"
        )
    context = {"tasker": tasker_named(public_id), "form": form, "zone": _zone(now)}
    if isinstance(form, VoidForm):
        context |= _voiding_preview(tasker, SinceForm(request.POST or request.GET), now)
    return render(request, "monitoring/action.html", context, status=form.status)


def _voiding_preview(tasker: Tasker, chosen: SinceForm, now: datetime) -> dict[str, Any]:
    """Return how many answers would be void, and which settled pictures would stay for the board."""
    if not chosen.is_valid():
        return {"chosen": chosen}
    since = begin_of(chosen.cleaned_data["since"], now)
    settled = voiding.settled_responses(tasker, since).select_related("image")
    return {
        "chosen": chosen,
        "unsettled": voiding.unsettled_responses(tasker, since).count(),
        "settled_count": settled.count(),
        "settled": settled[:LATEST_SHOWN],
    }


@page(organizer_of, "GET POST")
def link_end(request: HttpRequest, organizer: User, link_id: int) -> HttpResponse:
    """Show a link with the panels both were asked about, and end it when that is confirmed with a reason."""
    now, link, form = domain_now(), link_by_number(link_id), EndLinkForm.of(request)
    if done := form.submit(link=link, by=organizer, now=now):
        return redirect_with_message(request, done, "organizer-tasker", link.first.public_id)
    shared = links.panels_shared(link)
    context = {
        "link": link,
        "form": form,
        "shared": shared[:LATEST_SHOWN],
        "shared_count": shared.count(),
        "now": now,
        "zone": _zone(now),
    }
    return render(request, "monitoring/link.html", context, status=form.status)
