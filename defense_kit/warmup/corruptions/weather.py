"""Weather: the corruptions that lay light, fog or water over a picture (ImageNet-C, severity 1).

A corruption takes uint8 [224, 224, 3] and its draws, and returns values of the same shape on the scale of 0 to 1.
"""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import ndimage

from defense_kit.warmup.attacks import SIDE, Bytes, Floats
from defense_kit.warmup.corruptions.noise import normals

_CLOUD_SIDE = 256
_CLOUD_AMPLITUDE = 100.0
_FOG = 1.5
_MIN_LIQUID = 0.69
_MAX_EDGE_DISTANCE_PX = 20  # pixels from an edge
_WATER = np.array([175, 238, 238]) / 255  # pale turquoise
_RELIEF = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])
_WEAK, _STRONG = 50, 150
_TAN_BITS, _TAN_22_5 = 15, 13573  # tan(22.5 degrees) in units of 2**-15; that of 67.5 is larger by 2


def brightness(pixels: Bytes, draws: Generator) -> Floats:
    """Raise the value of HSV by 0.1; hue and saturation stay."""
    x = pixels / 255
    value: Floats = x.max(axis=2, keepdims=True)
    saturation = (value - x) / np.where(value > 0, value, 1)  # of each channel: the largest is that of HSV
    brighter: Floats = np.minimum(value + 0.1, 1)
    return brighter * (1 - saturation)


def fog(pixels: Bytes, draws: Generator) -> Floats:
    """Lay clouds over the picture, and darken both so that the brightest pixel can be shown."""
    x = pixels / 255
    brightest = float(x.max())
    clouds = fog_clouds(draws)[:SIDE, :SIDE, np.newaxis]
    return (x + _FOG * clouds) * brightest / (brightest + _FOG)


def fog_clouds(draws: Generator) -> Floats:
    """Return [256, 256] from 0 to 1 by the diamond-square algorithm on a torus, from the coarsest step to the finest.

    A new point is the mean of its four neighbours plus noise, at most the square of an amplitude that halves with the
    step: first the cells' centres, then the points on their horizontal edges, then those on their vertical ones.
    """
    clouds, step, amplitude = np.zeros((_CLOUD_SIDE, _CLOUD_SIDE)), _CLOUD_SIDE, _CLOUD_AMPLITUDE
    while step > 1:
        half = step // 2
        corners, centres = clouds[::step, ::step], clouds[half::step, half::step]
        rows = corners + np.roll(corners, -1, 0)
        centres[:] = _new_points(rows + np.roll(rows, -1, 1), amplitude, draws)
        around = centres + np.roll(centres, 1, 0) + (corners + np.roll(corners, -1, 1))
        clouds[::step, half::step] = _new_points(around, amplitude, draws)
        around = centres + np.roll(centres, 1, 1) + (corners + np.roll(corners, -1, 0))
        clouds[half::step, ::step] = _new_points(around, amplitude, draws)
        step, amplitude = half, amplitude / 2
    clouds -= clouds.min()
    return clouds / float(clouds.max())


def _new_points(sum_of_four: Floats, amplitude: float, draws: Generator) -> Floats:
    return sum_of_four / 4 + amplitude * draws.uniform(-amplitude, amplitude, sum_of_four.shape)


def spatter(pixels: Bytes, draws: Generator) -> Floats:
    """Splash pale drops of water, which look raised at their edges."""
    noise = 0.65 + 0.3 * normals(draws, (SIDE, SIDE))
    thickness = ndimage.gaussian_filter(noise, 4, mode="nearest")
    thickness[thickness < _MIN_LIQUID] = 0
    drops = (thickness * 255).astype(np.uint8)
    liquid: Floats = drops * relief(canny_edges(drops))
    most = float(liquid.max()) or 1.0  # no drop changes nothing
    return pixels / 255 + (0.6 * liquid / most)[..., np.newaxis] * _WATER


def relief(edges: NDArray[np.bool_]) -> Floats:
    """Return the relief, 0 to 255, that light from one side gives to the distance from edges."""
    distance = np.minimum(ndimage.distance_transform_edt(~edges), _MAX_EDGE_DISTANCE_PX)
    levels = equalised(_mean_of_9(distance).astype(np.uint8))
    lit = ndimage.correlate(levels.astype(np.int64), _RELIEF, mode="mirror").clip(0, 255)
    return np.rint(_mean_of_9(lit))


def _mean_of_9(values: NDArray[np.generic]) -> Floats:
    # A running sum, as in uniform_filter, would fall short of a whole number where all nine are equal.
    mean: Floats = ndimage.correlate(values.astype(np.float64), np.ones((3, 3)), mode="mirror") / 9
    return mean


def equalised(levels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Spread 8-bit levels so that each range of them is as frequent: the lowest becomes 0, the highest 255."""
    counts = np.bincount(levels.ravel(), minlength=256)
    above_lowest = counts.cumsum() - counts[levels.min()]
    spread: NDArray[np.uint8] = np.rint(255 * above_lowest.clip(0) / max(above_lowest[-1], 1)).astype(np.uint8)
    return spread[levels]


def canny_edges(layer: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return Canny's edges of uint8 [H, W], as OpenCV finds them with thresholds of 50 and 150.

    A pixel is on an edge where the gradient is largest along its direction, one of four, and above the high threshold,
    or above the low one and connected with such a pixel.
    """
    across, down = (ndimage.sobel(layer.astype(np.int64), axis, mode="nearest") for axis in (1, 0))
    magnitude = np.abs(across) + np.abs(down)
    is_peak = (magnitude > _WEAK) & _is_largest(across, down, magnitude)
    connected, _ = ndimage.label(is_peak, np.ones((3, 3)))
    return np.isin(connected, connected[is_peak & (magnitude > _STRONG)])


def _is_largest(across: NDArray[np.int64], down: NDArray[np.int64], magnitude: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say where the gradient is larger than at the two pixels before and after it; outside it is 0."""
    height, width = magnitude.shape
    framed = np.pad(magnitude, 1)

    def beside(rows: int, columns: int) -> NDArray[np.int64]:
        return framed[1 + rows : 1 + rows + height, 1 + columns : 1 + columns + width]

    x, y = np.abs(across), np.abs(down) << _TAN_BITS
    below_22_5, above_67_5 = y < x * _TAN_22_5, y > x * (_TAN_22_5 + (2 << _TAN_BITS))
    horizontal = (magnitude > beside(0, -1)) & (magnitude >= beside(0, 1))
    vertical = (magnitude > beside(-1, 0)) & (magnitude >= beside(1, 0))
    falling = (magnitude > beside(-1, -1)) & (magnitude > beside(1, 1))
    rising = (magnitude > beside(-1, 1)) & (magnitude > beside(1, -1))
    diagonal = np.where((across < 0) == (down < 0), falling, rising)
    return np.where(below_22_5, horizontal, np.where(above_67_5, vertical, diagonal))
