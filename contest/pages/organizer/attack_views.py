"""Organizers' pages of attacks: the list of all, and the near duplicates (R26)."""

from datetime import datetime

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django_filters import ChoiceFilter

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.web.form_fields import go_to
from common.web.forms import RowForm, RowNumberField
from common.web.lists import ListFilter, page_of
from common.web.page import page
from contest.attacks.attack_states import attack_statuses
from contest.attacks.models import NearDuplicate
from contest.attacks.near_duplicates import pair_review, unreviewed_pairs
from contest.attacks.selectors import attacks_received, weeks_of_attacks
from contest.core.countdown import countdown
from contest.core.weeks import week_at
from contest.web.page_context import PAGE_SIZE
from labeling.models import Image
from labeling.pictures.addresses import picture_url
from policy.selectors import policy_in_force

PAIRS_PER_PAGE = 20
WEEKS_OFFERED = 60


class AttackFilter(ListFilter):
    """Filters attacks by week."""

    week = ChoiceFilter(
        label="Week",
        empty_label="All weeks",
        choices=lambda: [(each, each) for each in weeks_of_attacks()[:WEEKS_OFFERED]],
    )


class SeenForm(RowForm):
    """Marks a pair as seen."""

    keys = ("pair",)
    pair = RowNumberField()


@page(organizer_of)
def all_attacks(request: HttpRequest, organizer: User) -> HttpResponse:
    """List the attacks of all teams, newest first, of one week or of all."""
    now = domain_now()
    filtered = AttackFilter(request, attacks_received())
    page = page_of(request, filtered.rows, PAGE_SIZE)
    shown = list(page.object_list)
    found = attack_statuses(shown, unrestricted=True, now=now)
    context = {
        "rows": [{"attack": each, "standing": found[each.pk]} for each in shown],
        "page": page,
        "filter": filtered,
        "this_week": week_at(now).name,
        "unseen": unreviewed_pairs(seen=False).count(),
        "countdown": countdown(now=now),
        "zone": policy_in_force(now).policy.time_zone,
        "now": now,
    }
    return render(request, "attacks/organizer_attacks.html", context)


@page(organizer_of, "GET POST")
def near_duplicates(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show pairs of similar pictures side by side, with distance and senders; a POST marks a pair as seen."""
    now, form = domain_now(), SeenForm.of(request)
    seen = request.GET.get("show") == "seen"
    if form.is_valid():
        pair_review(pair_id=form.cleaned_data["pair"], by=organizer, now=now)
        return go_to("near-duplicates")
    page = page_of(request, unreviewed_pairs(seen=seen), PAIRS_PER_PAGE)
    policy = policy_in_force(now).policy
    context = {
        "pairs": [(_sides(each, now), each, form.for_row(each.pk)) for each in page.object_list],
        "page": page,
        "seen": seen,
        "within": policy.near_duplicate_bits,
        "zone": policy.time_zone,
        "now": now,
    }
    return render(request, "attacks/near_duplicates.html", context)


def _sides(pair: NearDuplicate, now: datetime) -> list[tuple[Image, str]]:
    return [(image, picture_url(image, now=now)) for image in (pair.like, pair.image)]
