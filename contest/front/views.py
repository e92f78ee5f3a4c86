"""The public front page, the rules, and the written instructions."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from contest.access import not_for_taskers
from contest.front.documents import document
from contest.front.reading import clocks, front
from labeling.selectors import policy_in_force


@never_cache
@require_safe
def front_page(request: HttpRequest) -> HttpResponse:
    """Tell strangers what the contest is, what is at stake, and how to take part."""
    not_for_taskers(request.user)
    now = timezone.now()
    found = front(now=now)
    week, at_stake = clocks(found, now=now)
    context = {
        "page": found,
        "policy": found.policy,
        "at_stake": at_stake,
        "countdown": week,
        "now": now,
        "zone": week.zone,
        "share": found.policy.min_box_fraction * 100,
        "days": found.policy.stake_hours // 24,
    }
    return render(request, "front/front.html", context)


@never_cache
@require_safe
def rules(request: HttpRequest) -> HttpResponse:
    """Show the rule book, and the numbers that are in force."""
    now = timezone.now()
    in_force = policy_in_force(now)
    context = {
        "document": document("rules.md"),
        "numbers": [(name, _plain(value)) for name, value in in_force.policy.to_json().items()],
        "version": in_force.version,
    }
    return render(request, "front/rules.html", context)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


@require_safe
def defenses(request: HttpRequest) -> HttpResponse:
    """Tell how a defense is written, tried, packed and handed in."""
    return render(request, "front/document.html", {"document": document("defenses.md")})


@require_safe
def release_format(request: HttpRequest) -> HttpResponse:
    """Tell what lies in a release, and how it is checked."""
    return render(request, "front/document.html", {"document": document("release-format.md")})


@require_safe
def status(request: HttpRequest) -> HttpResponse:
    """Tell which of the rules the code has in force today."""
    return render(request, "front/document.html", {"document": document("status.md")})
