"""Gold that leaked is found, and gold that did not is left alone (R6)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random

import pytest

from labeling.models import GoldFlag, KnownPicture, Tasker
from labeling.policy import Policy
from labeling.watching.leaks import Rise, gold_flag_leaks, rise_of
from tests import factories
from tests.labeling.cast import people
from tests.labeling.watching.rows import gold_answer

POLICY = Policy()


@pytest.mark.parametrize(
    ("right", "rise", "why"),
    [
        ([True] * 29, None, "too few answers to split"),
        ([False] * 15 + [True] * 15, Rise(15, 15, 0, 15), "none before, all of the latest"),
        ([True] * 20 + [False] * 15, Rise(0, 15, 20, 20), "a fall"),
    ],
)
def test_the_split(right: list[bool], rise: Rise | None, why: str) -> None:
    assert rise_of(right) == rise, why


@pytest.mark.parametrize(
    ("rise", "flagged", "why"),
    [
        (Rise(15, 15, 20, 40), True, "from half right to all right: 0.03 %"),
        (Rise(15, 15, 32, 40), False, "from 80 % to all right happens by chance"),
        (Rise(15, 15, 60, 60), False, "always easy"),
        (Rise(10, 15, 40, 60), False, "no rise"),
    ],
)
def test_what_looks_like_a_leak(rise: Rise, flagged: bool, why: str) -> None:
    assert (rise.chance < 0.01) is flagged, why


def answered(known: KnownPicture, by: Sequence[Tasker], right: Sequence[bool], now: datetime) -> None:
    for number, (tasker, hit) in enumerate(zip(by, right, strict=True)):
        gold_answer(tasker, right=hit, known=known, now=now + timedelta(seconds=number))


@pytest.fixture
def crowd(db: None) -> list[Tasker]:
    """Forty taskers."""
    return people(*(f"tasker{number}" for number in range(40)))


@pytest.mark.both("own SQL reads the marks of gold")
@pytest.mark.django_db
def test_a_sudden_rise_is_flagged_and_held(crowd: list[Tasker], now: datetime) -> None:
    for known in [factories.gold() for _ in range(4)]:
        answered(known, crowd, [True] * 40, now - timedelta(days=3))
    leaked = factories.gold()
    answered(leaked, crowd, [number % 2 == 0 for number in range(25)] + [True] * 15, now)
    assert [gold_flag_leaks(policy=POLICY, now=now + timedelta(hours=1)) for _ in range(2)] == [1, 0]
    flag = GoldFlag.objects.get()
    leaked.refresh_from_db()
    assert (flag.known, leaked.held_at) == (leaked, now + timedelta(hours=1))
    assert flag.figures.items() >= {"late_right": 15, "late": 15, "early_right": 13, "early": 25}.items()
    assert not KnownPicture.objects.filter(held_at__isnull=False).exclude(pk=leaked.pk).exists()


@pytest.mark.django_db
def test_after_an_organizer_looked_it_takes_new_answers(crowd: list[Tasker], now: datetime) -> None:
    answered(factories.gold(), crowd[:35], [False] * 20 + [True] * 15, now)
    trusting = Policy(gold_pass_percent=1, gold_minimum=1)
    for tasker in crowd[:20]:
        gold_answer(tasker, right=True, now=now - timedelta(days=2))
    assert gold_flag_leaks(policy=trusting, now=now + timedelta(hours=1)) == 1
    KnownPicture.objects.update(held_at=None)
    assert gold_flag_leaks(policy=trusting, now=now + timedelta(hours=2)) == 0


@pytest.mark.django_db
def test_careless_taskers_who_leave_are_no_leak(crowd: list[Tasker], now: datetime) -> None:
    answered(factories.gold(), crowd, [False] * 20 + [True] * 20, now)
    assert gold_flag_leaks(policy=POLICY, now=now + timedelta(hours=1)) == 0


def test_false_alarms_are_rare_at_any_honest_share() -> None:
    rng = Random(7)
    alarms = 0
    for _ in range(2_000):
        share = rng.uniform(0.7, 1)
        rise = rise_of([rng.random() < share for _ in range(60)])
        assert rise is not None
        alarms += rise.chance < 0.01
    assert alarms <= 20  # 1 % of 2,000; exact tests stay below their bound
