"""An award beside a deposit or a batch, on real PostgreSQL: neither waits for the other for ever (R34, R36)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections, transaction

from common.errors import Conflict
from contest.awards import services
from contest.awards.services import change_of
from contest.awards.settling import prizes_settle
from contest.enums import AccountKind, StakeEnd
from contest.models import Account, Association, Award, LedgerEntry, Stake, Team
from contest.money import deposits
from contest.money.deposits import pool_deposit
from contest.money.ledger import check
from contest.stakes.ends import stake_end, stakes_end
from contest.stakes.services import stake_batch
from scoring.models import Defense
from tests.contest.awards.test_awards import HALF, NOW, all_met, give, makers, stake
from tests.contest.money import cast
from tests.contest.money.cast import BEFORE, SETTLED, balance
from tests.contest.stakes.test_races import until_waiting
from tests.factories import mandate
from tests.refusals import refused

__all__ = ["makers", "stake"]
pytestmark = [pytest.mark.postgres("several at once: SQLite has one writer"), pytest.mark.django_db(transaction=True)]
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


@pytest.fixture
def crossed(makers: Team) -> tuple[Stake, Stake]:
    """Two unbroken stakes of one batch, begun in the other order than their defenses came."""
    low, high = cast.defense("low", makers), cast.defense("high", cast.team("others"))
    both = cast.batch()
    first, second = cast.staked(high, of=both), cast.staked(low, of=both)
    return all_met(first), all_met(second)


def awarding(stake: Stake, rita: User) -> Callable[[], Any]:
    return lambda: give(stake, rita)


def settling(stake: Stake, rita: User) -> Callable[[], Any]:
    """The award is given, and its money follows what is known of a team since."""
    decision = give(stake, rita)[0].decision
    Association.objects.create(team=Team.objects.get(name="others"), reason="x", since=BEFORE, declared_at=NOW)
    assert change_of(decision).flows
    return lambda: prizes_settle(now=NOW)


@pytest.mark.parametrize("begun", [awarding, settling])
def test_an_award_of_two_beside_a_batch_of_the_same(
    begun: Callable[[Stake, User], Callable[[], Any]], crossed: tuple[Stake, Stake], rita: User
) -> None:
    first, second = crossed
    act = begun(first, rita)

    def batch() -> None:
        refused("won", stake_batch, [second.defense, first.defense], "c", "r", by=mandate("stake", rita, NOW), now=NOW)

    with ThreadPoolExecutor(2) as pool:
        with transaction.atomic():
            Defense.objects.select_for_update(no_key=True).get(pk=first.defense_id)
            of_award = pool.submit(done, act)
            until_waiting(1)
            of_batch = pool.submit(done, batch)
            until_waiting(2)
        assert [each.result(LONG) for each in (of_award, of_batch)] == ["done", "done"]
    assert set(Stake.objects.values_list("end", flat=True)) == {"won"}
    assert check().wrong == ()


@pytest.fixture
def batch_of_three(makers: Team) -> list[Stake]:
    """Three stakes of one batch that could be awarded; what broke the third was overruled, and no sweep came since."""
    both = cast.batch()
    stakes = [cast.staked(cast.defense(f"net {number}", makers), of=both) for number in range(3)]
    sent = cast.attack(cast.team("red"))
    cast.broken(stakes[2].defense, sent)
    stakes_end(now=SETTLED)
    cast.overruled(sent.image)
    return [all_met(each) for each in stakes]


def third_comes_back(stakes: list[Stake]) -> None:
    assert stakes_end(now=NOW) == 1


def second_is_returned(stakes: list[Stake]) -> None:
    stake_end(stakes[1], StakeEnd.WITHDRAWN, now=NOW)


MEANWHILE = [
    (third_comes_back, "others_share", "one more shares: without it the two would take its part of the prize"),
    (second_is_returned, "stake_over", "one fewer shares: it would win with a stake that is over"),
]


@pytest.mark.parametrize(("change", "code", "why"), MEANWHILE, ids=[row[1] for row in MEANWHILE])
def test_an_award_whose_sharers_change_before_they_are_locked(
    change: Callable[[list[Stake]], None], code: str, why: str, batch_of_three: list[Stake], rita: User
) -> None:
    first = batch_of_three[0]
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Defense.objects.select_for_update(no_key=True).get(pk=first.defense_id)
            award = pool.submit(refusal, lambda: give(first, rita))
            until_waiting(1)  # it has read who shares, and waits for the first of them
            change(batch_of_three)
        assert award.result(LONG) == code, why
    assert not Award.objects.exists() and balance(AccountKind.DEFENDERS) == HALF


def refusal(act: Callable[[], Any]) -> str:
    try:
        act()
    except Conflict as error:
        return error.code
    finally:
        connections.close_all()
    return ""
