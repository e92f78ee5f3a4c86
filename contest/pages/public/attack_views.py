"""The public pages of attacks: one attack, and all of a week (R23-R26)."""

from datetime import timedelta

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from common.domain_clock import domain_now
from common.web.lists import page_of
from common.web.page import page
from contest.appeals.grounds import appeal_of, ground_of
from contest.attacks import quota
from contest.attacks.attack_states import attack_rows, attack_statuses
from contest.attacks.receipts import attack_receipt
from contest.attacks.selectors import against_all, attack_seen_by, attacks_of_week, is_own
from contest.core.countdown import countdown
from contest.core.enums import RELEASED_ORIGINS
from contest.core.publication import is_released, released_of_attacks
from contest.core.roles import picture_reader
from contest.core.teams import teams_counted_together
from contest.core.weeks import existing_week, week_at, week_called
from contest.payments.winnings import winnings_with
from contest.record.timeline.attack import attack_timeline
from contest.web.page_context import PAGE_SIZE
from labeling.pictures.addresses import picture_url
from policy.calendar import calendar_day
from policy.selectors import policy_in_force


@page()
def week(request: HttpRequest, name: str) -> HttpResponse:
    """List the attacks of a week once it has ended; before that say only when it ends."""
    now = domain_now()
    picture_reader(request.user)
    asked = existing_week(name)
    page = page_of(request, attacks_of_week(asked, now=now), PAGE_SIZE)
    shown = list(page.object_list)
    in_record = released_of_attacks(shown)
    context = {
        "week": asked,
        "ended": asked.end <= now,
        "before": week_at(asked.start - timedelta(seconds=1)).name,
        "after": week_at(asked.end).name if asked.end <= now else "",
        "page": page,
        "rows": [row | {"told": row["attack"].image_id in in_record} for row in attack_rows(shown, now)],
        "countdown": countdown(now=now),
        "now": now,
    }
    return render(request, "attacks/week.html", context)


@page()
def attack(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show one attack: its receipt and its outcome, as far as the reader may see them (R24)."""
    now, (team, organizer) = domain_now(), picture_reader(request.user)
    found = attack_seen_by(public_id, team=team, organizer=organizer, now=now)
    own = is_own(found, team)
    unrestricted = own or organizer
    in_record = is_released(found.image)
    told = unrestricted or in_record
    context = {
        "attack": found,
        "receipt": attack_receipt(found, unrestricted=organizer, now=now),
        "own": own,
        "organizer": organizer,
        "never_published": found.image.origin not in RELEASED_ORIGINS,
        "standing": attack_statuses([found], unrestricted=organizer, now=now)[found.pk] if told else None,
        "timeline": attack_timeline(found, own=own, organizer=organizer, now=now) if told else [],
        "policy": found.policy,
        "won": winnings_with(found, teams_counted_together(found.team), now=now) if told else [],
        "currency": policy_in_force(now).policy.currency,
        "may_withdraw": own and found.withdrawn_at is None and now < week_called(found.week).end,
        "url": picture_url(found.image, now=now),
        "appealed": appeal_of(team, found.image) if team else None,
        "ground": ground_of(found.image, team, now) if team else None,
        "now": now,
    }
    if not found.targets.exists():
        context["against_all"] = against_all(found)
    policy = policy_in_force(now).policy
    if own and calendar_day(found.received_at, policy.time_zone) == calendar_day(now, policy.time_zone):
        context["left"] = quota.quota_left(found.team, policy=policy, now=now)
    return render(request, "attacks/attack.html", context)
