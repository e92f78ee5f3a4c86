"""What organizers read of taskers' work, the statistics behind it, and the overlaps of outlines (R6)."""

import math
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from itertools import permutations
from random import Random

import krippendorff
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeling import voiding
from labeling.models import Panel, Tasker
from labeling.outlines import drawn_outline, iou_percent
from monitoring import statistics, tasker_figures
from monitoring.overlap import mean_overlaps
from monitoring.tasker_figures import (
    Period,
    Proportion,
    agreement_of_period,
    statistics_by_day,
    statistics_by_tasker,
    statistics_of_periods,
)
from tests import factories
from tests.labeling.cast import BICYCLE, BIRD, NEITHER, full_panel, gold_answer, statements

pytestmark = pytest.mark.django_db


SHIFTED = "[[[10,10],[105,10],[105,200],[10,200]]]"  # the left half of the usual outline


@pytest.fixture
def period(now: datetime) -> Period:
    return Period(now - timedelta(days=1), now + timedelta(days=1))


def test_agreement_is_with_each_other_member(tara: Tasker, otto: Tasker, uma: Tasker, period: Period) -> None:
    full_panel([tara, otto, uma], [BIRD | {"complete": False}, BIRD, NEITHER])
    figures = statistics_by_tasker(period)
    assert figures[tara.pk].agreement == {
        "contains_bird": Proportion(1, 2),
        "contains_bicycle": Proportion(2, 2),
        "complete": Proportion(0, 1),  # uma was not asked
        "unoccluded": Proportion(1, 1),
        "real": Proportion(1, 1),
    }
    assert figures[uma.pk].agreed == Proportion(2, 4)


def test_outlines_are_compared_with_the_others(tara: Tasker, otto: Tasker, uma: Tasker, period: Period) -> None:
    full_panel([tara, otto, uma], [BIRD, BIRD | {"outline": SHIFTED}, NEITHER])
    figures = statistics_by_tasker(period)
    assert [figures[each.pk].mean_iou for each in (tara, otto, uma)] == [pytest.approx(50), pytest.approx(50), None]


