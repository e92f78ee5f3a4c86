"""Two at once, on real PostgreSQL: staking beside staking, beside a break, and handing in beside handing in."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from threading import Event

import pytest
from django.db import connection, transaction

from contest.breaks import breaks_record
from contest.enums import StakeEnd
from contest.models import Entry, Stake, StakeBatch
from contest.stakes import ends, entries, selectors, services
from scoring.enums import RunState
from scoring.models import Defense
from tests import factories, tables
from tests.at_once import refusals_at_once
from tests.contest.board.at_once import beside
from tests.contest.stakes import cast
from tests.scoring.cast import ruled

pytestmark = [pytest.mark.postgres("several at once: SQLite has one writer"), pytest.mark.django_db(transaction=True)]
NOW = factories.NOW
LONG = 20.0
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def until_waiting(many: int = 1) -> None:
    """Return when so many wait for a lock in this database."""
    for _ in range(int(LONG * 20)):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")  # within a transaction it would show the same again
            cursor.execute(WAITING)
            if cursor.fetchone()[0] >= many:
                return
        Event().wait(0.05)
    raise AssertionError(f"{many} never waited for a lock")


@pytest.fixture
def defense() -> Defense:
    made = cast.published(cast.team(), "steadfast", now=NOW - timedelta(days=1))
    cast.funded()
    cast.board()
    return made


def batch(*chosen: Defense) -> None:
    services.stake_batch(chosen, "c", "r", by=factories.mandate("stake", cast.board(), NOW), now=NOW)


def test_two_batches_with_the_same_defense_lock_in_one_order(defense: Defense) -> None:
    other = cast.published(defense.entry.team, "other", now=NOW - timedelta(days=1))
    assert sorted(refusals_at_once(partial(batch, defense, other), partial(batch, other, defense))) == ["", "staked"]
    assert (StakeBatch.objects.count(), Stake.objects.count()) == (1, 2)


def test_a_batch_beside_a_team_that_asks(defense: Defense) -> None:
    asking = partial(services.stake_ask, defense, by=cast.captain(defense.entry.team), now=NOW)
    assert sorted(refusals_at_once(partial(batch, defense), asking)) == ["", "staked"]
    assert Stake.objects.filter(ended_at=None).count() == 1


def mistaken(defense: Defense) -> None:
    """A confident mistake in a run that nobody has looked at yet."""
    image = cast.picture(NOW)
    ruled(image)
    cast.answered(defense, image, NOW, state=RunState.FINISHED)
    factories.sent_by_somebody()


def asked_to_pay(defense: Defense) -> Callable[[], object]:
    asked = services.stake_ask(defense, by=cast.captain(defense.entry.team), now=NOW)
    return partial(services.stake_receive, asked, "x", by=cast.organizer(), now=NOW)


@pytest.mark.parametrize("begun", [lambda defense: partial(batch, defense), asked_to_pay], ids=["a batch", "a payment"])
def test_a_break_that_is_being_recorded_is_waited_for(
    begun: Callable[[Defense], Callable[[], object]], defense: Defense
) -> None:
    staking = begun(defense)
    mistaken(defense)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert breaks_record(now=NOW) == 1
            late = beside(pool, staking)
            until_waiting()
        assert late.result(LONG) == "broken"
    assert not Stake.objects.filter(staked_at__isnull=False).exists()


def test_a_break_found_while_it_is_being_staked_ends_the_stake(defense: Defense) -> None:
    mistaken(defense)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            cast.staked(defense, now=NOW)
            recording = beside(pool, lambda: breaks_record(now=NOW))
            until_waiting()
        assert recording.result(LONG) == 1
    assert (ends.stakes_end(now=NOW), cast.stake(defense).end) == (1, StakeEnd.BROKEN)


def test_two_sweeps_beside_each_other(defense: Defense) -> None:
    cast.staked(defense, now=NOW)
    cast.broken(defense, NOW, found=NOW)
    changed: list[int] = []
    assert (refusals_at_once(*[lambda: changed.append(ends.stakes_end(now=NOW))] * 2), sum(changed)) == (["", ""], 1)


@tables.cases(
    "numbers said there why",
    ((1, 2), ["", "quota_used"], 3, "two at the last place of the week"),
    ((1, 1), ["", ""], 3, "the same twice is one"),
)
def test_two_hand_ins_at_once(
    numbers: tuple[int, int], said: list[str], there: int, why: str, defense: Defense
) -> None:
    team = defense.entry.team
    policy, captain = cast.policy(), cast.captain(team)
    cast.entry(team, now=NOW)
    Entry.objects.filter(defense=defense).update(received_at=NOW)

    def hand_in(number: int) -> None:
        given = cast.given(name=f"late {number}", image=f"ghcr.io/blue/net@sha256:{number:064x}")
        entries.entry_hand_in(team, given, by=captain, policy=policy, now=NOW)

    assert sorted(refusals_at_once(*(partial(hand_in, number) for number in numbers))) == said, why
    assert selectors.hand_ins_left(team, policy, NOW) == 0 and Entry.objects.count() == there
    assert Defense.objects.count() == there, "nothing is left of the one that was refused"
