"""Noise: the corruptions that change each value of a picture by itself (ImageNet-C, severity 1).

A corruption takes uint8 [224, 224, 3] and its draws. It returns values of the same shape on the scale of 0 to 1; what
lies outside is cut off later.
"""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from defense_kit.warmup.attacks import Bytes, Floats

_PHOTONS = 60  # at full brightness
_HIT_SHARE = 0.03


def normals(draws: Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Draw standard normal values: float32, as everywhere in the warm-up, and widened."""
    return draws.standard_normal(shape, dtype=np.float32).astype(np.float64)


def gaussian_noise(pixels: Bytes, draws: Generator) -> Floats:
    """Add normal noise of standard deviation 0.08."""
    return pixels / 255 + 0.08 * normals(draws, pixels.shape)


def shot_noise(pixels: Bytes, draws: Generator) -> Floats:
    """Count photons: at most 60 are expected."""
    return draws.poisson(pixels / 255 * _PHOTONS) / _PHOTONS


def impulse_noise(pixels: Bytes, draws: Generator) -> Floats:
    """Set 3 % of the values, each channel by itself, to 0 or 1."""
    is_hit = draws.uniform(size=pixels.shape) < _HIT_SHARE
    is_salt = draws.uniform(size=pixels.shape) < 0.5
    return np.where(is_hit, is_salt, pixels / 255)


def speckle_noise(pixels: Bytes, draws: Generator) -> Floats:
    """Add normal noise in proportion to each value: standard deviation 0.15 of it."""
    x = pixels / 255
    return x + x * 0.15 * normals(draws, pixels.shape)
