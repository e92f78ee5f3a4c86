"""The database keeps the balances (R34): what one account loses another gains, and none but the outside owes."""

from datetime import datetime
from functools import partial

import pytest
from django.db import DatabaseError, IntegrityError, transaction

from contest.enums import AccountKind
from contest.models import Account, LedgerEntry
from tests.at_once import refusals_at_once

pytestmark = pytest.mark.django_db


def accounts() -> tuple[Account, Account, Account]:
    outside, pool, attackers = (
        Account.objects.create(kind=kind) for kind in (AccountKind.OUTSIDE, AccountKind.POOL, AccountKind.ATTACKERS)
    )
    return outside, pool, attackers


def move(source: Account, target: Account, cents: int, now: datetime) -> LedgerEntry:
    return LedgerEntry.objects.create(
        source=source, target=target, cents=cents, rule="R34", why="a test", causes={}, made_at=now
    )


def balances() -> list[int]:
    return list(Account.objects.order_by("pk").values_list("balance_cents", flat=True))


@pytest.mark.both("a trigger moves the balances, and a constraint keeps them")
def test_an_entry_moves_both_balances_and_nothing_but_the_outside_is_overdrawn(now: datetime) -> None:
    outside, pool, attackers = accounts()
    move(outside, pool, 1000, now)
    move(pool, attackers, 400, now)
    with pytest.raises(IntegrityError), transaction.atomic():
        move(pool, attackers, 601, now)
    assert (balances(), LedgerEntry.objects.count()) == ([-1000, 600, 400], 2)


@pytest.mark.parametrize(("cents", "to_itself"), [(0, False), (-5, False), (5, True)])
def test_an_entry_moves_something_between_two(cents: int, to_itself: bool, now: datetime) -> None:
    outside, pool, _ = accounts()
    with pytest.raises(IntegrityError), transaction.atomic():
        move(outside, outside if to_itself else pool, cents, now)


@pytest.mark.both("a trigger refuses it")
def test_an_entry_is_never_changed(now: datetime) -> None:
    outside, pool, _ = accounts()
    entry = LedgerEntry.objects.filter(pk=move(outside, pool, 100, now).pk)
    for change in (partial(entry.update, cents=1), entry.delete):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            change()


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_many_at_once_spend_what_is_there_and_no_more(now: datetime) -> None:
    outside, pool, attackers = accounts()
    move(outside, pool, 500, now)
    there, back = partial(move, pool, attackers, 100, now), partial(move, attackers, pool, 100, now)
    done = refusals_at_once(*[back, there, there, there] * 2).count("")
    assert sum(balances()) == 0 and min(balances()[1:]) >= 0
    assert LedgerEntry.objects.count() == done + 1
