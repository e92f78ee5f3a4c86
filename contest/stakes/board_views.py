"""The board's page of stakes: staking in batches with criteria, and answering teams that want a defense back (R32)."""

from datetime import datetime

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from common.answers import http_status
from common.errors import DomainError, InvalidInput
from common.typed import whole_number
from contest.access import board_member_of
from contest.decisions import MOST_REASON_CHARACTERS
from contest.enums import AccountKind
from contest.models import StakeBatch
from contest.money.ledger import account
from contest.stakes import selectors, services, shown
from contest.stakes.team_views import fields_of
from labeling.selectors import policy_in_force
from labeling.views import SeeOther
from scoring.models import Defense
from scoring.trials.selectors import copy_flags_of, probe_of

BATCHES_SHOWN = 50


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def stakes(request: HttpRequest) -> HttpResponse:
    """Show what may be staked and what is, and record a batch or an answer to a team."""
    member, now = board_member_of(request.user), timezone.now()
    if request.method != "POST":
        return _page(request, now)
    try:
        words = _answer(request, member, now) if "stake" in request.POST else _stake(request, member, now)
    except DomainError as error:
        return _page(request, now, error)
    messages.success(request, words)
    return SeeOther(reverse("board-stakes"))


def _stake(request: HttpRequest, member: User, now: datetime) -> str:
    chosen = list(Defense.objects.filter(public_id__in=request.POST.getlist("defense")).order_by("pk"))
    criteria, reason = request.POST.get("criteria", ""), request.POST.get("reason", "")
    if not chosen:
        raise InvalidInput("Choose at least one defense.", "invalid", field="defenses")
    batch = services.stake_batch(chosen, criteria, reason, by=member, now=now)
    return f"Batch {batch.public_id} is at stake: {', '.join(each.name for each in chosen)}."


def _answer(request: HttpRequest, member: User, now: datetime) -> str:
    number = whole_number(request.POST.get("stake", "")) or 0
    asked = selectors.stakes_in_force().filter(return_asked_at__isnull=False)
    stake = asked.filter(pk=number).first()
    if stake is None:
        raise InvalidInput("Nobody asks for this defense any more.", "not_asked")
    if request.POST.get("granted") not in ("yes", "no"):
        raise InvalidInput("Choose whether it is returned.", "invalid", field=f"granted-{stake.pk}")
    granted = request.POST["granted"] == "yes"
    services.return_decide(stake, granted=granted, reason=request.POST.get("reason", ""), by=member, now=now)
    return f"{stake.defense.name} {'is not at stake any more' if granted else 'stays at stake'}."


def _page(request: HttpRequest, now: datetime, error: DomainError | None = None) -> HttpResponse:
    policy = policy_in_force(now).policy
    rows = list(selectors.stakes_in_force())
    batches = StakeBatch.objects.select_related("decision__decided_by").annotate(defenses=Count("stakes"))
    context = {
        "choices": [_choice(defense) for defense in selectors.stakeable()],
        "chosen": set(request.POST.getlist("defense")),
        "given": request.POST if request.method == "POST" else {},
        "stakes": [shown.stake_shown(stake, now) for stake in rows],
        "returns": [stake for stake in rows if stake.return_asked_at is not None],
        "batches": batches.order_by("-staked_at")[:BATCHES_SHOWN],
        "half": account(AccountKind.ATTACKERS).balance_cents,
        "policy": policy,
        "longest": MOST_REASON_CHARACTERS,
        "wrong": error,
        "fields": fields_of(error),
        "now": now,
        "zone": policy.time_zone,
    }
    return render(request, "stakes/board.html", context, status=http_status(error) if error else 200)


def _choice(defense: Defense) -> dict[str, object]:
    """Return a defense that may be staked, with what the board should know before it does."""
    return {
        "defense": defense,
        "is_open": selectors.is_open(defense),
        "copies": copy_flags_of(defense),
        "by_heart": bool(probe_of(defense).get("shown")),
    }
