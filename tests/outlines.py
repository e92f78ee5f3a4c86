"""Outlines with many corners."""

from math import cos, pi, sin
from random import Random


def star(seed: int, corners: int = 1_000, middle: int = 404_800, radius: int = 4_800) -> list[tuple[int, int]]:
    """Return a star-shaped outline around (`middle`, `middle`), in hundredths of a pixel. The defaults put it in the
    far corner of the largest picture."""
    random = Random(seed)
    ends = [(2 * pi * number / corners, radius * random.uniform(0.5, 1)) for number in range(corners)]
    return [(round(middle + far * cos(angle)), round(middle + far * sin(angle))) for angle, far in ends]
