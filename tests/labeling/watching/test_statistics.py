"""The statistics of monitoring against exact tables, properties and an independent package (R6)."""

import math
import time
from fractions import Fraction
from random import Random

import krippendorff
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeling.watching import statistics

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
    found = statistics.wilson(right, asked)
    assert found is not None
    assert found == pytest.approx((low, high), abs=1e-4), why


def test_nothing_asked_has_no_interval() -> None:
    assert statistics.wilson(0, 0) is None


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share_and_stays_a_share(given_share: tuple[int, int]) -> None:
    right, asked = given_share
    found = statistics.wilson(right, asked)
    assert found is not None
    assert 0 <= found[0] <= right / asked <= found[1] <= 1


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
    assert chances == sorted(chances, reverse=True)
    assert chances[0] == 1


def test_the_middle_the_mean_and_the_spread() -> None:
    assert statistics.median([4, 1, 3]) == 3
    assert statistics.mean([1, 2]) == 1.5
    assert statistics.spread([2, 2, 2]) == 0
    assert statistics.spread([1, 3]) == pytest.approx(math.sqrt(2) / 2)
    nothing: list[float] = []
    assert [statistics.median(nothing), statistics.mean(nothing), statistics.spread([1])] == [None, None, None]
    assert statistics.spread([0, 0]) is None


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


def given_values(table: list[list[str | None]]) -> list[list[str]]:
    return [[value for value in unit if value is not None] for unit in table]


@pytest.mark.parametrize("ordinal", [False, True])
@settings(max_examples=30)
@given(table=tables)
def test_alpha_is_that_of_the_package(ordinal: bool, table: list[list[str | None]]) -> None:
    expected = by_package(table, ordinal=ordinal)
    found = statistics.alpha(given_values(table), ORDER, ordinal=ordinal)
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
    assert statistics.alpha(units, ["a", "b"]) == alpha, why


def test_a_value_outside_of_the_domain_is_refused() -> None:
    with pytest.raises(ValueError, match="not in the domain"):
        statistics.alpha([["a", "c"]], ["a", "b"])


def test_alpha_of_thirty_thousand_answers_takes_less_than_a_second() -> None:
    rng = Random(6)
    units = [[rng.choice(ORDER) for _ in range(3)] for _ in range(10_000)]
    began = time.process_time()
    assert abs(statistics.alpha(units, ORDER, ordinal=True) or 1) < 0.03
    assert time.process_time() - began < 1
