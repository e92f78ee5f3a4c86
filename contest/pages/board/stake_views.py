"""Board page of stakes: motions to stake defenses, and to answer teams that want a stake returned (R21, R32)."""

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from common.domain_clock import domain_now
from common.web.page import page
from contest.board.open_motions import OpenMotion, open_motions_for
from contest.board.recusal import teams_stepped_aside_for
from contest.core.enums import AccountKind, DecisionKind
from contest.core.models import Stake
from contest.core.roles import board_member_of
from contest.defenses import selectors, stake_rows
from contest.ledger.services import ledger_account
from contest.pages.board.motion_forms import ReturnAnswerForm, StakeMotionForm
from contest.pages.board.motion_preview import preview_or_open
from policy.selectors import policy_in_force
from scoring.models import Defense
from scoring.trials.selectors import copy_flags_of, probe_of

BATCHES_SHOWN = 50
KINDS = (DecisionKind.STAKE, DecisionKind.RETURN)


@page(board_member_of, "GET POST")
def stakes(request: HttpRequest, member: User) -> HttpResponse:
    """Show defenses that may be staked and current stakes; open motions to stake a batch or to answer a team."""
    now = domain_now()
    aside = teams_stepped_aside_for(member, now=now)
    moved = [each for each in open_motions_for(member, *KINDS) if "defense" in each.case.subject]
    free = _free(aside, moved)
    stake, answer = StakeMotionForm.of(request, defenses=free), ReturnAnswerForm.of(request)
    if answered := preview_or_open(request, stake, answer, by=member, back=reverse("board-stakes")):
        return answered
    policy = policy_in_force(now).policy
    rows = list(selectors.stakes_in_force())
    sent = answer if answer.is_bound else stake
    context = {
        "form": sent,
        "stake": stake,
        "choices": list(zip(stake["defense"], map(_choice, free), strict=True)),
        "returns": _returns(rows, aside, moved, answer),
        "stakes": [stake_rows.stake_row(each, now) for each in rows],
        "moved": moved,
        "aside": aside,
        "batches": selectors.stake_batches()[:BATCHES_SHOWN],
        "half": ledger_account(AccountKind.ATTACKERS).balance_cents,
        "policy": policy,
        "quorum": policy.board_quorum,
        "now": now,
        "zone": policy.time_zone,
    }
    return render(request, "stakes/board.html", context, status=sent.status)


def _free(aside: set[int], moved: Iterable[OpenMotion]) -> list[Defense]:
    """Return the defenses for which the member may open a motion to stake."""
    named = {defense for each in moved for defense in each.case.subject["defense"]}
    return [each for each in selectors.stakeable() if each.entry.team_id not in aside and each.pk not in named]


def _returns(
    stakes: Iterable[Stake], aside: set[int], moved: Iterable[OpenMotion], form: ReturnAnswerForm
) -> list[tuple[Stake, ReturnAnswerForm | None]]:
    """Return the return requests that the member may judge, each with its form, or None where a motion is open."""
    requested = [each for each in stakes if each.return_asked_at and each.defense.entry.team_id not in aside]
    answers = [each for each in moved if each.kind is DecisionKind.RETURN]
    answered = {stake.pk for stake in requested for each in answers if each.names("stake", stake.pk)}
    return [(stake, None if stake.pk in answered else form.for_row(stake.pk)) for stake in requested]


def _choice(defense: Defense) -> dict[str, object]:
    """Return a defense that may be staked, with facts for the board's decision."""
    return {
        "defense": defense,
        "is_open": selectors.is_open(defense),
        "copies": copy_flags_of(defense),
        "by_heart": bool(probe_of(defense).get("shown")),
    }
