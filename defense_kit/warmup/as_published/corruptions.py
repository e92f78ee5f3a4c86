"""The published choice among the corruptions."""

import numpy as np

from defense_kit.warmup.attacks import Attack, AttackedPicture, Margins, Scores
from defense_kit.warmup.corruptions import worst_corruption


def corruptions(of: AttackedPicture) -> Attack:
    """Return the corruption with the highest score of the other class, the first of equal ones."""

    def other_scores(scores: Scores) -> Margins:
        other = scores[:, 1 - int(of.is_bird)].astype(np.float64)
        return np.where(np.isfinite(scores).all(axis=1), other, -np.inf)

    return worst_corruption(of, other_scores)
