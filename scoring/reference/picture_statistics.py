"""A defense on simple picture statistics, NumPy only: how much edge, how thin, how scattered, how filled.

The statistics are weighed linearly; parameters are fitted on drawn pictures by `scoring.reference.train`.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.enums import DefenseAnswer
from scoring.machine import processor_name
from scoring.reference import AtOnce

Field = NDArray[np.float64]
SIDE = 64
_BINS = 8


def shrunk(images: NDArray[np.uint8]) -> Field:
    """Return uint8 [N, S, S, 3] as block means [N, SIDE, SIDE, 3] in 0..1; S is SIDE or more."""
    size = images.shape[1]
    starts = np.arange(SIDE) * size // SIDE
    counts = np.diff(np.append(starts, size)).astype(np.float64)
    rows = np.add.reduceat(images.astype(np.float64), starts, axis=1)
    blocks = np.add.reduceat(rows, starts, axis=2)
    return blocks / (counts[:, None] * counts[None, :])[None, :, :, None] / 255


def statistics(images: NDArray[np.uint8]) -> Field:
    """Return the statistics [N, K] of uint8 images [N, S, S, 3], each picture by itself."""
    return np.stack([_of_one(picture) for picture in shrunk(images)])


def _of_one(picture: Field) -> Field:
    grey = picture.mean(axis=2)
    down, right = np.gradient(grey)
    strength = np.hypot(down, right)
    return np.concatenate(
        [_edges(strength), _directions(down, right, strength), _lines(grey), _spread(strength), _colours(picture)]
    )


def _edges(strength: Field) -> Field:
    return np.array([strength.mean(), strength.std(), (strength > 0.08).mean(), np.log(strength.max() + 1e-3)])


def _directions(down: Field, right: Field, strength: Field) -> Field:
    """How evenly edges point in all directions (wheels do), and how much is upright or level."""
    angle = np.arctan2(down, right) % np.pi
    bins = np.minimum((angle / np.pi * _BINS).astype(int), _BINS - 1)
    shares = np.bincount(bins.ravel(), strength.ravel(), _BINS) / (strength.sum() + 1e-9)
    evenness = -(shares * np.log(shares + 1e-9)).sum()
    return np.array([evenness, shares[0] + shares[-1], shares[_BINS // 2 - 1] + shares[_BINS // 2]])


def _lines(grey: Field) -> Field:
    """How much is thinner than five pixels, in the whole and in the lower half: spokes and tubes against plumage."""
    around = np.stack([np.roll(grey, (dy, dx), (0, 1)) for dy in (-2, 0, 2) for dx in (-2, 0, 2)])
    thin = np.abs(grey - np.median(around, axis=0))
    rough = np.abs(grey - around.mean(axis=0))
    half = SIDE // 2
    return np.array([thin.mean(), thin[half:].mean() - thin[:half].mean(), thin.mean() / (rough.mean() + 1e-3)])


def _spread(strength: Field) -> Field:
    """Where the edges are: middle, width and height of their mass, and how alike left and right are."""
    weight = strength / (strength.sum() + 1e-9)
    steps = np.linspace(-1, 1, SIDE)
    column, row = weight.sum(axis=0), weight.sum(axis=1)
    x, y = (column * steps).sum(), (row * steps).sum()
    wide, high = np.sqrt((column * (steps - x) ** 2).sum()), np.sqrt((row * (steps - y) ** 2).sum())
    mirrored = np.minimum(column, column[::-1]).sum()
    return np.array([y, wide, high, wide - high, mirrored])


def _colours(picture: Field) -> Field:
    """How the middle differs from the border, and how even and colourful it is: a body against a see-through frame."""
    edge, near, far = SIDE // 8, SIDE * 3 // 8, SIDE * 5 // 8
    middle = picture[near:far, near:far].reshape(-1, 3)
    border = np.concatenate([picture[:edge].reshape(-1, 3), picture[-edge:].reshape(-1, 3)])
    differs = np.abs(middle.mean(axis=0) - border.mean(axis=0)).mean()
    saturation = picture.max(axis=2) - picture.min(axis=2)
    return np.array([differs, middle.std(axis=0).mean(), border.std(axis=0).mean(), saturation.mean()])


class PictureStatistics(AtOnce):
    """Weighs the statistics; abstains when the weight is small or the picture is unlike the fitted ones."""

    device = f"cpu, {processor_name()}, numpy {np.__version__}"

    def __init__(self, parameters: dict[str, Any]) -> None:
        super().__init__()
        self.mean, self.scale = np.array(parameters["mean"]), np.array(parameters["scale"])
        self.weights, self.bias = np.array(parameters["weights"]), float(parameters["bias"])
        self.least_confidence = float(parameters["least_confidence"])
        self.most_unlike = float(parameters["most_unlike"])

    def predict(self, images: NDArray[np.uint8]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Return labels int8 [N] and the two classes' probabilities float32 [N, 2]."""
        standard = (statistics(images) - self.mean) / self.scale
        bird = 1 / (1 + np.exp(-np.clip((standard * self.weights).sum(axis=1) + self.bias, -30, 30)))
        unlike = np.sqrt((standard**2).mean(axis=1))
        labels = np.where(bird >= 0.5, DefenseAnswer.BIRD, DefenseAnswer.BICYCLE)
        unsure = (np.maximum(bird, 1 - bird) < self.least_confidence) | (unlike > self.most_unlike)
        scores = np.stack([1 - bird, bird], axis=1)
        return np.where(unsure, DefenseAnswer.ABSTAIN, labels).astype(np.int8), scores.astype(np.float32)


def load(weights: Path, *, device: str, image_size: int, batch_size: int) -> PictureStatistics:
    """Return the defense with the parameters in `weights`, a JSON file. It runs on the processor whatever `device`."""
    if image_size < SIDE:
        raise ValueError(f"pictures must be at least {SIDE} pixels wide")
    return PictureStatistics(json.loads(weights.read_text()))
