"""The published accuracy at 80 % coverage and risk-coverage curve. Pure; arguments as in the warm-up's `coverage`."""

import numpy as np

from defense_kit.warmup.coverage import Confidences, CoveredAccuracy, Wrong, covered_to_rank

COVERAGES = np.linspace(0.01, 1, 100)  # the published floats, some of them below their decimal number
_AT_80 = 79


def covered_accuracy(confidences: Confidences, wrong: Wrong) -> CoveredAccuracy:
    """Cover the most confident 80 % of the pictures, rounded down, with all ties; ValueError without a picture."""
    return _covered(confidences, wrong, float(COVERAGES[_AT_80]))


def risk_coverage(confidences: Confidences, wrong: Wrong) -> list[tuple[float, float]]:
    """Return (coverage, risk) for each of COVERAGES; risk is wrong pictures over those that were to be covered."""
    points = [(float(coverage), _covered(confidences, wrong, float(coverage)).wrong) for coverage in COVERAGES]
    return [(coverage, bad / (coverage * len(confidences))) for coverage, bad in points]


def _covered(confidences: Confidences, wrong: Wrong, coverage: float) -> CoveredAccuracy:
    """Cover a share, rounded down. Where that is no picture, the rank is 0: then all are covered."""
    return covered_to_rank(int(coverage * len(confidences)), confidences, wrong)
