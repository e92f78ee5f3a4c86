"""Adapts a classifier of the warm-up contest to defense protocol v1."""

from typing import Callable, List, Tuple

import numpy as np

from defense_kit import frames

WARMUP_SIZE = 224
Classify = Callable[[np.ndarray], np.ndarray]


def resize(images: np.ndarray, size: int) -> np.ndarray:
    """Resize images [N, H, W, C] to float32 [N, size, size, C] by bilinear interpolation between pixel centres.

    Output pixel i lies at (i + 0.5) * H / size - 0.5 of the input, cut off at the border; the two pixels on either side
    are weighted by their distance. Nothing is smoothed first. Values keep their range.
    """
    rows = _between(images.shape[1], size)
    columns = _between(images.shape[2], size)
    tall = _blend(images.astype(np.float32), rows, 1)
    return _blend(tall, columns, 2)


def _between(length: int, size: int) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each output place the input place before it, the one after it, and the share of the latter."""
    at = (np.arange(size, dtype=np.float32) + np.float32(0.5)) * np.float32(length / size) - np.float32(0.5)
    at = np.clip(at, 0, length - 1)
    before = np.floor(at).astype(np.intp)
    return before, np.minimum(before + 1, length - 1), (at - before).astype(np.float32)


def _blend(images: np.ndarray, places: Tuple[np.ndarray, np.ndarray, np.ndarray], axis: int) -> np.ndarray:
    before, after, share = places
    shape: List[int] = [1, 1, 1, 1]
    shape[axis] = -1
    weight = share.reshape(shape)
    blended: np.ndarray = np.take(images, before, axis) * (1 - weight) + np.take(images, after, axis) * weight
    return blended


class Classifier:
    """A `predict` for `serve` that asks a classifier, which the fixed attacks of the warm-up ask directly."""

    def __init__(self, classify: Classify, threshold: float, size: int) -> None:
        self.classify = classify
        self._threshold, self._size = threshold, size

    def __call__(self, images: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        """Answer uint8 images [N, S, S, 3] with labels [N] and scores [N, 2]."""
        scores = scores_of(self.classify, resize(images, self._size) / np.float32(255))
        bicycle, bird = scores[:, 0], scores[:, 1]
        sure = (np.maximum(bicycle, bird) >= self._threshold) & (bicycle != bird)
        labels = np.where(sure, np.where(bird > bicycle, frames.BIRD, frames.BICYCLE), frames.ABSTAIN)
        return labels.astype(np.int8), scores


def scores_of(classify: Classify, images: np.ndarray) -> np.ndarray:
    """Return what `classify` says of images [N, S, S, 3]: float32 [N, 2]; ValueError for another shape."""
    scores = np.asarray(classify(images), dtype=np.float32)
    if scores.shape != (len(images), len(frames.CLASSES)):
        raise ValueError(f"classify returned shape {scores.shape} for {len(images)} images")
    return scores


def from_warmup(classify: Classify, threshold: float, size: int = WARMUP_SIZE) -> Classifier:
    """Turn a warm-up classifier into a `predict` for `serve`.

    `classify` takes float32 [N, 224, 224, 3] in 0..1 and returns float [N, 2] = [bicycle, bird]. The larger of the two
    is the answer where it is at least `threshold`, and the answer is an abstention where it is not, where both are
    equal, or where one is not a number; the contest takes the latter for the fault `nonfinite`. The pictures are
    resized as `resize` says.
    """
    return Classifier(classify, threshold, size)
