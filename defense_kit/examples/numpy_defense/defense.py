"""A defense in NumPy: it looks at two numbers of a picture and abstains where they do not agree.

It is here to be replaced, not to be good.
"""

from typing import List, Tuple

import numpy as np

from defense_kit import serve

SURE = 0.15  # how far apart the two classes have to be


def classify(images: np.ndarray) -> np.ndarray:
    """Return float32 [N, 2] = [bicycle, bird], which add up to 1, for float32 images [N, S, S, 3] in 0 to 1, from the
    sky's blue and the edges' strength."""
    blue = images[..., 2].mean(axis=(1, 2)) - images[..., 0].mean(axis=(1, 2))
    grey = images.mean(axis=3)
    edges = np.abs(np.diff(grey, axis=2)).mean(axis=(1, 2))
    bird = 1 / (1 + np.exp(-(4 * blue - 20 * edges + 1)))
    return np.stack([1 - bird, bird], axis=1).astype(np.float32)


def predict(images: np.ndarray) -> Tuple[List[str], np.ndarray]:
    """Answer uint8 images [N, S, S, 3] with one name each, and the scores behind it."""
    scores = classify(images.astype(np.float32) / 255)
    names = np.where(scores[:, 1] > scores[:, 0], "bird", "bicycle")
    sure = np.abs(scores[:, 1] - scores[:, 0]) >= SURE
    return np.where(sure, names, "abstain").tolist(), scores


if __name__ == "__main__":
    serve(predict, name="numpy example", classify=classify)  # `classify` is what the warm-up attacks
