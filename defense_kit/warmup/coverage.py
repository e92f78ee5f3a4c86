"""Accuracy at a coverage (the share of pictures that are answered), and the risk-coverage curve. Pure.

`confidences` are float [N], -inf where an answer was not finite; `wrong` is bool [N].
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

_Z = 1.959963984540054  # of a two-sided interval of 95 %
Confidences = NDArray[np.floating]
Wrong = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class CoveredAccuracy:
    """How many pictures are covered, how many of them are wrong, and the interval of the accuracy (Wilson, 95 %)."""

    pictures: int
    covered: int
    wrong: int
    threshold: float

    @property
    def accuracy(self) -> float:
        """Return the share of the covered pictures that are right."""
        return 1 - self.wrong / self.covered

    @property
    def coverage_reached(self) -> float:
        """Return the share that is covered: all ties at the threshold are."""
        return self.covered / self.pictures

    @property
    def interval(self) -> tuple[float, float]:
        """Return the lower and the upper end, 0 to 1."""
        return wilson(self.covered - self.wrong, self.covered)


def wilson(hits: int, cases: int) -> tuple[float, float]:
    """Return the 95 % interval of a share of `cases`, at least one."""
    share, squared = hits / cases, _Z * _Z
    middle = (share + squared / (2 * cases)) / (1 + squared / cases)
    half = _Z * sqrt(share * (1 - share) / cases + squared / (4 * cases * cases)) / (1 + squared / cases)
    return max(0.0, middle - half), min(1.0, middle + half)


def covered_accuracy(confidences: Confidences, wrong: Wrong, percent: int = 80) -> CoveredAccuracy:
    """Cover the most confident `percent` of the pictures, rounded up, with all ties; ValueError without a picture."""
    return covered_to_rank(-(-percent * len(confidences) // 100), confidences, wrong)


def covered_to_rank(rank: int, confidences: Confidences, wrong: Wrong) -> CoveredAccuracy:
    """Cover what is as confident as the picture of a rank: 1 has the most confident one, 0 the least confident."""
    if not len(confidences):
        raise ValueError("there is no picture to be accurate about")
    threshold = float(np.sort(confidences)[::-1][rank - 1])
    covered = confidences >= threshold
    return CoveredAccuracy(len(confidences), int(covered.sum()), int(wrong[covered].sum()), threshold)


def risk_coverage(confidences: Confidences, wrong: Wrong) -> list[tuple[float, float]]:
    """Return (coverage, risk) for each distinct confidence from high to low; risk is the share of covered that is
    wrong."""
    order = np.argsort(-confidences, kind="stable")
    ranked, errors = confidences[order], np.cumsum(wrong[order])
    last = np.append(ranked[1:] != ranked[:-1], True)
    covered = np.arange(1, len(ranked) + 1)
    return [(float(n / len(ranked)), float(bad / n)) for n, bad in zip(covered[last], errors[last], strict=True)]
