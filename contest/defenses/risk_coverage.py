"""Computes the risk-coverage curve of a defense: the share of mistakes by the share of pictures covered. Pure.

Confidence is the larger of a prediction's two scores. Predictions of equal confidence are covered together, so that
their order has no effect; where that covers more of them than requested, the point states the coverage reached.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class ConfidenceTie(NamedTuple):
    """The predictions of one confidence: how many name a class, and how many of those name the wrong one."""

    confidence: float
    named: int
    wrong: int


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The coverage from one confidence upwards: `covered` of `answers` predictions, `wrong` of them mistakes."""

    threshold: float
    covered: int
    wrong: int
    answers: int

    @property
    def coverage(self) -> float:
        """Return the covered share of all answers; abstentions are never covered."""
        return self.covered / self.answers

    @property
    def risk(self) -> float:
        """Return the share of mistakes among what is covered."""
        return self.wrong / self.covered


def risk_coverage(ties: Iterable[ConfidenceTie], answers: int) -> list[CurvePoint]:
    """Return a point for each confidence that names a class, largest first. `answers` counts abstentions too."""
    points: list[CurvePoint] = []
    covered = wrong = 0
    for tie in sorted(ties, key=lambda each: -each.confidence):
        if tie.named:
            covered, wrong = covered + tie.named, wrong + tie.wrong
            points.append(CurvePoint(tie.confidence, covered, wrong, answers))
    return points


def first_point_covering(points: Sequence[CurvePoint], percent: int) -> CurvePoint | None:
    """Return the first point that covers `percent` of a hundred; None where the defense abstains from more."""
    return next((point for point in points if 100 * point.covered >= percent * point.answers), None)


def curve_points(points: Sequence[CurvePoint]) -> list[CurvePoint]:
    """Return the points for a table: at each tenth of coverage, and the last one; each once."""
    wanted = [first_point_covering(points, percent) for percent in range(10, 101, 10)] + list(points[-1:])
    return list(dict.fromkeys(point for point in wanted if point))
