"""Organizers' pages behind the overview: a week's unfinished pictures, pictures that taskers disagree on, and the
button that reminds the board."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import Conflict
from common.remembered import remembered
from common.web.form_fields import SeeOther
from common.web.page import page
from contest.board.case_sweep import case_remind
from contest.core.weeks import existing_week
from contest.operations.deadlines import FRESH_SECONDS, UnfinishedPicture, deadlines
from contest.operations.disagreement import disagreement
from contest.operations.overview import overview_forget
from contest.releases.week_checklist import week_checklist
from labeling.outlines import drawn_outline
from labeling.pictures.addresses import picture_url
from labeling.selectors import images_by_number, images_by_public_id
from monitoring.gold_choice import counted_answers

MAX_LISTED = 60


@page(organizer_of)
def week_left(request: HttpRequest, organizer: User, week: str) -> HttpResponse:
    """Show the steps of a week, and its pictures that miss answers: those at risk, the least likely first."""
    known = existing_week(week)
    name = known.name
    found = deadlines(now=domain_now())
    left = sorted((each for each in found.waiting if each.week == name), key=_least_chance_first)
    risk = [each for each in left if each.at_risk]
    context = {
        "page": {"now": found.now, "zone": found.zone},
        "found": found,
        "name": name,
        "ended": known.end <= found.now,
        "ends": known.end,
        "steps": remembered(f"week-checklist-{name}", FRESH_SECONDS, lambda: week_checklist(known, now=domain_now())),
        "week": next((each for each in found.weeks if each.week == name), None),
        "left": len(left),
        "risk": len(risk),
        "shown": _with_pictures((risk or left)[:MAX_LISTED], found.now),
    }
    return render(request, "overview/week.html", context)


def _least_chance_first(each: UnfinishedPicture) -> tuple[float, int, datetime]:
    return 1.0 if each.chance is None else each.chance, -each.missing, each.since


def _with_pictures(waiting: Sequence[UnfinishedPicture], now: datetime) -> list[dict[str, Any]]:
    images = images_by_number([each.image_id for each in waiting])
    rows = ((each, images[each.image_id]) for each in waiting)
    return [{"waits": each, "image": image, "url": picture_url(image, now=now)} for each, image in rows]


@page(organizer_of)
def differing(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show recently ruled pictures on which taskers disagreed most, with their answers, without names."""
    now = domain_now()
    found = disagreement(now=now)
    answers = counted_answers([each.panel_id for each in found.pictures])
    images = images_by_public_id([each.public_id for each in found.pictures])
    shown = [
        {
            "differs": each,
            "image": images[each.public_id],
            "url": picture_url(images[each.public_id], now=now),
            "rows": answers.get(each.panel_id, []),
            "others": [drawn_outline(row.outline) for row in answers.get(each.panel_id, []) if row.outline],
        }
        for each in found.pictures
    ]
    return render(request, "overview/differing.html", {"found": found, "shown": shown})


@page(organizer_of, "POST")
def remind(request: HttpRequest, organizer: User, public_id: str) -> HttpResponse:
    """Remind the board members who did not vote on a case (R19), and redirect to the overview."""
    try:
        told = case_remind(public_id=public_id, by=organizer, now=domain_now())
    except Conflict as refused:
        messages.error(request, refused.message)
    else:
        overview_forget()
        members = "1 member is" if len(told) == 1 else f"{len(told)} members are"
        messages.success(request, f"{members} reminded of case {public_id}.")
    return SeeOther(f"{reverse('overview')}#board-cases")
