"""The drawing of how a week's missing answers go down (R24): so far, and as the forecast expects."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contest.operations.burn_down import HEIGHT, WIDTH, BurnDown, burn_down
from contest.operations.forecast import Task, TaskerPace, forecast, left_by_day
from contest.operations.work_rates import answers_on_pictures_before
from tests import factories

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def drawn(
    *, missing: int = 30, answered: dict[int, int] | None = None, expected: object = (), days: int = 2
) -> BurnDown:
    return burn_down(
        missing=missing,
        answered={0: 10, 5: 20} if answered is None else answered,
        expected=expected,  # type: ignore[arg-type]
        since=NOW - 48 * HOUR,
        deadline=NOW + days * 24 * HOUR,
        now=NOW,
        zone="UTC",
    )


def points(text: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (each.split(",") for each in text.split())]


def test_the_past_adds_the_answers_that_were_given_since() -> None:
    chart = drawn()
    past = points(chart.past)
    assert chart.most == 60, "30 are missing, and 30 were given"
    assert past[0] == (40.0, 18.0) and past[-1] == (chart.now_x, 71.0), "from all of them to half of them"
    assert not chart.expected and not chart.band and chart.left is None
    assert chart.figures == ((NOW - 48 * HOUR, 60, 60), (NOW - 24 * HOUR, 60, 60), (NOW, 30, 30))


def test_the_band_ends_at_what_the_trials_leave() -> None:
    chart = drawn(expected=[(24.0, (10, 20, 25)), (48.0, (0, 10, 20))])
    assert chart.left == (0, 20) and chart.figures[-1] == (NOW + 48 * HOUR, 0, 20)
    assert points(chart.expected)[-1][0] == chart.deadline_x
    band = points(chart.band)
    assert band[0] == points(chart.past)[-1] and (chart.deadline_x, 124.0) in band


def test_days_begin_at_midnight_of_the_zone() -> None:
    assert [tick.text for tick in drawn().ticks] == ["Mon 23", "Tue 24", "Wed 25", "Thu 26"]


@given(
    st.integers(0, 10**6),
    st.dictionaries(st.integers(0, 167), st.integers(0, 10**5), max_size=20),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6)), max_size=5),
    st.integers(-9, 9),
)
def test_everything_stays_in_the_box(
    missing: int, answered: dict[int, int], spreads: list[tuple[int, int, int]], days: int
) -> None:
    expected = [(24.0 * (at + 1), tuple(sorted(each))) for at, each in enumerate(spreads[: max(days, 0)])]
    chart = drawn(missing=missing, answered=answered, expected=expected, days=days)
    for x, y in points(f"{chart.past} {chart.expected} {chart.band}"):
        assert 40 <= x <= WIDTH - 4 and 18 <= y <= HEIGHT
    ys = [y for _, y in points(chart.past)]
    assert ys == sorted(ys), "nothing is missing more than before"


def test_a_deadline_long_over_is_not_drawn() -> None:
    long_ago = {"since": NOW - 30 * 24 * HOUR, "deadline": NOW - 20 * 24 * HOUR}
    chart = burn_down(missing=1, answered={}, expected=(), now=NOW, zone="UTC", **long_ago)  # type: ignore[arg-type]
    assert chart.deadline_x is None and drawn().deadline_x is not None


PACE = TaskerPace(1, tuple(tuple(1 for _ in range(24)) for _ in range(7)))


def test_what_is_left_goes_down_day_by_day_to_what_the_chance_is_of() -> None:
    tasks = [Task(1)] * 40
    days = left_by_day(tasks, [PACE], hours=60)
    assert [hours for hours, _ in days] == [24, 48, 60]
    middle = [spread[1] for _, spread in days]
    assert middle == sorted(middle, reverse=True) and middle[0] > 0 == days[-1][1][2]
    assert forecast(tasks, [PACE], hours=60).of_all(range(40)) > 0.9, "which is what nine trials of ten say"


@pytest.mark.parametrize(
    ("tasks", "lost", "least", "why"),
    [
        ([Task(2)] * 5, 0.0, 5, "one of two answers each can come of the one tasker there is"),
        ([Task(1, frozenset({1}))], 0.0, 1, "a picture that all have seen is never finished"),
        ([Task(1)] * 50, 0.4, 1, "what is voided is asked for again"),
        ([], 0.0, None, "nothing to draw"),
    ],
)
def test_what_nobody_can_give_stays_missing(tasks: list[Task], lost: float, least: int | None, why: str) -> None:
    days = left_by_day(tasks, [PACE], hours=48, lost=lost)
    assert days[-1][1][2] >= least if least is not None else days == [], why


@pytest.mark.django_db
def test_the_past_of_a_week_has_no_answers_on_later_pictures() -> None:
    tara, week_end = factories.tasker("tara"), NOW - 24 * HOUR
    for received in (week_end - HOUR, week_end + HOUR):
        panel = factories.panel(factories.image(received_at=received))
        factories.response(tara, panel, now=NOW - 2 * HOUR)
    assert answers_on_pictures_before(week_end, NOW).total() == 1
