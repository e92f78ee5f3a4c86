"""Public views of the start page, the rule book, the guides and the participants' kit."""

from collections import Counter
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import cache_control

from common.domain_clock import domain_now
from common.web.page import page
from contest.attacks.attack_states import attack_statuses
from contest.attacks.quota import quota_left
from contest.attacks.selectors import attacks_by_team
from contest.board.selectors import stakes_visible_to, to_vote_on
from contest.core.models import Team
from contest.core.roles import roles_of
from contest.defenses.eligibility import frameworks_unchecked
from contest.defenses.selectors import stakeable, submissions_of
from contest.pages.public.documents import document, rule_book
from contest.pages.public.front_page import clocks, front
from contest.pages.public.rule_numbers import beside_rules
from contest.payments.payable import payables_of
from contest.policy_changes.selectors import PolicyState, numbers_in_force, policy_history
from contest.prizes.checklist import contenders
from contest.web.kit_wheel import kit_wheel
from labeling.enums import TaskerState
from policy.selectors import policy_in_force

LATEST_ATTACKS = 20


@page()
def front_page(request: HttpRequest) -> HttpResponse:
    """Show what the contest is, what is at stake, and how to take part."""
    now = domain_now()
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


@page()
def rules(request: HttpRequest) -> HttpResponse:
    """Show the rule book with the numbers in force beside the rules, future numbers, and every past version."""
    now = domain_now()
    found = policy_history(now=now)
    numbers, zone = numbers_in_force(found), policy_in_force(now).policy.time_zone
    plain = policy_in_force(now).policy.to_json()
    context = {
        "document": rule_book(tuple(beside_rules(numbers, zone).items())),
        "numbers": [(each, _plain(plain[each.number.name])) for each in numbers],
        "version": policy_in_force(now).version,
        "versions": found,
        "coming": [each for each in reversed(found) if each.state is PolicyState.TO_COME],
        "now": now,
        "zone": zone,
    }
    return render(request, "front/rules.html", context)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


@page(cache=None)
def defenses(request: HttpRequest) -> HttpResponse:
    """Show how to write, test, pack and submit a defense."""
    wheel = kit_wheel()
    address = f"{settings.PUBLIC_URL}{reverse('kit', args=[wheel.name])}"
    context = {"document": document("defenses.md"), "wheel": wheel, "address": address}
    return render(request, "front/defenses.html", context)


@page(cache=None)
def kit(request: HttpRequest, wheel_name: str) -> HttpResponse:
    """Return the participants' kit as a wheel, for `pip install`; no other file."""
    wheel = kit_wheel()
    if wheel_name != wheel.name:
        raise Http404
    return HttpResponse(
        wheel.content,
        content_type="application/octet-stream",
        headers={"Content-Disposition": f'attachment; filename="{wheel.name}"'},
    )


@page(cache=None)
def release_format(request: HttpRequest) -> HttpResponse:
    """Show what a release contains, and how to check it."""
    return render(request, "front/document.html", {"document": document("release-format.md")})


@page(cache=None)
def verdicts_in_pandas(request: HttpRequest) -> HttpResponse:
    """Show a pandas example that derives every verdict of a release again."""
    return render(request, "front/document.html", {"document": document("verdicts-in-pandas.md")})


@page(cache=None)
def status(request: HttpRequest) -> HttpResponse:
    """Show which rules the code enforces today."""
    return render(request, "front/document.html", {"document": document("status.md")})


@page(cache=None)
def guide(request: HttpRequest, file: str) -> HttpResponse:
    """Show the guide for one role."""
    return render(request, "front/document.html", {"document": document(file)})


@page()
def home(request: HttpRequest) -> HttpResponse:
    """Redirect qualified taskers and organizers; show strangers the front page, others their home page."""
    if not request.user.is_authenticated:
        return front_page(request)
    tasker = getattr(request.user, "tasker", None)
    if tasker is not None and tasker.state == TaskerState.QUALIFIED:
        return redirect("label")
    roles = roles_of(request.user)
    if roles.organizer:
        return redirect("overview")
    context = {"tasker": tasker, "account_roles": roles}
    if roles.board:
        context["waiting"] = _waiting_for_board(request.user)
    if roles.team:
        context["figures"] = _figures_of_team(roles.team)
    return render(request, "contest/home.html", context)


def _waiting_for_board(member: User) -> dict[str, int]:
    """Return how many items wait for a member on each page of the board."""
    now = domain_now()
    seen = set(stakes_visible_to(member, now=now).values_list("pk", flat=True))
    return {
        "cases": to_vote_on(member).count(),
        "stakes": stakeable().count(),
        "frameworks": len(frameworks_unchecked(now)),
        "awards": sum(each.pk in seen for each in contenders(now=now)),
    }


def _figures_of_team(team: Team) -> dict[str, Any]:
    """Return a team's remaining quota of today, the outcome of its latest attacks, its money and its defenses."""
    now = domain_now()
    policy = policy_in_force(now).policy
    latest = list(attacks_by_team(team)[:LATEST_ATTACKS])
    staked = [row for row in front(now=now).staked if not row.is_over(now)]
    # A break of the team's own defense wins nothing.
    to_win = [row for row in staked if row.team is None or row.team.id != team.public_id]
    states = attack_statuses(latest, unrestricted=False, now=now).values()
    return {
        "left": quota_left(team, policy=policy, now=now),
        "accounts": payables_of(team, now=now),
        "to_win": sum(row.cents for row in to_win),
        "currency": policy.currency,
        "a_day": policy.attacks_per_day,
        "latest": Counter(each.words for each in states).most_common(),
        "sent": len(latest),
        "defenses": submissions_of(team).count(),
    }


@page(cache=cache_control(max_age=86_400, public=True))
def favicon(request: HttpRequest) -> HttpResponse:
    """Serve the icon to browsers that request it by default, as for JSON, a picture or a file."""
    return HttpResponse((settings.BASE_DIR / "static/img/mark.svg").read_bytes(), content_type="image/svg+xml")
