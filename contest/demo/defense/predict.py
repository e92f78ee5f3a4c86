"""The defense of the demo's team: which way edges point, cell by cell, weighed linearly. NumPy alone.

`python predict.py` speaks the defense protocol; its parameters lie beside it in `weights.json`.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIDE, CELLS, WAYS = 64, 4, 6
ABSTAIN = -1


def features(images: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the edges of uint8 images [N, S, S, 3] as [N, CELLS * CELLS * WAYS], each picture by itself."""
    return np.stack([_of_one(picture) for picture in images])


def _of_one(picture: NDArray[np.uint8]) -> NDArray[np.float64]:
    at = (np.arange(SIDE) + 0.5) * len(picture) / SIDE
    grey = picture[at.astype(int)][:, at.astype(int)].mean(axis=2) / 255
    down, right = np.gradient(grey)
    strength = np.hypot(down, right)
    way = np.minimum((np.arctan2(down, right) % np.pi / np.pi * WAYS).astype(int), WAYS - 1)
    cell = np.arange(SIDE) * CELLS // SIDE
    places = (cell[:, None] * CELLS + cell[None, :]) * WAYS + way
    found = np.bincount(places.ravel(), strength.ravel(), CELLS * CELLS * WAYS)
    shares: NDArray[np.float64] = np.sqrt(found / (found.sum() + 1e-9))
    return shares


class DemoDefense:
    """Answers where the larger of the two probabilities reaches `least_confidence`, and abstains elsewhere."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self._mean, self._weights = np.array(parameters["mean"]), np.array(parameters["weights"])
        self._bias, self._least = float(parameters["bias"]), float(parameters["least_confidence"])

    def predict(self, images: NDArray[np.uint8]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Return labels int8 [N] and scores float32 [N, 2] = [bicycle, bird]."""
        weight = ((features(images) - self._mean) * self._weights).sum(axis=1) + self._bias
        bird = 1 / (1 + np.exp(-np.clip(weight, -30, 30)))
        scores = np.stack([1 - bird, bird], axis=1)
        sure = scores.max(axis=1) >= self._least
        return np.where(sure, scores.argmax(axis=1), ABSTAIN).astype(np.int8), scores.astype(np.float32)


def main() -> None:
    """Answer the contest until it hangs up."""
    from defense_kit.serve import serve

    weights = Path(__file__).with_name("weights.json")
    serve(DemoDefense(json.loads(weights.read_text())).predict, name="edges")


if __name__ == "__main__":
    main()