def test_days_taken_together_say_what_the_whole_says(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
    for days in range(3):
        full_panel([tara, otto, uma], [BIRD, BICYCLE, BIRD | {"outline": SHIFTED}], now=now + timedelta(days=days))
        gold_answer(tara, right=days != 1, now=now + timedelta(days=days))
    spans = [Period(now + timedelta(days=days), now + timedelta(days=days + 1)) for days in range(3)]
    together = statistics_of_periods(statistics_by_tasker(span) for span in spans)
    whole = statistics_by_tasker(Period(spans[0].begin, spans[-1].end))
    assert together.keys() == whole.keys() == {tara.pk, otto.pk, uma.pk}
    for figures in (*together.values(), *whole.values()):
        figures.milliseconds.sort()
        figures.overlaps.sort()
    assert together == whole
    assert (whole[tara.pk].answers, whole[tara.pk].gold) == (3, Proportion(2, 3))


@pytest.mark.both("own SQL reads the answers of a period")
def test_what_is_counted_and_what_is_not(
    tara: Tasker, otto: Tasker, uma: Tasker, period: Period, now: datetime
) -> None:
    panel = full_panel([tara, otto, uma], [BIRD, BIRD, BIRD])
    late = factories.response(factories.tasker("late"), panel, counted=False).tasker
    for right in (True, False):
        gold_answer(tara, right=right)
    factories.response(otto, factories.panel())
    voiding.responses_void(tasker=uma, since=None, reason="careless", by=None, now=now)
    figures = statistics_by_tasker(period)
    found = {who: (f.answers, f.surplus, f.voided, f.gold.part, f.gold.whole) for who, f in figures.items()}
    assert found == {
        tara.pk: (1, 0, 0, 1, 2),
        otto.pk: (2, 0, 0, 0, 0),
        uma.pk: (1, 0, 1, 0, 0),
        late.pk: (1, 1, 0, 0, 0),
    }
    # The voided answer opened the panel again: nobody is compared before it is full.
    assert all(found.agreed.whole == 0 for found in figures.values())


@pytest.mark.both("days of a zone")
def test_days_are_those_of_the_zone(tara: Tasker) -> None:
    for hour in (13, 16):  # 22:00 and 01:00 of the next day in Tokyo
        factories.response(tara, factories.panel(), now=datetime(2026, 11, 18, hour, tzinfo=UTC))
    period = Period.of_days(date(2026, 11, 18), date(2026, 11, 19), "Asia/Tokyo")
    by_day = statistics_by_day(period, tara.pk, "Asia/Tokyo")
    assert {day: found.answers for day, found in by_day.items()} == {date(2026, 11, 18): 1, date(2026, 11, 19): 1}
    assert list(statistics_by_day(period, tara.pk, "UTC")) == [date(2026, 11, 18)]


def test_a_day_with_a_change_of_the_clock_has_its_own_length() -> None:
    period = Period.of_days(date(2026, 3, 29), date(2026, 3, 29), "Europe/Berlin")
    assert period.end.astimezone(UTC) - period.begin.astimezone(UTC) == timedelta(hours=23)


def test_answers_outside_of_the_period_are_left_out(tara: Tasker, now: datetime) -> None:
    factories.response(tara, factories.panel(), now=now)
    assert statistics_by_tasker(Period(now, now + timedelta(seconds=1)))[tara.pk].answers == 1
    assert statistics_by_tasker(Period(now - timedelta(days=1), now)) == {}


def test_alpha_of_a_period(tara: Tasker, otto: Tasker, uma: Tasker, period: Period) -> None:
    """Of full panels alone."""
    waiting = factories.panel()
    for tasker in (tara, otto):
        factories.response(tasker, waiting)
    assert [each.units for each in agreement_of_period(period)] == [0] * 5
    full_panel([tara, otto, uma], [BIRD, BIRD, BIRD])
    full_panel([tara, otto, uma], [BICYCLE, BICYCLE, BIRD])
    bird, bicycle, complete, *_ = agreement_of_period(period)
    assert (bird.question, bird.units, bird.values) == ("contains_bird", 2, 6)
    # Two values only: ordinal and nominal are one. Pairs that differ: 2 of the second unit's, 2·4 of all expected.
    assert bird.alpha == pytest.approx(1 - 5 * (4 / 2) / (2 * 4 * 2))
    assert (bicycle.alpha, complete.alpha) == (bird.alpha, None)
    assert (bird.influences[0].tasker_id, bird.influences[0].without) == (uma.pk, 1.0)


def test_the_newest_are_counted_where_there_are_many(
    tara: Tasker, otto: Tasker, uma: Tasker, period: Period, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasker_figures, "MAX_PANELS", 1)
    monkeypatch.setattr(tasker_figures, "MAX_ANSWERS", 2)
    full_panel([tara, otto, uma], [BIRD, BIRD, BICYCLE])
    full_panel([tara, otto, uma], [BIRD, BICYCLE, BICYCLE])
    newest = full_panel([tara, otto, uma], [BIRD, BIRD, BIRD])
    Panel.objects.filter(pk=newest.pk).update(full_at=newest.full_at + timedelta(minutes=1))
    bird = agreement_of_period(period)[0]
    assert (bird.units, bird.values, bird.alpha) == (1, 3, None), "of one panel, with one answer"
    (day,) = statistics_by_day(period, tara.pk, "UTC").values()
    assert (day.answers, day.agreement["contains_bird"].whole) == (2, 4)


def test_many_answers_cost_as_many_statements_as_few(tara: Tasker, otto: Tasker, uma: Tasker, period: Period) -> None:
    for panels in (1, 12):
        for _ in range(panels):
            full_panel([tara, otto, uma], [BIRD, BIRD, BICYCLE])
        assert len(statements(lambda: statistics_by_tasker(period))) == 2


ORDER = ["definitely_no", "unsure_no", "unsure_yes", "definitely_yes"]


@pytest.mark.parametrize(
    ("right", "asked", "low", "high", "why"),
    [
        (0, 10, 0.0, 0.2775, "none right: the interval begins at nothing and still says that much is possible"),
        (10, 10, 0.7225, 1.0, "all right: the mirror image"),
        (8, 10, 0.4902, 0.9433, "a published example of Wilson's interval"),
        (81, 263, 0.2553, 0.3662, "Newcombe 1998, table I"),
        (15, 148, 0.0624, 0.1605, "Newcombe 1998, table I"),
    ],
)
def test_wilson(right: int, asked: int, low: float, high: float, why: str) -> None:
    assert statistics.wilson(right, asked) == pytest.approx((low, high), abs=1e-4), why


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share_and_stays_a_share(given_share: tuple[int, int]) -> None:
    right, asked = given_share
    low, high = statistics.wilson(right, asked) or (2, 2)
    assert 0 <= low <= right / asked <= high <= 1


@pytest.mark.parametrize(
    ("right", "asked", "percent", "chance", "why"),
    [
        (0, 10, 80, Fraction(1, 5) ** 10, "ten wrong of ten"),
        (10, 10, 80, Fraction(1), "everything is at most everything"),
        (4, 10, 80, Fraction(62_201, 9_765_625), "0.64 %: clearly under 80 %"),
        (5, 10, 80, Fraction(320_249, 9_765_625), "3.28 %: not clearly"),
        (0, 0, 80, Fraction(1), "nothing asked says nothing"),
        (3, 4, 100, Fraction(0), "one wrong, where all must be right"),
    ],
)
def test_chance_of_so_few(right: int, asked: int, percent: int, chance: Fraction, why: str) -> None:
    assert statistics.chance_of_so_few(right, asked, percent) == chance, why


@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 99))
def test_chance_of_so_few_adds_up(one: int, other: int, percent: int) -> None:
    right, asked = min(one, other), max(one, other)
    mirrored = 1 - statistics.chance_of_so_few(asked - right - 1, asked, 100 - percent) if right < asked else 1
    assert statistics.chance_of_so_few(right, asked, percent) == mirrored


