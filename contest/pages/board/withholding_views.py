"""Board page of withheld prizes (R21, R38)."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.text import capfirst

from common.domain_clock import domain_now
from common.web.page import page
from contest.board.open_motions import OpenMotion, open_motions_for
from contest.board.recusal import teams_stepped_aside_for
from contest.core.enums import DecisionKind
from contest.core.roles import board_member_of
from contest.ledger.amounts import money
from contest.ledger.selectors import accounts_with_prizes
from contest.ledger.withholding import WithheldAmount, subject_of, withholdings
from contest.pages.board.motion_forms import ReturnWithheldForm, WithholdForm
from contest.pages.board.motion_preview import preview_or_open
from contest.payments.statements import account_words
from contest.teams.selectors import other_teams
from contest.web.page_context import money_context

KINDS = (DecisionKind.WITHHOLD, DecisionKind.RETURN, DecisionKind.FORFEIT)


@page(board_member_of, "GET POST")
def board_withheld(request: HttpRequest, member: User) -> HttpResponse:
    """Show withheld money; open motions to withhold money of a team or a stake, or to return it."""
    now = domain_now()
    framed, aside = money_context(now), teams_stepped_aside_for(member, now=now)
    currency = framed["currency"]
    accounts = [
        (str(each.pk), f"{capfirst(account_words(each))}: {money(each.balance_cents, currency)}")
        for each in accounts_with_prizes(but=aside)
    ]
    withhold = WithholdForm.of(request, currency=currency, accounts=accounts, teams=list(other_teams(aside)))
    give_back = ReturnWithheldForm.of(request)
    if answer := preview_or_open(request, withhold, give_back, by=member, back=reverse("board-withheld")):
        return answer
    moved = [each for each in open_motions_for(member, *KINDS) if "defense" not in each.case.subject]
    sent = give_back if give_back.is_bound else withhold
    context: dict[str, Any] = {
        "form": sent,
        "withhold": withhold if accounts or withhold.is_bound else None,
        "withheld": [
            (each, _words(each), None if _has_open_return_motion(each, moved) else _return_form(each, give_back))
            for each in withholdings()
            if each.team is None or each.team.pk not in aside
        ],
        "moved": moved,
        "aside": aside,
        "quorum": framed["policy"].board_quorum,
    }
    return render(request, "money/withheld.html", context | framed, status=sent.status)


def _words(each: WithheldAmount) -> str:
    """Return in words whose money is withheld; for a stake it is the share of one team."""
    words = account_words(each.account)
    if each.award is not None:
        words = f"{words}, its award for {each.award.stake.defense.name}"
    elif each.team and each.account.stake_id:
        words = f"share of team {each.team.name} of the {words}"
    return capfirst(words)


def _has_open_return_motion(each: WithheldAmount, moved: Iterable[OpenMotion]) -> bool:
    """Say whether a motion to return this money is open."""
    rows = subject_of(each.account, each.team, each.award)
    return any(motion.kind is DecisionKind.RETURN and motion.case.subject == rows for motion in moved)


def _return_form(each: WithheldAmount, form: ReturnWithheldForm) -> ReturnWithheldForm:
    of_share = each.team.public_id if each.team and each.account.stake_id else ""
    return form.for_row(each.account.pk, of_share, each.award.pk if each.award else "")
