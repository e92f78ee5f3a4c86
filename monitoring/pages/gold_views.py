"""Views of the organizers' pages about gold: the pictures in use, and settled pictures that may become gold (R6)."""

from dataclasses import asdict
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import InvalidInput
from common.web.form_fields import redirect_with_message
from common.web.page import page
from labeling.enums import Origin
from labeling.models import KnownPicture, Panel
from labeling.outlines import drawn_outline
from labeling.pictures.addresses import picture_url
from monitoring import gold_choice
from monitoring.pages.gold_forms import CandidateFilter, GoldChangeForm, GoldForm
from policy.selectors import policy_in_force

MAX_LISTED = 48
# Pictures of these origins are published with their answers: whoever reads the releases could know them.
_PUBLISHED = (Origin.ATTACK, Origin.DATASET)


@page(organizer_of)
def gold_list(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show the gold pictures with their uses and pass rates; those that need somebody first."""
    return _gold_page(request)


@page(organizer_of, "POST")
def gold_change(request: HttpRequest, organizer: User, public_id: UUID) -> HttpResponse:
    """Retire, hold or let go a gold picture."""
    known, form = gold_choice.gold_of(public_id), GoldChangeForm(request.POST)
    if done := form.submit(known=known, by=organizer, now=domain_now()):
        return redirect_with_message(request, f"Picture {known.image.public_id} is {done}.", "gold")
    return _gold_page(request, known, form)


def _gold_page(
    request: HttpRequest, changed: KnownPicture | None = None, sent: GoldChangeForm | None = None
) -> HttpResponse:
    now = domain_now()
    known = list(gold_choice.gold_pictures().prefetch_related("flags"))
    rates = gold_choice.pass_rates([each.pk for each in known])
    policy = policy_in_force(now).policy
    context = {
        "shown": [
            {
                "known": each,
                "rate": rates.get(each.pk),
                "flags": sorted(each.flags.all(), key=lambda flag: flag.flagged_at),
                "url": picture_url(each.image, now=now),
                "outline": drawn_outline(each.outline),
                "form": sent if each == changed else GoldChangeForm(auto_id=f"%s-{each.pk}"),
            }
            for each in sorted(known, key=_urgency)
        ],
        "form": sent,
        "policy": policy,
        "now": now,
        "zone": policy.time_zone,
    }
    return render(request, "monitoring/gold.html", context, status=sent.status if sent else 200)


def _urgency(known: KnownPicture) -> tuple[bool, bool, int]:
    """Held ones first, retired ones last."""
    return known.retired_at is not None, known.held_at is None, -known.pk


@page(organizer_of)
def gold_candidates(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show settled pictures that could become gold, unanimous ones first."""
    now, filtered = domain_now(), CandidateFilter(request, gold_choice.free_panels())
    found = gold_choice.panels_for_gold(filtered.rows)
    shown = [{"candidate": each, "url": picture_url(each.panel.image, now=now)} for each in found[:MAX_LISTED]]
    context = {"shown": shown, "count": len(found), "filter": filtered}
    return render(request, "monitoring/gold_candidates.html", context)


@page(organizer_of, "GET POST")
def gold_new(request: HttpRequest, organizer: User, image_id: str) -> HttpResponse:
    """Show what the counted answers suggest for a picture, and make it gold with what the organizer decides."""
    now, panel = domain_now(), gold_choice.candidate_panel(image_id)
    rows = gold_choice.counted_answers([panel.pk]).get(panel.pk, [])
    form = GoldForm.of(request, action=("add", "preview"), initial=asdict(gold_choice.proposal(rows)))
    if request.POST.get("action") == "add":
        gate = policy_in_force(now).policy.outline_gate
        if form.submit(panel=panel, gate=gate, by=organizer, now=now):
            told, draft = f"Picture {image_id} is gold now.", f"gold {organizer.get_username()} {image_id}"
            return redirect_with_message(request, told, "gold", extra_tags=draft)
    context = {
        "image": panel.image,
        "url": picture_url(panel.image, now=now),
        "published": panel.image.origin in _PUBLISHED,
        "rows": rows,
        "others": [drawn_outline(row.outline) for row in rows if row.outline],
        "outline": _preview(form["outline"].value() or "", panel),
        "form": form,
    }
    return render(request, "monitoring/gold_new.html", context, status=form.status)


def _preview(outline: str, panel: Panel) -> str:
    """Return the outline as it would be stored; nothing for an invalid one, which the form reports."""
    try:
        return drawn_outline(gold_choice.canonical_outline(outline, panel))
    except InvalidInput:
        return ""
