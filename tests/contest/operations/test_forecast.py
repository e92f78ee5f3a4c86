"""The forecast of deadlines: what a chance rests on, and what can never lower it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contest.operations.forecast import (
    DAYS,
    Task,
    TaskerPace,
    chance_of_all,
    forecast,
    like_the_middle_one,
    usual_hours,
)


def worker(key: int, *per_day: int, at: int = 12) -> TaskerPace:
    """Somebody who gave so many answers on each day, all in one hour of it."""
    return TaskerPace(key, tuple(tuple(count if hour == at else 0 for hour in range(24)) for count in per_day))


def steady(key: int, per_day: int = 100, at: int = 12) -> TaskerPace:
    return worker(key, *[per_day] * DAYS, at=at)


CREW = [steady(key) for key in range(3)]


@pytest.mark.parametrize(
    ("tasks", "workers", "hours", "low", "high", "why"),
    [
        ([], [], 1, 1, 1, "nothing is left, so nothing can be late"),
        ([], CREW, 0, 1, 1, "not even at the deadline itself"),
        ([Task(1)], [], 1_000, 0, 0, "nobody is at work"),
        ([Task(3)] * 20, CREW, 24, 1, 1, "300 answers a day for 60"),
        ([Task(3)] * 200, CREW, 24, 0, 0, "300 answers a day for 600"),
        ([Task(3)] * 100, CREW, 24, 0.05, 0.95, "300 answers a day for 300: nobody can say"),
        ([Task(3)] * 20, CREW, 12, 0, 0, "they begin to work in 12 hours, the deadline is then"),
        ([Task(3)] * 20, CREW, 13, 1, 1, "an hour later they have done it"),
        ([Task(3)], CREW[:2], 1_000, 0, 0, "three different people are needed, two are there"),
        ([Task(1, frozenset({0, 1}))], CREW[:2], 1_000, 0, 0, "both answered it already"),
        ([Task(1, frozenset({0, 1}))], CREW, 24, 1, 1, "the third one may answer it"),
        ([Task(3)] * 100, [steady(0, 1000), steady(1, 5), steady(2, 5)], 24, 0, 0, "one alone cannot fill panels"),
        ([Task(1)] * 100, [steady(0, 1000), steady(1, 5), steady(2, 5)], 24, 1, 1, "but the last places"),
        ([Task(3)] * 90, [worker(key, 0, 300) for key in range(3)], 24, 0.2, 0.8, "every second day nobody comes"),
    ],
)
def test_the_chance_to_finish_everything(
    tasks: list[Task], workers: list[TaskerPace], hours: float, low: float, high: float, why: str
) -> None:
    found = forecast(tasks, workers, hours=hours).of_all(range(len(tasks)))
    assert low <= found <= high, why
    assert abs(chance_of_all(tasks, workers, hours=hours) - found) < 0.02, "the quick way finds the same"


def test_what_stands_first_in_the_queue_is_finished_first() -> None:
    chances = forecast([Task(1)] * 400, CREW, hours=24).chances
    assert list(chances) == sorted(chances, reverse=True)
    assert chances[0] == 1 and 0 < chances[300] < 1 and chances[-1] == 0
    assert forecast([Task(1)] * 400, CREW, hours=24).chances == chances, "the same question gets the same answer"
    blocked = [Task(1, frozenset({0, 1, 2})), Task(3)]
    assert forecast(blocked, CREW, hours=24).chances == (0, 1), "what nobody can answer holds up nothing behind it"


@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_voided_answers_are_given_once_more(lost: float) -> None:
    tasks = [Task(3)] * 80  # 240 answers, 343 where three of ten are voided; a day brings about 300
    assert (forecast(tasks, CREW, hours=24, lost=lost).of_all([79]) > 0.5) is (lost == 0)


def test_days_without_work_widen_what_may_come() -> None:
    even, uneven = ([worker(key, *days) for key in range(3)] for days in ((100,) * 7, (0, 50, 100, 100, 100, 150, 200)))
    (low, _, high), (lower, _, higher) = (forecast([], each, hours=48).answers for each in (even, uneven))
    assert low - lower > 100 and higher - high > 100


def test_somebody_new_is_judged_by_the_days_they_have() -> None:
    new, usual = (forecast([], each, hours=24).answers for each in ([worker(key, 100) for key in range(3)], CREW))
    assert new == pytest.approx(usual, rel=0.02)


@pytest.mark.parametrize(
    ("tasks", "workers", "hours", "why"),
    [
        ([], [], 0, "nothing is left"),
        ([Task(3)] * 50, CREW, 13, "half of the hour they work in"),
        ([Task(3)] * 150, CREW, 37, "one day and half of that hour on the next"),
        ([Task(3)], CREW[:2], None, "two people never fill three places"),
        ([Task(1)] * 9_999_999, [], None, "nobody is at work"),
        ([Task(1)] * 100, [steady(0, 1)], None, "a hundred days are farther than is told"),
    ],
)
def test_the_usual_pace(tasks: list[Task], workers: list[TaskerPace], hours: float | None, why: str) -> None:
    assert usual_hours(tasks, workers) == hours, why


def test_more_taskers_are_like_the_middle_one_and_nobody_who_is_there() -> None:
    more = like_the_middle_one([steady(4, 10), steady(7, 30), steady(9, 500)], 2)
    assert [(each.key, each.per_day) for each in more] == [(10, 30), (11, 30)]


DAY = st.lists(st.integers(0, 12), min_size=24, max_size=24).map(tuple)
PAST = st.lists(DAY, min_size=1, max_size=DAYS).map(tuple)
KEYS = range(5)
CREWS = st.lists(PAST, min_size=1, max_size=len(KEYS)).map(
    lambda pasts: [TaskerPace(key, days) for key, days in zip(KEYS, pasts, strict=False)]
)
SEEN = st.frozensets(st.sampled_from(list(KEYS)), max_size=3)
TASKS = st.lists(st.builds(Task, st.integers(1, 4), SEEN), max_size=24)
HOURS = st.floats(0, 80)


@settings(max_examples=30)
@given(TASKS, CREWS, HOURS)
def test_one_more_tasker_never_lowers_the_chance(tasks: list[Task], workers: list[TaskerPace], hours: float) -> None:
    fewer, more = (forecast(tasks, each, hours=hours) for each in (workers[:-1], workers))
    queues = [range(count) for count in range(len(tasks) + 1)]
    assert all(fewer.of_all(queue) <= more.of_all(queue) for queue in queues)
    assert all(a <= b for a, b in zip(fewer.answers, more.answers, strict=True))


@settings(max_examples=30)
@given(TASKS, CREWS, HOURS, HOURS)
def test_a_later_deadline_never_lowers_a_chance(
    tasks: list[Task], workers: list[TaskerPace], hours: float, longer: float
) -> None:
    sooner, later = (forecast(tasks, workers, hours=each) for each in sorted((hours, longer)))
    assert all(a <= b for a, b in zip(sooner.chances, later.chances, strict=True))


@settings(max_examples=30)
@given(TASKS, CREWS, HOURS)
def test_less_left_never_lowers_the_chance_of_all(tasks: list[Task], workers: list[TaskerPace], hours: float) -> None:
    chances = [chance_of_all(tasks[:count], workers, hours=hours) for count in range(len(tasks), -1, -7)]
    assert chances == sorted(chances) and chance_of_all([], workers, hours=hours) == 1
