"""Accuracy at 80 % coverage (R40): the example of the specification, ties, bad rows and the ends."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defense_kit.warmup.coverage import covered_accuracy, risk_coverage, wilson

CASES = [
    # confidences, margins, threshold, covered, wrong, why
    ([5, 4, 3, 3, 1], [2, -1, -3, 0, -0.5], 3, 4, 2, "the example: a tie is wrong"),
    ([1], [-1], 1, 1, 0, "one picture"),
    ([1], [1], 1, 1, 1, "one picture, wrong"),
    ([2, 2, 2, 2, 2], [1, -1, -1, -1, -1], 2, 5, 1, "all are tied, so all are covered"),
    ([-inf] * 4, [inf] * 4, -inf, 4, 4, "all rows are bad"),
    ([3, 2, -inf, -inf, -inf], [-1, -1, inf, inf, inf], -inf, 5, 3, "the threshold is a bad row"),
    ([9, 8, 7, 6, 5, 4, 3, 2, 1, 0], [-1] * 10, 2, 8, 0, "eight of ten"),
    ([9, 8, 7, 6, 5, 4, 3, 2, 1], [-1] * 9, 2, 8, 0, "of nine, 7.2 is rounded up"),
]


@pytest.mark.parametrize(("confidences", "margins", "threshold", "covered", "wrong", "why"), CASES)
def test_the_most_confident_80_percent_with_all_ties(
    confidences: list[float], margins: list[float], threshold: float, covered: int, wrong: int, why: str
) -> None:
    found = covered_accuracy(np.array(confidences, float), np.array(margins) >= 0)
    assert (found.threshold, found.covered, found.wrong) == (threshold, covered, wrong), why
    assert found.accuracy == 1 - wrong / covered and found.coverage_reached == covered / len(confidences)


def test_no_picture_is_an_error() -> None:
    with pytest.raises(ValueError, match="no picture"):
        covered_accuracy(np.array([]), np.array([], bool))


def test_the_interval_of_200_of_200() -> None:
    low, high = wilson(200, 200)
    assert (round(100 * low, 1), high) == (98.1, 1.0)


ROWS = st.lists(st.tuples(st.sampled_from([-inf, 0.0, 0.25, 0.5, 1.0]), st.booleans()), min_size=1, max_size=40)


@given(ROWS)
def test_the_curve_ends_at_all_pictures_and_agrees_with_counting(rows: list[tuple[float, bool]]) -> None:
    confidences, wrong = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    curve = risk_coverage(confidences, wrong)
    assert len(curve) == len(set(confidences)) and curve[-1] == (1.0, wrong.mean())
    for coverage, risk in curve:
        covered = [bad for confidence, bad in rows if np.mean(confidences >= confidence) <= coverage]
        assert coverage == len(covered) / len(rows) and risk == pytest.approx(sum(covered) / len(covered))
