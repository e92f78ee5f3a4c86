"""The board's page of prizes that are withheld (R38)."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from common.answers import http_status
from common.errors import DomainError, InvalidInput
from common.typed import whole_number
from contest.access import board_member_of
from contest.decisions import MOST_REASON_CHARACTERS
from contest.enums import AccountKind
from contest.models import Account, Award, Team
from contest.money.figures import account_words
from contest.money.views import form_errors, frame, sum_words
from contest.money.withholding import Withheld, money_return, money_withhold, withholdings
from contest.money.words import cents_of
from labeling.accounts.forms import go_to, text

KINDS = (AccountKind.TEAM, AccountKind.STAKE)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def board_withheld(request: HttpRequest) -> HttpResponse:
    """Show what is withheld; withhold money of a team or a stake with a public reason, or give it back."""
    member = board_member_of(request.user)
    if request.method != "POST":
        return _page(request, None)
    try:
        words = _do(request, member)
    except DomainError as error:
        return _page(request, error)
    messages.success(request, words)
    return go_to("board-withheld")


def _do(request: HttpRequest, by: User) -> str:
    of, reason, now = _account(request), text(request, "reason", MOST_REASON_CHARACTERS + 1), timezone.now()
    team = _team(request) if of.stake_id is not None else None
    if "return" in request.POST:
        decision = money_return(of=of, team=team, award=_award(request), reason=reason, by=by, now=now)
        return f"{sum_words(decision.details['cents'])} went back to the account of the {account_words(of)}."
    cents = cents_of(text(request, "sum", 30))
    if cents is None:
        raise InvalidInput("Write the sum like 1234.50.", "invalid", field="sum")
    entry = money_withhold(of=of, team=team, cents=cents, reason=reason, by=by, now=now)
    return f"{sum_words(entry.cents)} of {_whose(of, team)} are withheld."


def _whose(of: Account, team: Team | None) -> str:
    """Return whose money is withheld; of a stake it is the share of one team."""
    return f"the share of team {team.name} of the {account_words(of)}" if team else f"the {account_words(of)}"


def _shown(each: Withheld) -> str:
    if each.award is not None:
        return f"{account_words(each.account)}, its award for {each.award.stake.defense.name}"
    return _whose(each.account, each.team if each.account.stake_id is not None else None).removeprefix("the ")


def _account(request: HttpRequest) -> Account:
    typed = text(request, "account", 18)
    number = whole_number(typed) or 0
    row = Account.objects.filter(pk=number, kind__in=KINDS).select_related("team", "stake__defense").first()
    if row is None:
        raise InvalidInput("Choose an account of the list.", "invalid", field="account")
    return row


def _award(request: HttpRequest) -> Award | None:
    typed = text(request, "award", 18)
    return Award.objects.filter(pk=whole_number(typed) or 0).first()


def _team(request: HttpRequest) -> Team | None:
    return _teams().filter(public_id=text(request, "team", 20)).first()


def _teams() -> QuerySet[Team]:
    return Team.objects.filter(merged_into=None).order_by("name", "pk")


def _page(request: HttpRequest, error: DomainError | None) -> HttpResponse:
    with_money = Account.objects.filter(kind__in=KINDS, balance_cents__gt=0).select_related("team", "stake__defense")
    context: dict[str, Any] = {
        "accounts": [(each, account_words(each)) for each in with_money.order_by("kind", "pk")],
        "teams": _teams(),
        "withheld": [(each, _shown(each)) for each in withholdings()],
        "longest": MOST_REASON_CHARACTERS,
        "errors": form_errors(error),
        "typed": request.POST if error else {},
    }
    status = http_status(error) if error else 200
    return render(request, "money/withheld.html", context | frame(timezone.now()), status=status)
