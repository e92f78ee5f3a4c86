"""The organizers' pages of gold: the pictures in use, and settled pictures that may become gold (R6)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import Conflict, InvalidInput, WrongFields
from common.typed import whole_number
from common.web.form_fields import SeeOther
from common.web.page import page
from labeling.enums import Origin
from labeling.marking import STATEMENTS
from labeling.models import KnownPicture, Panel
from labeling.pictures.addresses import picture_url
from labeling.wording import ANSWERS
from monitoring import gold_choice
from monitoring.gold_choice import GoldAnswers
from monitoring.outline_drawing import drawn_outline
from policy.selectors import policy_in_force

MOST_SHOWN = 48
# Pictures of these origins are published with their answers: whoever reads the releases could know them.
_PUBLISHED = (Origin.ATTACK, Origin.DATASET)
_FACTS = {"yes": True, "no": False, "": None}


@page(organizer_of)
def gold_list(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show the gold pictures with their uses and pass rates; those that need somebody first."""
    now = domain_now()
    known = list(gold_choice.gold_pictures().prefetch_related("flags"))
    rates = gold_choice.pass_rates([each.pk for each in known])
    shown = [_shown(each, rates.get(each.pk), now) for each in sorted(known, key=_urgency)]
    policy = policy_in_force(now).policy
    context = {"shown": shown, "cap": policy.gold_most_uses, "policy": policy, "now": now, "zone": policy.time_zone}
    return render(request, "monitoring/gold.html", context)


def _urgency(known: KnownPicture) -> tuple[bool, bool, int]:
    """Held ones first, retired ones last."""
    return known.retired_at is not None, known.held_at is None, -known.pk


def _shown(known: KnownPicture, rate: gold_choice.PassRate | None, now: datetime) -> dict[str, Any]:
    return {
        "known": known,
        "rate": rate,
        "flags": sorted(known.flags.all(), key=lambda flag: flag.flagged_at),
        "url": picture_url(known.image, now=now),
        "outline": drawn_outline(known.outline),
    }


@page(organizer_of, "POST")
def gold_change(request: HttpRequest, organizer: User, public_id: UUID) -> HttpResponse:
    """Retire, hold or let go a gold picture."""
    known, now = gold_choice.gold_of(public_id), domain_now()
    try:
        told = _change(known, request.POST, organizer, now)
    except (InvalidInput, Conflict) as error:
        messages.error(request, f"Nothing was changed: {error.message}")
    else:
        messages.success(request, f"Picture {known.image.public_id} is {told}.")
    return SeeOther(reverse("gold"))


def _change(known: KnownPicture, form: QueryDict, by: User, now: datetime) -> str:
    action = form.get("action")
    if action == "retire":
        gold_choice.gold_retire(known=known, reason=form.get("reason", ""), by=by, now=now)
        return "retired; it is never dealt again"
    if action == "hold":
        gold_choice.gold_hold(known=known, by=by, now=now)
        return "held; it is not dealt until you let it go"
    if action == "let_go":
        gold_choice.gold_release(known=known, by=by, now=now)
        return "in use again"
    raise InvalidInput("Choose what happens with the picture.", "invalid", field="action")


@page(organizer_of)
def gold_candidates(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show settled pictures that could become gold, unanimous ones first."""
    now = domain_now()
    origin = request.GET.get("origin", "")
    found = gold_choice.candidates(origin if origin in list(Origin) else "")
    shown = [{"candidate": each, "url": picture_url(each.panel.image, now=now)} for each in found[:MOST_SHOWN]]
    context = {"shown": shown, "count": len(found), "origin": origin, "origins": list(Origin)}
    return render(request, "monitoring/gold_candidates.html", context)


@page(organizer_of, "GET POST")
def gold_new(request: HttpRequest, organizer: User, image_id: str) -> HttpResponse:
    """Show what the counted answers suggest for a picture, and make it gold with what the organizer decides."""
    now = domain_now()
    panel = gold_choice.candidate_panel(image_id)
    if request.method != "POST":
        rows = gold_choice.counted_answers([panel.pk]).get(panel.pk, [])
        return _form(request, panel, gold_choice.proposal(rows), now)
    expected = _expected(request.POST)
    if request.POST.get("action") == "preview":
        return _form(request, panel, expected, now)
    gate = policy_in_force(now).policy.outline_gate
    try:
        gold_choice.gold_add(panel=panel, expected=expected, gate=gate, by=organizer, now=now)
    except WrongFields as error:
        return _form(request, panel, expected, now, wrong=error.fields)
    except Conflict as error:
        messages.error(request, f"Nothing was changed: {error.message}")
    else:
        messages.success(request, f"Picture {panel.image.public_id} is gold now.")
    return SeeOther(reverse("gold"))


def _expected(form: QueryDict) -> GoldAnswers:
    facts = {name: _FACTS.get(form.get(name, "")) for name in STATEMENTS}
    return GoldAnswers(
        accepts_bird=tuple(form.getlist("accepts_bird")),
        accepts_bicycle=tuple(form.getlist("accepts_bicycle")),
        outline=form.get("outline", "").replace("\x00", "").strip(),
        min_iou_percent=whole_number(form.get("min_iou_percent", ""), digits=3) or 0,
        topic=form.get("topic", ""),
        **facts,
    )


def _form(
    request: HttpRequest,
    panel: Panel,
    expected: GoldAnswers,
    now: datetime,
    wrong: Mapping[str, str] | None = None,
) -> HttpResponse:
    rows = gold_choice.counted_answers([panel.pk]).get(panel.pk, [])
    context = {
        "panel": panel,
        "image": panel.image,
        "url": picture_url(panel.image, now=now),
        "published": panel.image.origin in _PUBLISHED,
        "rows": rows,
        "others": [drawn_outline(row.outline) for row in rows if row.outline],
        "expected": expected,
        "outline": _preview(expected.outline, panel),
        "answers": [(answer.value, short) for answer, _, short in ANSWERS],
        "questions": (("accepts_bird", "Bird"), ("accepts_bicycle", "Bicycle")),
        "statements": [(name, getattr(expected, name)) for name in STATEMENTS],
        "topics": gold_choice.GOLD_TOPICS,
        "wrong": wrong or {},
    }
    return render(request, "monitoring/gold_new.html", context, status=400 if wrong else 200)


def _preview(outline: str, panel: Panel) -> str:
    """The outline as it would be kept; nothing where it cannot be drawn, which the form then says."""
    try:
        return drawn_outline(gold_choice.canonical_outline(outline, panel))
    except InvalidInput:
        return ""
