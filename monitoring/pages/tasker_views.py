"""The organizers' pages of taskers: list, details, actions (R6)."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import Conflict, InvalidInput, NotFound
from common.web.form_fields import SeeOther
from common.web.page import page
from labeling import voiding
from labeling.enums import MonitoringAction, TaskerState
from labeling.models import Tasker
from labeling.pictures.addresses import picture_url
from monitoring import actions, links
from monitoring.access import reviewer_of, tasker_named
from monitoring.days import day_of, today_in
from monitoring.outline_drawing import drawn_outline
from monitoring.selectors import link_numbered, newest_answers
from monitoring.tasker_figures import Period, agreement_of_period, statistics_by_day
from monitoring.tasker_rows import (
    COLUMNS,
    DEFAULT_SORTING,
    SORTINGS,
    as_columns,
    drawings,
    links_of,
    tasker_rows,
    timeline,
)
from policy.selectors import policy_in_force

SPANS = (7, 14, 30)
LATEST_SHOWN = 12
MOST_SETTLED = 500


@page(organizer_of)
def tasker_list(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show every tasker with the figures of today and of the week; sorted and filtered by the address."""
    now = domain_now()
    state, sort, zone = _state(request), _sort(request), _zone(now)
    rows = tasker_rows(today=today_in(now, zone), zone=zone, state=state, sort=sort)
    context = {"rows": rows, "state": state, "states": list(TaskerState), "sort": sort, "now": now, "zone": zone}
    return render(request, "watching/taskers.html", context)


@page(organizer_of)
def tasker_list_csv(request: HttpRequest, organizer: User) -> HttpResponse:
    """Answer the list as a CSV file, with the same filter and order."""
    now = domain_now()
    zone = _zone(now)
    rows = tasker_rows(today=today_in(now, zone), zone=zone, state=_state(request), sort=_sort(request))
    answer = HttpResponse(content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="taskers-{today_in(now, zone)}.csv"'
    csv.writer(answer).writerows([COLUMNS, *map(as_columns, rows)])
    return answer


def _state(request: HttpRequest) -> str:
    state = request.GET.get("state", "")
    return state if state in list(TaskerState) else ""


def _sort(request: HttpRequest) -> str:
    sort = request.GET.get("sort", "")
    return sort if sort.removeprefix("-") in SORTINGS else DEFAULT_SORTING


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
        "charts": drawings(days),
        "agreements": [(each, _influence(each.influences, tasker)) for each in agreement_of_period(period)],
        "latest": _latest(tasker, now),
        "actions": [action for action in ACTIONS.values() if action.offered(tasker)],
        "span": span,
        "spans": SPANS,
        "now": now,
        "zone": zone,
    }
    return render(request, "watching/tasker.html", context)


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
        "settled": settled[:MOST_SETTLED],
        "count": settled.count(),
        "most": MOST_SETTLED,
        "now": now,
        "zone": _zone(now),
    }
    return render(request, "watching/settled.html", context)


@dataclass(frozen=True, slots=True)
class TaskerAction:
    """Something an organizer may do about a tasker, with the words of its page."""

    name: str
    title: str
    happens: str
    button: str
    offered: Callable[[Tasker], bool]
    do: Callable[["ActionRequest"], None]


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """What an organizer sent: about whom, why, and the rest of the form."""

    tasker: Tasker
    reason: str
    form: dict[str, str]
    by: User
    now: datetime


def _take(action: MonitoringAction) -> Callable[[ActionRequest], None]:
    def do(asked: ActionRequest) -> None:
        actions.action_take(tasker=asked.tasker, action=action, reason=asked.reason, by=asked.by, now=asked.now)

    return do


def _return(asked: ActionRequest) -> None:
    actions.tasker_return(tasker=asked.tasker, reason=asked.reason, by=asked.by, now=asked.now)


def _void(asked: ActionRequest) -> None:
    since = since_of(asked.form.get("since", ""), _zone(asked.now))
    actions.answers_void(tasker=asked.tasker, since=since, reason=asked.reason, by=asked.by, now=asked.now)


def _link(asked: ActionRequest) -> None:
    other = tasker_named(asked.form.get("other", "").strip().upper())
    links.link_declare(first=asked.tasker, second=other, reason=asked.reason, by=asked.by, now=asked.now)


def _is(*states: TaskerState) -> Callable[[Tasker], bool]:
    return lambda tasker: tasker.left_at is None and tasker.state in states


def _has_answers_to_void(tasker: Tasker) -> bool:
    return tasker.left_at is None or voiding.unsettled_responses(tasker, None).exists()


