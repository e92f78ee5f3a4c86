"""Border, rotation and translation of a picture, in integers: the same bytes on every machine.

A point of the result reads the source through one bilinear pass, at a place rounded to 1/4096 of a pixel. What lies
outside is black.
"""

from functools import cache
from math import cos, radians, sin
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from defense_kit.warmup.attacks import SIDE, Bytes

Pixels = TypeVar("Pixels", np.uint8, np.float32)

_CENTRE = SIDE / 2
_BITS = 12  # of a place's fraction
_ONE = 1 << _BITS
_HALF_PIXEL = _ONE // 2
_ROUNDING = 1 << (2 * _BITS - 1)
_HALF = 32  # bits; a sum is below 2 to the 32nd
# Black pixels on each side of a picture stand for everything outside: a place there reads two of them.
_FRAME = 2
_FRAMED_SIDE = SIDE + 2 * _FRAME


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
    return _read(picture, _places(degrees, offsets - dx, offsets - dy))


def rotated_beyond(picture: Bytes, degrees: float, margin: int) -> Bytes:
    """Return uint8 [224 + 2m, 224 + 2m, 3]: the rotated picture with a margin, so that shifts by whole pixels are parts
    of it: `shifted` gives what `moved` does."""
    return _read(picture, _places_beyond(degrees, margin))


def shifted(beyond: NDArray[Pixels], dx: int, dy: int) -> NDArray[Pixels]:
    """Return the part of what `rotated_beyond` gave that is shifted by whole pixels, at most its margin."""
    margin = (len(beyond) - SIDE) // 2
    return beyond[margin - dy : margin - dy + SIDE, margin - dx : margin - dx + SIDE]


class _Places(NamedTuple):
    """Where each point of the result reads the source: the number of the pixel at the upper left in the picture with
    its frame, and how much of the pixels to the right and below it takes, of 4096."""

    first: NDArray[np.intp]
    right: NDArray[np.uint64]
    lower: NDArray[np.uint64]


@cache  # 1.6 MB for each angle of the grid, which every picture needs
def _places_beyond(degrees: float, margin: int) -> _Places:
    offsets = np.arange(-margin, SIDE + margin) + 0.5 - _CENTRE
    return _places(degrees, offsets, offsets)


def _places(degrees: float, across: NDArray[np.floating], down: NDArray[np.floating]) -> _Places:
    """Return the places that the offsets from the centre come from."""
    cosine, sine = cos(radians(degrees)), sin(radians(degrees))
    u, v = across[np.newaxis, :], down[:, np.newaxis]
    columns, right = _split(_CENTRE + cosine * u + sine * v)
    rows, lower = _split(_CENTRE - sine * u + cosine * v)
    return _Places(rows * _FRAMED_SIDE + columns, right, lower)


def _split(at: NDArray[np.floating]) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    """Return the framed row or column of the pixel before each place, and how much of the next one it takes."""
    whole = np.rint(at * _ONE).astype(np.intp) - _HALF_PIXEL
    return np.clip((whole >> _BITS) + _FRAME, 0, _FRAMED_SIDE - _FRAME), (whole & (_ONE - 1)).astype(np.uint64)


def _read(picture: Bytes, places: _Places) -> Bytes:
    """Read uint8 [224, 224, 3] at places; red and green are summed in the two halves of one number."""
    framed = np.zeros((_FRAMED_SIDE, _FRAMED_SIDE, 3), np.uint64)
    framed[_FRAME:-_FRAME, _FRAME:-_FRAME] = picture
    red, green, blue = (framed[..., channel].ravel() for channel in range(3))
    pair = red | green << _HALF
    sums = [np.full(places.first.shape, start, np.uint64) for start in (_ROUNDING | _ROUNDING << _HALF, _ROUNDING)]
    left, upper = _ONE - places.right, _ONE - places.lower
    for below, down_share in ((0, upper), (_FRAMED_SIDE, places.lower)):
        for beside, across_share in ((0, left), (1, places.right)):
            share = down_share * across_share
            for source, total in zip((pair, blue), sums, strict=True):
                total += source[below + beside :].take(places.first) * share
    pairs, blues = (total >> 2 * _BITS for total in sums)
    # The cast takes the lowest 8 bits: red, without what green left above it.
    return np.stack([pairs.astype(np.uint8), (pairs >> _HALF).astype(np.uint8), blues.astype(np.uint8)], axis=-1)
