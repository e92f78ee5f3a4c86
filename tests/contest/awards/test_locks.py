"""An award beside a deposit, on real PostgreSQL: neither waits for the other for ever (R34)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections

from contest.awards import services
from contest.enums import AccountKind
from contest.models import Account, LedgerEntry, Stake, Team
from contest.money import deposits
from contest.money.deposits import pool_deposit
from contest.money.ledger import check
from tests.contest.awards.test_awards import HALF, NOW, all_met, give, makers, stake
from tests.contest.money.cast import balance

__all__ = ["makers", "stake"]
pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
A_WHILE, LONG = 3.0, 60.0


def done(act: Callable[[], Any]) -> str:
    try:
        act()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        connections.close_all()
    return "done"


def test_an_award_and_a_deposit_at_once(
    stake: Stake, makers: Team, rita: User, olga: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_met(stake)
    award_has_its_half, deposit_has_the_attackers = Event(), Event()
    end, move = services.stake_end, deposits.move

    def ends(*given: Any, **more: Any) -> Stake:
        award_has_its_half.set()
        deposit_has_the_attackers.wait(A_WHILE)
        return end(*given, **more)

    def moves(source: Account, target: Account, *given: Any, **more: Any) -> LedgerEntry:
        made = move(source, target, *given, **more)
        if target.kind == AccountKind.ATTACKERS:
            deposit_has_the_attackers.set()
        return made

    def deposit() -> None:
        award_has_its_half.wait(LONG)
        pool_deposit(cents=1_000, reason="A gift.", by=olga, now=NOW)

    monkeypatch.setattr(services, "stake_end", ends)
    monkeypatch.setattr(deposits, "move", moves)
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(done, act) for act in (lambda: give(stake, rita), deposit)]
        assert [each.result(2 * LONG) for each in both] == ["done", "done"]
    assert (balance(makers), balance(AccountKind.DEFENDERS)) == (HALF, 500)
    assert check().wrong == ()
