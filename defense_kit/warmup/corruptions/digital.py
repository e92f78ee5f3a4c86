"""Digital changes: the corruptions of contrast, colour, shape and files (ImageNet-C, severity 1).

A corruption takes uint8 [224, 224, 3] and its draws, and returns values of the same shape on the scale of 0 to 1.
"""

from functools import cache
from io import BytesIO

import numpy as np
from numpy.random import Generator
from PIL import Image
from scipy import ndimage

from defense_kit.warmup.attacks import SIDE, Bytes, Floats

_PIXELATED_SIDE = 134
_JPEG_QUALITY = 25
# Of 244, as in ImageNet-C, where 224 may be meant.
_ELASTIC_SHIFT, _ELASTIC_SIGMA, _ELASTIC_SCALE = 24.4, 170.8, 488
_CORNERS = np.array([[186, 186], [186, 38], [38, 38]], np.float32)  # x, y


def contrast(pixels: Bytes, draws: Generator) -> Floats:
    """Bring each value nearer to the mean of its channel: 0.4 of the difference stays."""
    x = pixels / 255
    mean: Floats = x.mean(axis=(0, 1))
    return (x - mean) * 0.4 + mean


def elastic(pixels: Bytes, draws: Generator) -> Floats:
    """Move three corners at random, and with them the picture; then shift each pixel by a smooth random field."""
    moved = _CORNERS + draws.uniform(-_ELASTIC_SHIFT, _ELASTIC_SHIFT, _CORNERS.shape).astype(np.float32)
    dx, dy = (smoothed(draws.uniform(-1, 1, (SIDE, SIDE))) * _ELASTIC_SCALE for _ in range(2))
    rows, columns = np.indices((SIDE, SIDE))
    return _read(affine(pixels / 255, moved), rows + dy, columns + dx, mode="reflect")


def affine(x: Floats, moved: Floats) -> Floats:
    """Move the picture so that three corners come to `moved`, [3, 2] of x and y."""
    rows, columns = np.indices((SIDE, SIDE))
    (right_x, right_y), (down_x, down_y), (first_x, first_y) = np.linalg.solve(
        np.column_stack([moved, np.ones(3)]).astype(np.float64), _CORNERS.astype(np.float64)
    )
    return _read(
        x,
        right_y * columns + down_y * rows + first_y,
        right_x * columns + down_x * rows + first_x,
        mode="mirror",
    )


def smoothed(field: Floats) -> Floats:
    """Blur a field [224, 224] with a Gaussian that is nearly as wide, and cut off at 512 pixels."""
    for _ in range(2):  # along the rows, then the columns; einsum uses no BLAS: the same bits with any library
        field = np.einsum("kj,ij->ik", field, _shares())
    return field


@cache
def _shares() -> Floats:
    """Return how much each of 224 values takes of each other one; the Gaussian is reflected at both ends."""
    shares: Floats = ndimage.gaussian_filter1d(np.eye(SIDE), _ELASTIC_SIGMA, axis=0, mode="reflect", truncate=3)
    return shares


def _read(x: Floats, rows: Floats, columns: Floats, *, mode: str) -> Floats:
    """Read each channel at places between its pixels; `mode` is what SciPy finds beyond the border."""
    channels = [ndimage.map_coordinates(x[..., channel], (rows, columns), order=1, mode=mode) for channel in range(3)]
    return np.stack(channels, axis=2)


def pixelate(pixels: Bytes, draws: Generator) -> Floats:
    """Shrink the picture to 134 pixels and enlarge it again."""
    small = Image.fromarray(pixels).resize((_PIXELATED_SIDE, _PIXELATED_SIDE), Image.Resampling.BOX)
    return np.asarray(small.resize((SIDE, SIDE), Image.Resampling.BOX)) / 255


def jpeg(pixels: Bytes, draws: Generator) -> Floats:
    """Write the picture as JPEG of quality 25, and read it back."""
    file = BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=_JPEG_QUALITY)
    return np.asarray(Image.open(file)) / 255


def saturate(pixels: Bytes, draws: Generator) -> Floats:
    """Take the saturation of HSV times 0.3; hue and value stay."""
    x = pixels / 255
    value: Floats = x.max(axis=2, keepdims=True)
    return value - 0.3 * (value - x)
