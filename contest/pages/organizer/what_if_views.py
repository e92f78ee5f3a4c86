"""Organizers' what-if page: tries other policy numbers on existing answers and shows changed verdicts."""

from collections import Counter
from datetime import datetime
from fractions import Fraction
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from accounts.access import organizer_of
from adjudication.enums import Verdict
from adjudication.what_if import (
    PictureChange,
    TriedNumbers,
    box_shares,
    pictures_decided,
    try_batch,
    try_on_all,
)
from adjudication.wording import reasons_words
from common import charts
from common.domain_clock import domain_now
from common.errors import WrongFields
from common.remembered import remembered
from common.typed import whole_number
from common.web.page import page
from contest.pages.organizer.policy_forms import WhatIfForm, tried_query
from labeling.pictures.addresses import picture_url
from policy.selectors import policy_in_force

# How many changed pictures the page lists; the counts include all.
MAX_LISTED = 200
# Possible changes of a verdict, in the order of the page: key -> words.
KINDS = {
    "valid": "would be valid",
    "rejected": "would be rejected",
    "other": "would be of the other class",
    "waiting": "would need more answers first",
    "reasons": "would be rejected for other reasons",
}


# The chart of box shares has bars of 5 %.
SHARE_BINS = 20
_SHARES_SECONDS = 60


@page(organizer_of)
def what_if(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show the form, and for typed numbers what they would change; the page loads the figures part by part."""
    now = domain_now()
    version = policy_in_force(now)
    form = WhatIfForm(request.GET or None, version=version)
    context: dict[str, Any] = {
        "form": form,
        "version": version.version,
        "kinds": KINDS,
        "pictures": pictures_decided(),
        "max_listed": MAX_LISTED,
    }
    limits = [("in force", version.policy.min_box_fraction)]
    if form.is_valid():
        if form.policy.min_box_fraction != version.policy.min_box_fraction:
            limits += [("tried", form.policy.min_box_fraction)]
        # Without scripts one request computes all parts.
        found = _everything(form.tried, now) if "whole" in request.GET else None
        context |= {"tried": tried_query(form.policy), "found": found}
    context |= _shares_content(limits)
    return render(request, "what_if/what_if.html", context, status=form.status)


def _shares_content(limits: list[tuple[str, Fraction]]) -> dict[str, Any]:
    """Return a chart of the smallest boxes of the rulings in force, with the limits as lines (R14)."""
    step = 100 // SHARE_BINS
    counts = remembered("box-shares", _SHARES_SECONDS, lambda: box_shares(SHARE_BINS))
    values = [charts.ChartValue(f"{at * step} to {(at + 1) * step} %", count) for at, count in enumerate(counts)]
    chart = charts.columns("shares", "Pictures by the smallest box, percent of the picture", values)
    ticks = [(percent, round(percent / 100 * chart.width, 1)) for percent in range(0, 101, 10)]
    drawn = [(words, float(100 * share), round(float(share) * chart.width, 1)) for words, share in limits]
    return {"shares": chart if any(counts) else None, "limits": drawn, "ticks": ticks}


@page(organizer_of)
def part(request: HttpRequest, organizer: User) -> HttpResponse:
    """Return one part of the pictures, those after row `behind`: the changes, and where the next part begins."""
    now = domain_now()
    form = WhatIfForm(request.GET, version=policy_in_force(now))
    if not form.is_valid():
        raise WrongFields({name: " ".join(map(str, errors)) for name, errors in form.errors.items()})
    found = try_batch(form.tried, behind=whole_number(request.GET.get("behind", "")) or 0)
    shown = [_changed_picture_content(each, now) for each in found.changes[:MAX_LISTED]]
    return JsonResponse(
        {
            "looked": found.looked,
            "through": found.through,
            "kinds": Counter(_kind(each) for each in found.changes),
            "items": [render_to_string("what_if/_picture.html", {"each": each}) for each in shown],
        }
    )


def _everything(numbers: TriedNumbers, now: datetime) -> dict[str, Any]:
    looked, kinds, shown = 0, Counter[str](), list[dict[str, Any]]()
    for each in try_on_all(numbers):
        looked += each.looked
        kinds.update(_kind(change) for change in each.changes)
        shown += [_changed_picture_content(change, now) for change in each.changes[: MAX_LISTED - len(shown)]]
    return {"looked": looked, "kinds": {key: kinds[key] for key in KINDS}, "shown": shown}


def _kind(change: PictureChange) -> str:
    if change.after is None:
        return "waiting"
    if not change.turns:
        return "reasons"
    if change.after.verdict == Verdict.REJECTED:
        return "rejected"
    return "other" if change.before else "valid"


def _changed_picture_content(change: PictureChange, now: datetime) -> dict[str, Any]:
    """Return one changed picture as the page shows it."""
    image, ruling, after = change.image, change.ruling, change.after
    return {
        "image": image,
        "url": picture_url(image, now=now),
        "words": KINDS[_kind(change)],
        "before": f"valid: {ruling.label}" if ruling.label else reasons_words(ruling.reasons),
        "after": (after.label or reasons_words(after.reasons)) if after else "",
    }