@pytest.mark.parametrize(
    ("table", "chance", "why"),
    [
        ((3, 4, 1, 4), Fraction(17, 70), "the lady tasting tea, three of four"),
        ((4, 4, 0, 4), Fraction(1, 70), "the lady tasting tea, all four"),
        ((0, 5, 0, 5), Fraction(1), "nobody was right: nothing rose"),
        ((5, 5, 5, 5), Fraction(1), "everybody was right: nothing rose"),
        ((15, 15, 20, 40), Fraction(math.comb(40, 20), math.comb(55, 35)), "half before, all of the last fifteen"),
    ],
)
def test_chance_of_such_a_rise(table: tuple[int, int, int, int], chance: Fraction, why: str) -> None:
    assert statistics.chance_of_such_a_rise(*table) == chance, why


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_a_higher_late_share_never_looks_less_like_a_rise(a: int, b: int, c: int, d: int) -> None:
    late, early, right = a + b, c + d, a + c
    chances = [
        statistics.chance_of_such_a_rise(k, late, right - k, early)
        for k in range(max(0, right - early), min(late, right) + 1)
    ]
    assert (chances, chances[0]) == (sorted(chances, reverse=True), 1)


def test_the_middle_the_mean_and_the_spread() -> None:
    assert (statistics.median([4, 1, 3]), statistics.mean([1, 2]), statistics.coefficient_of_variation([2, 2, 2])) == (
        3,
        1.5,
        0,
    )
    assert statistics.coefficient_of_variation([1, 3]) == pytest.approx(math.sqrt(2) / 2)
    nothing = (
        statistics.median([]),
        statistics.mean([]),
        statistics.coefficient_of_variation([1]),
        statistics.coefficient_of_variation([0, 0]),
    )
    assert (*nothing, statistics.wilson(0, 0)) == (None,) * 5


def alpha_of(units: list[list[str]], domain: Sequence[str], *, ordinal: bool = False) -> float | None:
    patterns = Counter(statistics.pattern_of(Counter(map(domain.index, unit))) for unit in units)
    return statistics.alpha_of_patterns(patterns, len(domain), ordinal=ordinal)


tables = st.lists(
    st.lists(st.sampled_from([None, *ORDER]), min_size=4, max_size=4),  # one unit, by four people
    min_size=2,
    max_size=30,
)