_ANYBODY = _is(*TaskerState)
ACTIONS = {
    action.name: action
    for action in (
        TaskerAction(
            "warn",
            "Warn",
            "The tasker reads your words on the next page. Nothing else changes.",
            "Warn",
            _ANYBODY,
            _take(MonitoringAction.WARN),
        ),
        TaskerAction(
            "pause",
            "Pause",
            "No more pictures from now on; the pictures held at the moment are given back. Answers given so far go on "
            "to count. The tasker reads your words.",
            "Pause",
            _is(TaskerState.QUALIFIED, TaskerState.LEARNING),
            _take(MonitoringAction.PAUSE),
        ),
        TaskerAction(
            "return",
            "Return to work",
            "The tasker goes on where the pause began. Rules look only at what is answered from now on.",
            "Return to work",
            _is(TaskerState.PAUSED),
            _return,
        ),
        TaskerAction(
            "requalify",
            "Require a new qualification",
            "No more pictures before a short qualification is passed; the pictures held at the moment are given back. "
            "The tasker reads your words.",
            "Require it",
            _is(TaskerState.QUALIFIED, TaskerState.PAUSED),
            _take(MonitoringAction.REQUALIFY),
        ),
        TaskerAction(
            "void",
            "Void unsettled answers",
            "The answers stay on record, are published as void, and do not count; their places open again for others. "
            "Settled pictures stay as they are and are listed for the board.",
            "Void them",
            _has_answers_to_void,
            _void,
        ),
        TaskerAction(
            "link",
            "Link with another tasker",
            "While the link lasts, the two are never on one panel. Neither is told.",
            "Link them",
            _ANYBODY,
            _link,
        ),
    )
}


def since_of(text: str, zone: str) -> datetime | None:
    """Return the beginning of a day in the IANA zone, None for an empty text; InvalidInput for what is no day."""
    if not text.strip():
        return None
    day = day_of(text)
    if day is None:
        raise InvalidInput("Write the day as 2026-11-20, or leave it empty.", "invalid", field="since")
    return datetime.combine(day, time.min, ZoneInfo(zone))


@page(organizer_of, "GET POST")
def tasker_action(request: HttpRequest, organizer: User, public_id: str, name: str) -> HttpResponse:
    """Say what an action would do, and do it when it is confirmed with a reason."""
    now = domain_now()
    tasker, action = tasker_named(public_id), ACTIONS.get(name)
    if action is None:
        raise NotFound("There is no such action.", "not_found")
    if tasker.left_at is not None and name != "void":
        raise Conflict("This tasker has left: only answers without a ruling can still be voided.", "left")
    form = (request.POST if request.method == "POST" else request.GET).dict()
    if request.method != "POST":
        return _confirm(request, tasker, action, form, now)
    try:
        action.do(ActionRequest(tasker, form.get("reason", ""), form, organizer, now))
    except (InvalidInput, Conflict, NotFound) as error:
        return _confirm(request, tasker_named(public_id), action, form, now, refused=error.message)
    messages.success(request, f"Done: {action.title.lower()}.")
    return SeeOther(reverse("organizer-tasker", args=[tasker.public_id]))


def _confirm(
    request: HttpRequest, tasker: Tasker, action: TaskerAction, form: dict[str, str], now: datetime, refused: str = ""
) -> HttpResponse:
    context: dict[str, Any] = {"tasker": tasker, "action": action, "form": form, "refused": refused}
    if action.name == "void":
        context |= _what_voiding_does(tasker, form, now)
    return render(request, "watching/action.html", context, status=400 if refused else 200)


def _what_voiding_does(tasker: Tasker, form: dict[str, str], now: datetime) -> dict[str, Any]:
    """How many answers would be void, and how many settled pictures would stay for the board."""
    zone = _zone(now)
    try:
        since = since_of(form.get("since", ""), zone)
    except InvalidInput as error:
        return {"since_wrong": error.message, "zone": zone}
    settled = voiding.settled_responses(tasker, since).select_related("image")
    return {
        "unsettled": voiding.unsettled_responses(tasker, since).count(),
        "settled_count": settled.count(),
        "settled": settled[:LATEST_SHOWN],
        "zone": zone,
    }


@page(organizer_of, "GET POST")
def link_end(request: HttpRequest, organizer: User, link_id: int) -> HttpResponse:
    """Show a link with the panels both were asked about, and end it when that is confirmed with a reason."""
    now = domain_now()
    link, refused = link_numbered(link_id), ""
    if request.method == "POST":
        try:
            links.link_end(link=link, reason=request.POST.get("reason", ""), by=organizer, now=now)
        except (InvalidInput, Conflict) as error:
            refused = error.message
        else:
            messages.success(request, "The link is ended.")
            return SeeOther(reverse("organizer-tasker", args=[link.first.public_id]))
    shared = links.panels_shared(link)
    context = {
        "link": link,
        "shared": shared[:LATEST_SHOWN],
        "shared_count": shared.count(),
        "typed": request.POST.get("reason", ""),
        "refused": refused,
        "now": now,
        "zone": _zone(now),
    }
    return render(request, "watching/link.html", context, status=400 if refused else 200)
