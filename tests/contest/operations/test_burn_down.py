"""The drawing of how a week's missing answers go down (R24): so far, and as the forecast expects."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from contest.operations.burn_down import HEIGHT, WIDTH, BurnDown, burn_down
from contest.operations.forecast import TaskerPace, answers_by_day, forecast

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
    chart = drawn(expected=[(24.0, (5, 10, 20)), (48.0, (10, 20, 40))])
    assert chart.left == (0, 20)
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


def test_the_days_of_the_forecast_end_as_the_forecast_does() -> None:
    pace = TaskerPace(1, tuple(tuple(1 for _ in range(24)) for _ in range(7)))
    days = answers_by_day([pace], hours=60)
    assert [hours for hours, _ in days] == [24, 48, 60]
    assert days[-1][1] == forecast([], [pace], hours=60).answers
    assert [spread[1] for _, spread in days] == sorted(spread[1] for _, spread in days)
