"""Border, rotation and translation of a picture, in integers: the same bytes on every machine.

A point of the result reads the source through one bilinear pass, at a place rounded to 1/4096 of a pixel. What lies
outside is black.
"""

from math import cos, radians, sin

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIDE = 224
Bytes = NDArray[np.uint8]  # [H, W, 3]
Floats = NDArray[np.floating]  # [H, W, 3]

_CENTRE = SIDE / 2
_BITS = 12  # of a place's fraction
_ONE = 1 << _BITS
_HALF_PIXEL = _ONE // 2


def bordered(picture: Bytes, side: int) -> Bytes:
    """Shrink uint8 [224, 224, 3] to a square of `side` pixels, centred on black."""
    before = (SIDE - side) // 2
    framed = np.zeros_like(picture)
    shrunk = Image.fromarray(picture).resize((side, side), Image.Resampling.BILINEAR)
    framed[before : before + side, before : before + side] = np.asarray(shrunk)
    return framed


def moved(picture: Bytes, degrees: float, dx: float, dy: float) -> Bytes:
    """Rotate uint8 [224, 224, 3] clockwise about its centre, then shift it by pixels to the right and down."""
    offsets = np.arange(SIDE) + 0.5 - _CENTRE
    return _read(picture, degrees, offsets - dx, offsets - dy)


def rotated_beyond(picture: Bytes, degrees: float, margin: int) -> Bytes:
    """Return uint8 [224 + 2m, 224 + 2m, 3]: the rotated picture with a margin, so that shifts by whole pixels are parts
    of it: `shifted` gives what `moved` does."""
    offsets = np.arange(-margin, SIDE + margin) + 0.5 - _CENTRE
    return _read(picture, degrees, offsets, offsets)


def shifted(beyond: Bytes, dx: int, dy: int) -> Bytes:
    """Return the part of what `rotated_beyond` gave that is shifted by whole pixels, at most its margin."""
    margin = (len(beyond) - SIDE) // 2
    return beyond[margin - dy : margin - dy + SIDE, margin - dx : margin - dx + SIDE]


def _read(picture: Bytes, degrees: float, across: NDArray[np.floating], down: NDArray[np.floating]) -> Bytes:
    """Read the picture at the places that the offsets from the centre come from."""
    cosine, sine = cos(radians(degrees)), sin(radians(degrees))
    u, v = across[np.newaxis, :], down[:, np.newaxis]
    left, right_share = _place(_CENTRE + cosine * u + sine * v)
    top, lower_share = _place(_CENTRE - sine * u + cosine * v)
    # One black pixel around the picture stands for everything outside.
    framed = np.zeros((SIDE + 2, SIDE + 2, 3), np.uint32)
    framed[1:-1, 1:-1] = picture
    columns, rows = [[np.clip(at + 1 + next_, 0, SIDE + 1) for next_ in (0, 1)] for at in (left, top)]
    total = np.full((*left.shape, 3), 1 << (2 * _BITS - 1), np.uint32)  # a half: the sum is rounded
    for row, down_share in zip(rows, (_ONE - lower_share, lower_share), strict=True):
        for column, across_share in zip(columns, (_ONE - right_share, right_share), strict=True):
            total += framed[row, column] * (down_share * across_share).astype(np.uint32)[..., np.newaxis]
    return (total >> (2 * _BITS)).astype(np.uint8)


def _place(at: NDArray[np.floating]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pixel before a place, and how much of the next one it takes, of 4096."""
    whole = np.rint(at * _ONE).astype(np.int64) - _HALF_PIXEL
    return whole >> _BITS, whole & (_ONE - 1)
