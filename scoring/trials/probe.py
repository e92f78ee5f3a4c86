"""The memorisation probe: alters pictures invisibly, to find defenses that memorised published ones.

A defense that looks pictures up in a table finds none of these; one that analyses them answers as before.
"""

import numpy as np

from defense_kit.protocol import Pixels
from scoring.enums import Variant


def altered(picture: Pixels, variant: Variant, pixels_sha256: str) -> Pixels:
    """Return a variant of a picture uint8 [S, S, 3]; the same picture always gives the same one."""
    if variant is Variant.NOISE:
        return noised(picture, pixels_sha256)
    return shift_right(picture) if variant is Variant.SHIFT else picture


def noised(picture: Pixels, pixels_sha256: str) -> Pixels:
    """Return the picture with every value one more or one less, drawn by the picture's hash."""
    steps = np.random.default_rng(int(pixels_sha256, 16)).integers(0, 2, picture.shape, dtype=np.int16) * 2 - 1
    values = picture.astype(np.int16) + steps
    # At the ends of the scale the step goes the other way: cut off, the value would stay as it was.
    return np.where((values < 0) | (values > 255), values - 2 * steps, values).astype(np.uint8)


def shift_right(picture: Pixels) -> Pixels:
    """Return the picture one pixel to the right, its first column repeated."""
    return np.concatenate([picture[:, :1], picture[:, :-1]], axis=1)
