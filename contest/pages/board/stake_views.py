"""The board's page of stakes: moving to stake a batch by criteria, and what teams are answered that want a defense back
(R21, R32).
"""

from collections.abc import Iterable
from datetime import datetime

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from common.domain_clock import domain_now
from common.errors import DomainError, InvalidInput
from common.typed import whole_number
from common.web.error_status import http_status
from common.web.page import page
from contest.board.motion_factories import answer_move, stakes_move
from contest.board.open_motions import Moved, moved_for
from contest.board.recusal import teams_stepped_aside_for
from contest.core.decisions import MOST_REASON_CHARACTERS
from contest.core.enums import AccountKind, DecisionKind
from contest.core.models import Case, Stake
from contest.core.roles import board_member_of
from contest.defenses import selectors, stake_rows
from contest.ledger.services import account
from contest.pages.board.motion_preview import is_changed, move_or_show
from contest.web.page_context import fields_of
from policy.selectors import policy_in_force
from scoring.models import Defense
from scoring.selectors import defenses_named
from scoring.trials.selectors import copy_flags_of, probe_of

BATCHES_SHOWN = 50
KINDS = (DecisionKind.STAKE, DecisionKind.RETURN)


@page(board_member_of, "GET POST")
def stakes(request: HttpRequest, member: User) -> HttpResponse:
    """Show what may be staked and what is, and move a batch or an answer to a team."""
    now = domain_now()
    if request.method != "POST" or is_changed(request):
        return _page(request, member, now)
    move = _answer if "stake" in request.POST else _stake
    try:
        return move_or_show(request, lambda: move(request, member, now), back=reverse("board-stakes"))
    except DomainError as error:
        return _page(request, member, now, error)


def _stake(request: HttpRequest, member: User, now: datetime) -> Case:
    chosen = defenses_named(request.POST.getlist("defense"))
    criteria, reason = request.POST.get("criteria", ""), request.POST.get("reason", "")
    if not chosen:
        raise InvalidInput("Choose at least one defense.", "invalid", field="defenses")
    return stakes_move(chosen, criteria, reason, by=member, now=now)


def _answer(request: HttpRequest, member: User, now: datetime) -> Case:
    number = whole_number(request.POST.get("stake", "")) or 0
    stake = selectors.stake_asked_back(number)
    if stake is None:
        raise InvalidInput("Nobody asks for this defense any more.", "not_asked")
    if request.POST.get("granted") not in ("yes", "no"):
        raise InvalidInput("Choose whether it is returned.", "invalid", field=f"granted-{stake.pk}")
    granted = request.POST["granted"] == "yes"
    return answer_move(stake, granted=granted, reason=request.POST.get("reason", ""), by=member, now=now)


def _page(request: HttpRequest, member: User, now: datetime, error: DomainError | None = None) -> HttpResponse:
    policy = policy_in_force(now).policy
    rows = list(selectors.stakes_in_force())
    aside = teams_stepped_aside_for(member, now=now)
    moved = [each for each in moved_for(member, *KINDS) if "defense" in each.case.subject]
    named = {defense for each in moved for defense in each.case.subject["defense"]}
    free = [each for each in selectors.stakeable() if each.entry.team_id not in aside and each.pk not in named]
    context = {
        "choices": [_choice(each) for each in free],
        "chosen": set(request.POST.getlist("defense")),
        "given": request.POST if request.method == "POST" else {},
        "stakes": [stake_rows.stake_shown(stake, now) for stake in rows],
        "returns": _returns(rows, aside, moved),
        "moved": moved,
        "aside": aside,
        "batches": selectors.batches()[:BATCHES_SHOWN],
        "half": account(AccountKind.ATTACKERS).balance_cents,
        "policy": policy,
        "quorum": policy.board_quorum,
        "longest": MOST_REASON_CHARACTERS,
        "wrong": error,
        "fields": fields_of(error),
        "now": now,
        "zone": policy.time_zone,
    }
    return render(request, "stakes/board.html", context, status=http_status(error) if error else 200)


def _returns(stakes: Iterable[Stake], aside: set[int], moved: Iterable[Moved]) -> list[tuple[Stake, bool]]:
    """Return what teams want back that the member may judge, each with whether an answer is moved already."""
    asked = [each for each in stakes if each.return_asked_at is not None and each.defense.entry.team_id not in aside]
    answers = [each for each in moved if each.kind is DecisionKind.RETURN]
    return [(stake, any(each.names("stake", stake.pk) for each in answers)) for stake in asked]


def _choice(defense: Defense) -> dict[str, object]:
    """Return a defense that may be staked, with what the board should know before it does."""
    return {
        "defense": defense,
        "is_open": selectors.is_open(defense),
        "copies": copy_flags_of(defense),
        "by_heart": bool(probe_of(defense).get("shown")),
    }
