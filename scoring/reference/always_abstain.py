"""The defense that always abstains."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scoring.enums import DefenseAnswer
from scoring.machine import processor_name
from scoring.reference import AtOnce


class AlwaysAbstain(AtOnce):
    """Answers `abstain` to everything."""

    device = f"cpu, {processor_name()}, numpy {np.__version__}"

    def predict(self, images: NDArray[np.uint8]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Return -1 and scores of 0 for every row."""
        rows = len(images)
        return np.full(rows, DefenseAnswer.ABSTAIN, dtype=np.int8), np.zeros((rows, 2), dtype=np.float32)


def load(weights: Path, *, device: str, image_size: int, batch_size: int) -> AlwaysAbstain:
    """Return it; there is nothing to load."""
    return AlwaysAbstain()
