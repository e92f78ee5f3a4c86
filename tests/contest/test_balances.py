"""The database keeps the balances (R34): what one account loses another gains, and none but the outside owes."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from threading import Barrier

import pytest
from django.db import DatabaseError, IntegrityError, connections, transaction
from django.db.models import Sum

from contest.enums import AccountKind
from contest.models import Account, LedgerEntry

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


def test_an_entry_moves_both_balances_and_the_sum_is_zero(now: datetime) -> None:
    outside, pool, attackers = accounts()
    move(outside, pool, 1000, now)
    move(pool, attackers, 400, now)
    assert balances() == [-1000, 600, 400]
    assert Account.objects.aggregate(sum=Sum("balance_cents"))["sum"] == 0


def test_nothing_but_the_outside_is_overdrawn(now: datetime) -> None:
    outside, pool, attackers = accounts()
    move(outside, pool, 100, now)
    with pytest.raises(IntegrityError), transaction.atomic():
        move(pool, attackers, 101, now)
    assert balances() == [-100, 100, 0] and LedgerEntry.objects.count() == 1


@pytest.mark.parametrize(("cents", "to_itself"), [(0, False), (-5, False), (5, True)])
def test_an_entry_moves_something_between_two(cents: int, to_itself: bool, now: datetime) -> None:
    outside, pool, _ = accounts()
    with pytest.raises(IntegrityError), transaction.atomic():
        move(outside, outside if to_itself else pool, cents, now)


def test_an_entry_is_never_changed(now: datetime) -> None:
    outside, pool, _ = accounts()
    entry = move(outside, pool, 100, now)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        LedgerEntry.objects.filter(pk=entry.pk).update(cents=1)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        LedgerEntry.objects.filter(pk=entry.pk).delete()


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_many_at_once_spend_what_is_there_and_no_more(now: datetime) -> None:
    outside, pool, attackers = accounts()
    move(outside, pool, 500, now)
    together = Barrier(8)

    def spend(number: int) -> bool:
        together.wait()
        there, back = (pool, attackers) if number % 4 else (attackers, pool)
        try:
            with transaction.atomic():
                move(there, back, 100, now)
            return True
        except IntegrityError:
            return False
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool_of_threads:
        done = sum(pool_of_threads.map(spend, range(8)))
    assert sum(balances()) == 0 and min(balances()[1:]) >= 0
    assert LedgerEntry.objects.count() == done + 1
