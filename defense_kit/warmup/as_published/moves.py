"""The moves of the published code: the grid's by Pillow, and TensorFlow 1's before SPSA and the boundary attack."""

from math import cos, radians, sin

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from defense_kit.warmup.attacks import SIDE, AttackedPicture, Bytes, Rows, as_floats
from defense_kit.warmup.spsa import drawn_move
from defense_kit.warmup.streams import Streams

_CENTRE = SIDE / 2 + 0.5  # torchvision 0.2.1's, in coordinates where the centre of a picture is SIDE / 2
_SIDE_INSIDE = SIDE - 20  # the border is taken off once, and put on at both sides
_BORDER = 20
_MARGIN = 50  # so that a rotation cuts off no corner before the shift
_CUT = _BORDER + _MARGIN - (SIDE - _SIDE_INSIDE) // 2  # before the crop's first row and column

_Floats = NDArray[np.floating]  # [S, S, 3]


def moved(picture: Bytes, degrees: float, dx: float, dy: float) -> Bytes:
    """Rotate uint8 [224, 224, 3] clockwise, shift it right and down by pixels, and cut the values off to 8 bits."""
    cosine, sine = cos(radians(degrees)), sin(radians(degrees))
    across, down = -_CENTRE - dx, -_CENTRE - dy
    to_x = (cosine, sine, cosine * across + sine * down + _CENTRE)
    to_y = (-sine, cosine, -sine * across + cosine * down + _CENTRE)
    affine, bilinear = Image.Transform.AFFINE, Image.Resampling.BILINEAR
    return np.asarray(Image.fromarray(picture).transform((SIDE, SIDE), affine, (*to_x, *to_y), bilinear))


def first_move(of: AttackedPicture, streams: Streams) -> Rows:
    """Return the randomly moved picture that SPSA and the boundary attack begin from, with the draws of the warm-up."""
    return moved_twice(of.pixels, *drawn_move(streams))


def moved_twice(picture: Bytes, degrees: float, dx: float, dy: float) -> Rows:
    """Shrink uint8 [224, 224, 3] to 204, rotate it counter-clockwise on black, then shift it right and down."""
    at = np.arange(_SIDE_INSIDE) * (SIDE / _SIDE_INSIDE)
    shrunk = _read(as_floats(picture).astype(np.float64), at[np.newaxis, :], at[:, np.newaxis])
    around = (_BORDER + _MARGIN,) * 2
    framed = np.pad(shrunk, (around, around, (0, 0)))
    rotated = _rotated(framed, radians(degrees))
    at = np.arange(float(_CUT), _CUT + SIDE)
    return _read(rotated, at[np.newaxis, :] - dx, at[:, np.newaxis] - dy).astype(np.float32)


def _rotated(picture: _Floats, angle: float) -> _Floats:
    centre = (len(picture) - 1) / 2
    offsets = np.arange(len(picture)) - centre
    across, down = offsets[np.newaxis, :], offsets[:, np.newaxis]
    return _read(
        picture,
        cos(angle) * across - sin(angle) * down + centre,
        sin(angle) * across + cos(angle) * down + centre,
    )


def _read(picture: _Floats, across: _Floats, down: _Floats) -> _Floats:
    """Interpolate between the four pixels around each place. The index of a pixel is its centre; outside is black."""
    framed = np.pad(picture, ((1, 1), (1, 1), (0, 0)))
    left, top = np.floor(across).astype(np.int64), np.floor(down).astype(np.int64)
    rows, columns = ([np.clip(at + 1 + next_, 0, len(picture) + 1) for next_ in (0, 1)] for at in (top, left))
    right_share, lower_share = (across - left)[..., np.newaxis], (down - top)[..., np.newaxis]
    upper, lower = (framed[row, columns[0]] * (1 - right_share) + framed[row, columns[1]] * right_share for row in rows)
    found: _Floats = upper * (1 - lower_share) + lower * lower_share
    return found
