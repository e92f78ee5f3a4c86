"""The organizers' pages of attacks: all of them, and the pictures that look alike (R26)."""

from typing import Any

from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.typed import whole_number
from common.web.form_fields import SeeOther
from common.web.page import page
from contest.attacks.attack_states import attack_statuses
from contest.attacks.models import NearDuplicate
from contest.attacks.near_duplicates import pair_review, unreviewed_pairs
from contest.attacks.selectors import attacks_received, weeks_of_attacks
from contest.core.countdown import countdown
from contest.core.weeks import week_at
from contest.web.page_context import ON_A_PAGE
from labeling.pictures.addresses import picture_url
from policy.selectors import policy_in_force

PAIRS_ON_A_PAGE = 20
WEEKS_OFFERED = 60


@page(organizer_of)
def all_attacks(request: HttpRequest, organizer: User) -> HttpResponse:
    """List what every team sent, newest first, of one week or of all."""
    now = domain_now()
    weeks = list(weeks_of_attacks()[:WEEKS_OFFERED])
    week = request.GET.get("week", "")
    asked = week if week in weeks else ""
    page = Paginator(attacks_received(asked), ON_A_PAGE).get_page(request.GET.get("page"))
    shown = list(page.object_list)
    found = attack_statuses(shown, unrestricted=True, now=now)
    context = {
        "rows": [{"attack": each, "standing": found[each.pk]} for each in shown],
        "page": page,
        "weeks": weeks,
        "asked": asked,
        "this_week": week_at(now).name,
        "unseen": unreviewed_pairs(seen=False).count(),
        "countdown": countdown(now=now),
        "zone": policy_in_force(now).policy.time_zone,
        "now": now,
    }
    return render(request, "attacks/organizer_attacks.html", context)


@page(organizer_of, "GET POST")
def near_duplicates(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show the pairs that look alike side by side, with their distance and who sent them; one is marked as seen."""
    now = domain_now()
    seen = request.GET.get("show") == "seen"
    if request.method == "POST":
        pair_review(pair_id=whole_number(request.POST.get("pair", "")) or 0, by=organizer, now=now)
        return SeeOther(reverse("near-duplicates"))
    page = Paginator(unreviewed_pairs(seen=seen), PAIRS_ON_A_PAGE).get_page(request.GET.get("page"))
    policy = policy_in_force(now).policy
    context = {
        "pairs": [_pair(each, now) for each in page.object_list],
        "page": page,
        "seen": seen,
        "within": policy.near_duplicate_bits,
        "zone": policy.time_zone,
        "now": now,
    }
    return render(request, "attacks/near_duplicates.html", context)


def _pair(pair: NearDuplicate, now: Any) -> dict[str, Any]:
    sides = [
        {"image": image, "url": picture_url(image, now=now), "attacks": list(image.attacks.all())}
        for image in (pair.like, pair.image)
    ]
    return {"pair": pair, "sides": sides}
