"""Blur: the corruptions that mix a pixel with its neighbours (ImageNet-C, severity 1).

A corruption takes uint8 [224, 224, 3] and its draws, and returns values of the same shape on the scale of 0 to 1.
"""

from math import ceil, cos, radians, sin

import numpy as np
from numpy.random import Generator
from scipy import ndimage

from defense_kit.warmup.attacks import SIDE, Bytes, Floats

_DISK_RADIUS = 3
_GLASS_SIGMA, _GLASS_PASSES = 0.7, 2
_GLASS_FIRST = 2  # row and column: those before keep their pixels
_MOTION_TAPS, _MOTION_SIGMA, _MOTION_ANGLE = 21, 3, 45
_ZOOMS = 1 + np.arange(12) / 100


def defocus_blur(pixels: Bytes, draws: Generator) -> Floats:
    """Average over a disk of radius 3: 29 pixels."""
    offsets = np.arange(-_DISK_RADIUS, _DISK_RADIUS + 1)
    disk = (offsets[:, np.newaxis] ** 2 + offsets**2 <= _DISK_RADIUS**2).astype(np.float64)
    blurred: Floats = ndimage.correlate(pixels / 255, (disk / disk.sum())[..., np.newaxis], mode="mirror")
    return blurred


def glass_blur(pixels: Bytes, draws: Generator) -> Floats:
    """Blur, let each pixel take the place of one beside it, twice, and blur again.

    ImageNet-C means to swap two pixels, but copies one over the other, from the last row and column to the first. So
    every pixel comes from what the pass began with.
    """
    shattered = (_gaussian(pixels / 255, _GLASS_SIGMA) * 255).astype(np.uint8)
    places = np.arange(_GLASS_FIRST, SIDE)
    for _ in range(_GLASS_PASSES):
        offsets = draws.integers(-1, 1, (len(places), len(places), 2))[::-1, ::-1]  # 0 or 1 to the left, and up
        columns, rows = places + offsets[..., 0], places[:, np.newaxis] + offsets[..., 1]
        shattered[_GLASS_FIRST:, _GLASS_FIRST:] = shattered[rows, columns]
    return _gaussian(shattered / 255, _GLASS_SIGMA)


def motion_blur(pixels: Bytes, draws: Generator) -> Floats:
    """Average along a line that ends at the pixel, half of a Gaussian of standard deviation 3, rounded to 8 bits."""
    angle, taps = radians(draws.uniform(-_MOTION_ANGLE, _MOTION_ANGLE)), range(_MOTION_TAPS)
    weights = np.exp([-(tap**2) / (2 * _MOTION_SIGMA**2) for tap in taps])
    beyond = np.pad(pixels, ((_MOTION_TAPS, _MOTION_TAPS), (_MOTION_TAPS, _MOTION_TAPS), (0, 0)), mode="edge")
    blurred = np.zeros(pixels.shape)
    for tap, weight in zip(taps, weights / weights.sum(), strict=True):
        left, top = (_MOTION_TAPS + ceil(tap * part - 0.5) for part in (cos(angle), sin(angle)))
        blurred += weight * beyond[top : top + SIDE, left : left + SIDE]
    return np.rint(blurred) / 255


def zoom_blur(pixels: Bytes, draws: Generator) -> Floats:
    """Average the picture with 12 enlargements of its middle, by 0 to 11 %, in float32."""
    x = (pixels / 255).astype(np.float32)
    total = np.zeros_like(x)
    for zoom in _ZOOMS:
        middle = _middle(x, ceil(SIDE / zoom))
        for channel in range(3):  # SciPy takes three times as long for all at once
            total[..., channel] += _middle(ndimage.zoom(middle[..., channel], zoom, order=1), SIDE)
    return (x + total) / np.float32(len(_ZOOMS) + 1)


def _middle(x: Floats, side: int) -> Floats:
    first = (len(x) - side) // 2
    return x[first : first + side, first : first + side]


def gaussian_blur(pixels: Bytes, draws: Generator) -> Floats:
    """Blur with standard deviation 1."""
    return _gaussian(pixels / 255, 1)


def _gaussian(x: Floats, sigma: float) -> Floats:
    """Blur each channel; beyond the border its pixels repeat."""
    blurred: Floats = ndimage.gaussian_filter(x, (sigma, sigma, 0), mode="nearest")
    return blurred