def by_package(table: list[list[str | None]], *, ordinal: bool) -> float | None:
    """Alpha by the package, which wants people by units, and refuses tables without variation."""
    coded = [[math.nan if value is None else ORDER.index(value) for value in unit] for unit in table]
    pairable = [value for unit in coded if sum(not math.isnan(v) for v in unit) > 1 for value in unit]
    if len({value for value in pairable if not math.isnan(value)}) < 2:
        return None
    people = [list(row) for row in zip(*coded, strict=True)]
    level = "ordinal" if ordinal else "nominal"
    return float(krippendorff.alpha(people, level_of_measurement=level, value_domain=[0, 1, 2, 3]))


@pytest.mark.parametrize("ordinal", [False, True])
@settings(max_examples=30)
@given(table=tables)
def test_alpha_is_that_of_the_package(ordinal: bool, table: list[list[str | None]]) -> None:
    expected = by_package(table, ordinal=ordinal)
    given_values = [[value for value in unit if value is not None] for unit in table]
    found = alpha_of(given_values, ORDER, ordinal=ordinal)
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-9))


@pytest.mark.parametrize(
    ("units", "alpha", "why"),
    [
        ([["a", "a"], ["b", "b"]], 1.0, "they always agree, on different things"),
        ([["a", "a"], ["a", "a"]], None, "nobody ever said anything else: agreement cannot be told from habit"),
        ([], None, "nothing was said"),
        ([["a"], ["b"]], None, "nobody was asked the same"),
        ([["a", "b"], ["b", "a"]], -0.5, "they never agree: less than by chance"),
    ],
)
def test_alpha_at_the_edges(units: list[list[str]], alpha: float | None, why: str) -> None:
    assert alpha_of(units, ["a", "b"]) == alpha, why


def test_alpha_of_thirty_thousand_answers_takes_less_than_a_second() -> None:
    rng = Random(6)
    units = [[rng.choice(ORDER) for _ in range(3)] for _ in range(10_000)]
    began = time.process_time()
    assert abs(alpha_of(units, ORDER, ordinal=True) or 1) < 0.03
    assert time.process_time() - began < 1


LEFT, RIGHT = "[[10,10],[100,10],[100,200],[10,200]]", "[[100,10],[200,10],[200,200],[100,200]]"


def square(rng: Random) -> str:
    x, y, side = rng.randint(0, 100), rng.randint(0, 100), rng.randint(20, 150)
    return f"[[[{x},{y}],[{x + side},{y}],[{x + side},{y + side}],[{x},{y + side}]]]"


def test_means_are_those_of_the_pairs() -> None:
    rng = Random(3)
    panels = [{10 * number + member: square(rng) for member in range(4)} for number in range(50)]
    expected = dict.fromkeys((response for panel in panels for response in panel), 0.0)
    for panel in panels:
        for pair in permutations(panel, 2):
            expected[pair[0]] += (iou_percent(panel[pair[0]], panel[pair[1]]) or 0.0) / 3
    assert mean_overlaps(panels) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("panel", "overlaps", "why"),
    [
        ({1: f"[{LEFT}]", 2: f"[{LEFT}]"}, {1: 100, 2: 100}, "the very same"),
        ({1: f"[{LEFT}]", 2: f"[{RIGHT}]"}, {1: 0, 2: 0}, "they only touch"),
        ({1: f"[{LEFT},{LEFT}]", 2: f"[{LEFT}]"}, {1: 100, 2: 100}, "ground covered twice counts once"),
        ({1: f"[{LEFT}]", 2: ""}, {}, "alone with an outline"),
        ({}, {}, "nobody there"),
    ],
)
def test_panels_by_hand(panel: dict[int, str], overlaps: dict[int, float], why: str) -> None:
    assert mean_overlaps([panel]) == pytest.approx(overlaps), why


def test_an_outline_is_drawn_as_a_path() -> None:
    assert drawn_outline("[[[1,2],[3.5,2],[3,4]],[[0,0],[1,0],[1,1]]]") == "M1,2 L3.5,2 L3,4 Z M0,0 L1,0 L1,1 Z"
    assert drawn_outline("") == ""
