"""Two at once, on real PostgreSQL: staking beside staking, beside a break, and handing in beside handing in."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier, Event
from typing import Any

import pytest
from django.db import connection, connections, transaction

from common.errors import DomainError
from contest.breaks import breaks_record
from contest.enums import StakeEnd
from contest.models import Entry, Stake, StakeBatch
from contest.stakes import ends, entries, selectors, services
from scoring.enums import RunState
from scoring.models import Defense
from tests import factories
from tests.contest.stakes import cast
from tests.factories import mandate
from tests.scoring.cast import ruled

pytestmark = [pytest.mark.postgres("several at once: SQLite has one writer"), pytest.mark.django_db(transaction=True)]
NOW = factories.NOW
LONG = 20.0


def in_thread(pool: ThreadPoolExecutor, act: Callable[[], Any]) -> "Future[str]":
    """Do `act` in a thread with a connection of its own; return the code of its refusal, or nothing."""

    def done() -> str:
        try:
            act()
        except DomainError as error:
            return error.code
        finally:
            connections.close_all()
        return ""

    return pool.submit(done)


def waiting() -> int:
    """Return how many wait for a lock in this database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # within a transaction it would show the same again
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return int(cursor.fetchone()[0])


def until_waiting(many: int = 1) -> None:
    """Return when so many wait for a lock."""
    ended = Event()
    for _ in range(int(LONG * 20)):
        if waiting() >= many:
            return
        ended.wait(0.05)
    raise AssertionError(f"{many} never waited for a lock")


@pytest.fixture
def defense() -> Defense:
    made = cast.published(cast.team(), "steadfast", now=NOW - timedelta(days=1))
    cast.funded()
    cast.board()
    return made


def test_two_batches_with_the_same_defense(defense: Defense) -> None:
    other = cast.published(defense.entry.team, "other", now=NOW - timedelta(days=1))
    board, start = cast.board(), Barrier(2)

    def stake(*chosen: Defense) -> None:
        start.wait(LONG)
        services.stake_batch(chosen, "c", "r", by=mandate("stake", board, NOW), now=NOW)

    with ThreadPoolExecutor(2) as pool:
        # In opposite orders: they lock in one.
        both = [in_thread(pool, lambda: stake(defense, other)), in_thread(pool, lambda: stake(other, defense))]
        assert sorted(each.result(LONG) for each in both) == ["", "staked"]
    assert (StakeBatch.objects.count(), Stake.objects.count()) == (1, 2)


def test_a_batch_beside_a_team_that_asks(defense: Defense) -> None:
    board, captain, start = cast.board(), cast.captain(defense.entry.team), Barrier(2)

    def by_board() -> None:
        start.wait(LONG)
        services.stake_batch([defense], "c", "r", by=mandate("stake", board, NOW), now=NOW)

    def by_team() -> None:
        start.wait(LONG)
        services.stake_ask(defense, by=captain, now=NOW)

    with ThreadPoolExecutor(2) as pool:
        both = [in_thread(pool, by_board), in_thread(pool, by_team)]
        assert sorted(each.result(LONG) for each in both) == ["", "staked"]
    assert Stake.objects.filter(ended_at=None).count() == 1


def mistaken(defense: Defense) -> None:
    """A confident mistake in a run that nobody has looked at yet."""
    image = cast.picture(NOW)
    ruled(image)
    cast.answered(defense, image, NOW, state=RunState.FINISHED)
    factories.sent_by_somebody()


def test_a_break_that_is_being_recorded_is_waited_for(defense: Defense) -> None:
    board = cast.board()
    mistaken(defense)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert breaks_record(now=NOW) == 1
            staking = in_thread(
                pool, lambda: services.stake_batch([defense], "c", "r", by=mandate("stake", board, NOW), now=NOW)
            )
            until_waiting()
        assert staking.result(LONG) == "broken"
    assert not Stake.objects.exists()


def test_a_break_found_while_it_is_being_staked_ends_the_stake(defense: Defense) -> None:
    mistaken(defense)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            cast.staked(defense, now=NOW)
            recording = in_thread(pool, lambda: breaks_record(now=NOW))
            until_waiting()
        assert recording.result(LONG) == ""
    assert ends.stakes_end(now=NOW) == 1
    assert cast.stake(defense).end == StakeEnd.BROKEN


def test_a_payment_beside_a_break(defense: Defense) -> None:
    asked = services.stake_ask(defense, by=cast.captain(defense.entry.team), now=NOW)
    organizer = cast.organizer()
    mistaken(defense)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            breaks_record(now=NOW)
            paying = in_thread(pool, lambda: services.stake_receive(asked, "x", by=organizer, now=NOW))
            until_waiting()
        assert paying.result(LONG) == "broken"


def test_two_sweeps_beside_each_other(defense: Defense) -> None:
    cast.staked(defense, now=NOW)
    cast.broken(defense, NOW, found=NOW)
    start = Barrier(2)
    changed: list[int] = []

    def sweep() -> None:
        start.wait(LONG)
        changed.append(ends.stakes_end(now=NOW))

    with ThreadPoolExecutor(2) as pool:
        for each in [in_thread(pool, sweep) for _ in range(2)]:
            assert each.result(LONG) == ""
    assert sum(changed) == 1


def test_two_hand_ins_at_the_last_place_of_the_week(defense: Defense) -> None:
    team = defense.entry.team
    policy, captain, start = cast.policy(), cast.captain(team), Barrier(2)
    cast.entry(team, now=NOW)
    Entry.objects.filter(defense=defense).update(received_at=NOW)

    def hand_in(number: int) -> None:
        start.wait(LONG)
        given = cast.given(name=f"late {number}", image=f"ghcr.io/blue/net@sha256:{number:064x}")
        entries.entry_hand_in(team, given, by=captain, policy=policy, now=NOW)

    with ThreadPoolExecutor(2) as pool:
        both = [in_thread(pool, lambda: hand_in(1)), in_thread(pool, lambda: hand_in(2))]
        assert sorted(each.result(LONG) for each in both) == ["", "quota_used"]
    assert selectors.hand_ins_left(team, policy, NOW) == 0 and Entry.objects.count() == 3
    assert Defense.objects.count() == 3, "nothing is left of the one that was refused"


def test_the_same_hand_in_twice_at_once_is_one(defense: Defense) -> None:
    team = defense.entry.team
    policy, captain, start = cast.policy(), cast.captain(team), Barrier(2)

    def hand_in() -> None:
        start.wait(LONG)
        entries.entry_hand_in(team, cast.given(name="twice"), by=captain, policy=policy, now=NOW)

    with ThreadPoolExecutor(2) as pool:
        both = [in_thread(pool, hand_in) for _ in range(2)]
        assert [each.result(LONG) for each in both] == ["", ""]
    assert Entry.objects.filter(defense__name="twice").count() == 1
