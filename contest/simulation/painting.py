"""Draws random pictures with simple shapes.

What is true of a picture is decided before (`contest.simulation.pictures`); the drawing only has to be a picture of its
own, and to look like what is said of it.
"""

import io
import math
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from contest.simulation.pictures import SIDE, PictureTruth, Shape
from labeling.enums import Label
from picture_files.decoding import read_attack

PLEA = "Tasker, please: one whole, real bird."
Colour = tuple[int, int, int]
_CORNERS = 48


@dataclass(frozen=True, slots=True)
class PaintedPicture:
    """A picture as a file, what is true of it, and how hard it bites a weak defense, 0 to 1."""

    data: bytes
    truth: PictureTruth
    bite: float


def paint(truth: PictureTruth, bite: float, rng: Random) -> PaintedPicture:
    """Draw a picture as a PNG of SIDE x SIDE."""
    image = Image.new("RGB", (SIDE, SIDE), _colour(rng))
    pen = ImageDraw.Draw(image)
    for _ in range(7):
        x, y, radius = rng.randrange(SIDE), rng.randrange(SIDE), rng.randrange(15, 110)
        _circle(pen, x, y, radius, fill=_colour(rng))
    if truth.shape is not None:
        (_bicycle if truth.label is Label.BICYCLE else _bird)(pen, truth.shape, rng)
    elif truth.bird:
        _bird(pen, Shape(SIDE * 0.28, SIDE / 2, 60, 60, ()), rng)
        _bicycle(pen, Shape(SIDE * 0.72, SIDE / 2, 60, 60, ()), rng)
    _faults(pen, truth, rng)
    return PaintedPicture(as_png(image), truth, bite)


def nudge(data: bytes, rng: Random) -> bytes:
    """Return nearly the same picture: one small corner in another colour, as somebody does who copies."""
    image = Image.frombytes("RGB", (SIDE, SIDE), picture_pixels(data).tobytes())
    ImageDraw.Draw(image).rectangle((0, 0, rng.randint(2, 9), rng.randint(2, 9)), fill=_colour(rng))
    return as_png(image)


def picture_pixels(data: bytes) -> NDArray[np.uint8]:
    """Return a drawn picture as uint8 [SIDE, SIDE, 3], read as an attack is."""
    return np.frombuffer(read_attack(data, size=SIDE).pixels, np.uint8).reshape(SIDE, SIDE, 3)


def as_png(image: Image.Image) -> bytes:
    """Return the file."""
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()


def _colour(rng: Random) -> Colour:
    return rng.randrange(256), rng.randrange(256), rng.randrange(256)


def _circle(pen: ImageDraw.ImageDraw, x: float, y: float, radius: float, **how: Any) -> None:
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), **how)


def _bird(pen: ImageDraw.ImageDraw, shape: Shape, rng: Random) -> None:
    body = [shape.at(2 * math.pi * step / _CORNERS) for step in range(_CORNERS)]
    pen.polygon(body, fill=_colour(rng), outline=(20, 20, 20))
    x, y = shape.x - shape.across / 2, shape.y - shape.down / 2
    _circle(pen, x, y, 4, fill=(0, 0, 0))
    pen.polygon([(x - 12, y), (x - 34, y + 6), (x - 12, y + 12)], fill=(230, 160, 30))


def _bicycle(pen: ImageDraw.ImageDraw, shape: Shape, rng: Random) -> None:
    colour, radius = _colour(rng), 0.48 * min(shape.across, shape.down)
    low = shape.y + shape.down - radius
    wheels = [(shape.x - shape.across + radius, low), (shape.x + shape.across - radius, low)]
    for x, y in wheels:
        _circle(pen, x, y, radius, outline=(15, 15, 15), width=5)
    saddle, bar = (shape.x - radius / 2, shape.y - shape.down), (shape.x + radius, shape.y - shape.down)
    frame = [wheels[0], saddle, bar, wheels[1], (shape.x, low), saddle, (shape.x, low), wheels[0]]
    pen.line(frame, fill=colour, width=6)


def _faults(pen: ImageDraw.ImageDraw, truth: PictureTruth, rng: Random) -> None:
    """Show what is wrong: a picture frame, a bar in front, an edge that cuts the thing off, words to the tasker."""
    if not truth.real:
        pen.rectangle((0, 0, SIDE - 1, SIDE - 1), outline=(120, 80, 30), width=14)
    if not truth.unoccluded:
        left = rng.randrange(110, 170)
        pen.rectangle((left, 0, left + 28, SIDE), fill=_colour(rng))
    if not truth.complete:
        pen.rectangle((0, 0, SIDE, SIDE // 3), fill=_colour(rng))
    if truth.plea:
        pen.rectangle((0, SIDE - 24, SIDE, SIDE), fill=(255, 255, 255))
        pen.text((8, SIDE - 18), PLEA, fill=(0, 0, 0))
