"""The board's page of prizes that are withheld (R21, R38)."""

from collections.abc import Iterable, Set
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from common.domain_clock import domain_now
from common.errors import DomainError, InvalidInput
from common.typed import whole_number
from common.web.error_status import http_status
from common.web.form_fields import text
from common.web.page import page
from contest.board.motion_factories import return_move, withhold_move
from contest.board.open_motions import Moved, moved_for
from contest.board.recusal import teams_stepped_aside_for
from contest.core.decisions import MOST_REASON_CHARACTERS
from contest.core.enums import DecisionKind
from contest.core.models import Award, Case
from contest.core.roles import board_member_of
from contest.ledger.amounts import cents_of
from contest.ledger.models import Account
from contest.ledger.selectors import account_of_prizes, accounts_with_prizes
from contest.ledger.withholding import Withheld, subject_of, withholdings
from contest.pages.board.motion_preview import is_changed, move_or_show
from contest.payments.statements import account_words
from contest.prizes.selectors import award_by_number
from contest.teams.selectors import teams_but
from contest.web.page_context import form_errors, frame


@page(board_member_of, "GET POST")
def board_withheld(request: HttpRequest, member: User) -> HttpResponse:
    """Show what is withheld; move to withhold money of a team or a stake with a public reason, or to give it back."""
    if request.method != "POST" or is_changed(request):
        return _page(request, member, None)
    try:
        return move_or_show(request, lambda: _move(request, member), back=reverse("board-withheld"))
    except DomainError as error:
        return _page(request, member, error)


def _move(request: HttpRequest, by: User) -> Case:
    now = domain_now()
    aside = teams_stepped_aside_for(by, now=now)
    of, reason = _account(request, aside), text(request, "reason", MOST_REASON_CHARACTERS + 1)
    team = teams_but(aside).filter(public_id=text(request, "team", 20)).first() if of.stake_id is not None else None
    if "return" in request.POST:
        return return_move(of, team=team, award=_award(request), reason=reason, by=by, now=now)
    cents = cents_of(text(request, "sum", 30))
    if cents is None:
        raise InvalidInput("Write the sum like 1234.50.", "invalid", field="sum")
    return withhold_move(of, cents, team=team, reason=reason, by=by, now=now)


def _shown(each: Withheld) -> str:
    """Return whose money is withheld; of a stake it is the share of one team."""
    words = account_words(each.account)
    if each.award is not None:
        return f"{words}, its award for {each.award.stake.defense.name}"
    return f"share of team {each.team.name} of the {words}" if each.team and each.account.stake_id else words


def _is_moved(each: Withheld, moved: Iterable[Moved]) -> bool:
    """Say whether it is moved already to give this back."""
    rows = subject_of(each.account, each.team, each.award)
    return any(motion.kind is DecisionKind.RETURN and motion.case.subject == rows for motion in moved)


def _is_typed(each: Withheld, request: HttpRequest) -> bool:
    """Say whether it is this that the form was about which came."""
    of = {"account": str(each.account.pk), "award": str(each.award.pk) if each.award is not None else ""}
    if each.account.stake_id is not None and each.team is not None:  # the share of one team of several
        of["team"] = each.team.public_id
    return "return" in request.POST and all(text(request, name, 20) == told for name, told in of.items())


def _account(request: HttpRequest, aside: Set[int]) -> Account:
    """Return the account that the form names; a member who steps aside for its team may not know of it here (R21)."""
    row = account_of_prizes(whole_number(text(request, "account", 18)) or 0, but=aside)
    if row is None:
        raise InvalidInput("Choose an account of the list.", "invalid", field="account")
    return row


def _award(request: HttpRequest) -> Award | None:
    typed = text(request, "award", 18)
    return award_by_number(whole_number(typed) or 0)


def _withheld(aside: Set[int]) -> list[Withheld]:
    return [each for each in withholdings() if each.team is None or each.team.pk not in aside]


def _page(request: HttpRequest, member: User, error: DomainError | None) -> HttpResponse:
    now = domain_now()
    aside = teams_stepped_aside_for(member, now=now)
    kinds = (DecisionKind.WITHHOLD, DecisionKind.RETURN, DecisionKind.FORFEIT)
    moved = [each for each in moved_for(member, *kinds) if "defense" not in each.case.subject]
    rows = accounts_with_prizes(but=aside)
    framed, held = frame(now), _withheld(aside)
    context: dict[str, Any] = {
        "accounts": [(each, account_words(each)) for each in rows],
        "teams": teams_but(aside),
        "withheld": [(each, _shown(each), _is_moved(each, moved), _is_typed(each, request)) for each in held],
        "moved": moved,
        "aside": aside,
        "quorum": framed["policy"].board_quorum,
        "longest": MOST_REASON_CHARACTERS,
        "errors": form_errors(error),
        "typed": request.POST,
    }
    status = http_status(error) if error else 200
    return render(request, "money/withheld.html", context | framed, status=status)
