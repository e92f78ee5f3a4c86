"""The statistics of monitoring (R6): intervals, exact tests and agreement. Pure, standard library only.

Shares lie between 0 and 1. Where a figure is not defined (nothing to count, nobody ever differed) it is None, never
a number that could be mistaken for a good or a bad one.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import comb, sqrt
from statistics import fmean
from statistics import median as middle

# Two-sided 95 %.
_NORMAL_95 = 1.959963984540054

# How often each value was given to one unit, by the value's position in its domain: ((0, 2), (3, 1)).
Pattern = tuple[tuple[int, int], ...]


def wilson(right: int, asked: int, z: float = _NORMAL_95) -> tuple[float, float] | None:
    """Return Wilson's interval for a share, 95 % unless told otherwise; None where nothing was asked."""
    if asked == 0:
        return None
    share, z2 = right / asked, z * z
    centre = (share + z2 / (2 * asked)) / (1 + z2 / asked)
    reach = z / (1 + z2 / asked) * sqrt(share * (1 - share) / asked + z2 / (4 * asked * asked))
    low = 0.0 if right == 0 else max(0.0, centre - reach)
    high = 1.0 if right == asked else min(1.0, centre + reach)
    return low, high


def chance_of_so_few(right: int, asked: int, percent: int) -> Fraction:
    """Return, exactly, the chance of at most `right` of `asked` when each is right with `percent` in a hundred (R6)."""
    fewer = sum(comb(asked, k) * percent**k * (100 - percent) ** (asked - k) for k in range(right + 1))
    return Fraction(fewer, 100**asked)


def chance_of_such_a_rise(late_right: int, late: int, early_right: int, early: int) -> Fraction:
    """Return Fisher's exact one-sided p: the chance that at least `late_right` of the right ones fall into the late
    part, if late or early made no difference."""
    right, everything = late_right + early_right, late + early
    most = min(late, right)
    ways = sum(comb(late, k) * comb(early, right - k) for k in range(late_right, most + 1))
    return Fraction(ways, comb(everything, right))


def median(values: Sequence[float]) -> float | None:
    """Return the middle value; None without any."""
    return middle(values) if values else None


def mean(values: Sequence[float]) -> float | None:
    """Return the mean; None without any."""
    return fmean(values) if values else None


def coefficient_of_variation(values: Sequence[float]) -> float | None:
    """Return the coefficient of variation, the standard deviation in multiples of the mean; None with fewer than two
    values or a mean of zero."""
    average = mean(values)
    if len(values) < 2 or not average:
        return None
    return sqrt(sum((value - average) ** 2 for value in values) / (len(values) - 1)) / average


def pattern_of(counts: Mapping[int, int]) -> Pattern:
    """Return the pattern of one unit's counts by position in the domain."""
    return tuple(sorted((position, count) for position, count in counts.items() if count))


def alpha_of_patterns(counted: Mapping[Pattern, int], size: int, *, ordinal: bool = False) -> float | None:
    """Return Krippendorff's alpha of units counted by their pattern, over a domain of `size` values, for `ordinal` from
    the least to the most. None where it is not defined: no unit with two values, or only one value ever given.

    Many units have few patterns, so that ten thousands of answers cost as much as the different ways to answer.
    """
    pairable = {
        pattern: times for pattern, times in counted.items() if times and sum(count for _, count in pattern) > 1
    }
    totals = [0] * size
    for pattern, times in pairable.items():
        for position, count in pattern:
            totals[position] += count * times
    apart = _ordinal(totals) if ordinal else _nominal(size)
    observed = sum((_disagreement(pattern, apart) * times for pattern, times in pairable.items()), Fraction(0))
    expected = sum(totals[a] * totals[b] * apart[a][b] for a in range(size) for b in range(size))
    if expected == 0:
        return None
    return float(1 - (sum(totals) - 1) * observed / expected)


def _disagreement(pattern: Pattern, apart: Sequence[Sequence[int]]) -> Fraction:
    """The distance of all ordered pairs of a unit's values, over the other values each one is paired with."""
    within = sum(m * n * apart[a][b] for a, m in pattern for b, n in pattern)
    return Fraction(within, sum(count for _, count in pattern) - 1)


def _nominal(size: int) -> list[list[int]]:
    return [[int(a != b) for b in range(size)] for a in range(size)]


def _ordinal(totals: Sequence[int]) -> list[list[int]]:
    """Four times the squared ordinal distances: halves doubled, so that everything stays whole; alpha is a ratio."""

    def distance(a: int, b: int) -> int:
        low, high = min(a, b), max(a, b)
        return 2 * sum(totals[low : high + 1]) - totals[low] - totals[high]

    return [[distance(a, b) ** 2 if a != b else 0 for b in range(len(totals))] for a in range(len(totals))]
