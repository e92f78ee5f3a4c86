"""A defense that misleads attacks and is not robust: noise on the picture, one-hot scores.

The noise moves the border of its classes all the time, so an attack that walks along it is lost; scores of exactly 0
and 1 hide every gradient. The warm-up flags both, `randomised` and `flat`, whatever the accuracy. It is here to show
what a good figure in the warm-up does not prove.
"""

import numpy as np

from defense_kit import from_warmup, serve

NOISE = 0.05  # standard deviation, of values in 0 to 1


def scores_of(images: np.ndarray) -> np.ndarray:
    """Return [N, 2] = [bicycle, bird] for float32 images [N, S, S, 3] in 0 to 1, from the sky's blue and the edges."""
    blue = images[..., 2].mean(axis=(1, 2)) - images[..., 0].mean(axis=(1, 2))
    edges = np.abs(np.diff(images.mean(axis=3), axis=2)).mean(axis=(1, 2))
    bird = 1 / (1 + np.exp(-(4 * blue - 20 * edges + 1)))
    return np.stack([1 - bird, bird], axis=1)


def classify(images: np.ndarray) -> np.ndarray:
    """Return 1 for the class that seems likelier under noise, and 0 for the other: float32 [N, 2]."""
    noise = np.random.normal(0, NOISE, images.shape).astype(np.float32)
    is_bird = scores_of(images + noise).argmax(axis=1)
    return np.stack([1 - is_bird, is_bird], axis=1).astype(np.float32)


if __name__ == "__main__":
    serve(from_warmup(classify, threshold=0.5), name="uninteresting example")
