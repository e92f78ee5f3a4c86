"""Queries for accounts of the ledger of prize money."""

from collections.abc import Collection, Iterable

from django.db.models import QuerySet

from contest.core.enums import AccountKind
from contest.core.models import Team
from contest.ledger.models import Account


def team_accounts(teams: Iterable[Team]) -> QuerySet[Account]:
    """Return the accounts of these teams."""
    return Account.objects.filter(kind=AccountKind.TEAM, team__in=teams)


def defenders_cents() -> int:
    """Return the balance of the defenders' half; 0 before its account is opened."""
    return Account.objects.filter(kind=AccountKind.DEFENDERS).values_list("balance_cents", flat=True).first() or 0


def accounts_with_prizes(*, but: Collection[int]) -> QuerySet[Account]:
    """Return the accounts of teams and of stakes with money that may be withheld (R38), except those of the teams with
    the numbers `but`."""
    return _accounts_of_prizes(but).filter(balance_cents__gt=0).order_by("kind", "pk")


def account_of_prizes(number: int, *, but: Collection[int]) -> Account | None:
    """Return the account with this number if it is of a team or a stake; None for those of the teams `but`."""
    return _accounts_of_prizes(but).filter(pk=number).first()


def _accounts_of_prizes(but: Collection[int]) -> QuerySet[Account]:
    rows = Account.objects.filter(kind__in=(AccountKind.TEAM, AccountKind.STAKE)).exclude(team__in=but)
    return rows.select_related("team", "stake__defense")
