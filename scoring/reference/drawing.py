"""Schematic bicycles and birds, drawn with NumPy: what the demo defenses are fitted on.

Shapes are given in a unit square (origin top-left, x right, y down) as signed distances, which gives smooth borders
at any size.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from labeling.enums import Label

Field = NDArray[np.float64]
Point = tuple[float, float]
Colour = NDArray[np.float64]


class Canvas:
    """A square picture under way; `fill` paints where a signed distance is negative."""

    def __init__(self, size: int, paint: Field) -> None:
        self.size = size
        self.paint = paint
        steps = (np.arange(size) + 0.5) / size
        self.x, self.y = np.meshgrid(steps, steps)

    def fill(self, distance: Field, colour: Colour) -> None:
        cover = np.clip(0.5 - distance * self.size, 0, 1)[..., None]
        self.paint = self.paint * (1 - cover) + colour * cover

    def line(self, a: Point, b: Point, width: float, colour: Colour) -> None:
        self.fill(self._to_segment(a, b) - width / 2, colour)

    def disc(self, centre: Point, radius: float, colour: Colour) -> None:
        self.fill(np.hypot(self.x - centre[0], self.y - centre[1]) - radius, colour)

    def ring(self, centre: Point, radius: float, width: float, colour: Colour) -> None:
        self.fill(np.abs(np.hypot(self.x - centre[0], self.y - centre[1]) - radius) - width / 2, colour)

    def ellipse(self, centre: Point, radii: Point, angle: float, colour: Colour) -> None:
        dx, dy = self.x - centre[0], self.y - centre[1]
        u = (dx * np.cos(angle) + dy * np.sin(angle)) / radii[0]
        v = (dy * np.cos(angle) - dx * np.sin(angle)) / radii[1]
        self.fill((np.hypot(u, v) - 1) * min(radii), colour)

    def wedge(self, a: Point, b: Point, wide: float, colour: Colour) -> None:
        """A triangle from a base of half width `wide` at `a` to its tip at `b`."""
        length = np.hypot(b[0] - a[0], b[1] - a[1])
        ux, uy = (b[0] - a[0]) / length, (b[1] - a[1]) / length
        along = (self.x - a[0]) * ux + (self.y - a[1]) * uy
        across = np.abs((self.y - a[1]) * ux - (self.x - a[0]) * uy)
        self.fill(np.maximum(across - wide * (1 - along / length), np.maximum(-along, along - length)), colour)

    def _to_segment(self, a: Point, b: Point) -> Field:
        dx, dy = b[0] - a[0], b[1] - a[1]
        along = ((self.x - a[0]) * dx + (self.y - a[1]) * dy) / max(dx * dx + dy * dy, 1e-9)
        along = np.clip(along, 0, 1)
        return np.hypot(self.x - a[0] - along * dx, self.y - a[1] - along * dy)


def draw(label: Label | None, rng: np.random.Generator, size: int) -> NDArray[np.uint8]:
    """Return one random picture uint8 [size, size, 3] of `label`; of neither class for None."""
    canvas = _scene(rng, size)
    if label is not None:
        _FIGURES[label](canvas, rng)
    picture = canvas.paint[:, ::-1] if rng.random() < 0.5 else canvas.paint
    picture = picture * rng.uniform(0.7, 1.2) + rng.normal(0, rng.uniform(0, 0.04), picture.shape)
    return np.round(np.clip(picture, 0, 1) * 255).astype(np.uint8)


def _scene(rng: np.random.Generator, size: int) -> Canvas:
    """A ground of two colours with soft blotches, and sometimes stripes: sky, wall, leaves, road."""
    top, bottom = _colour(rng), _colour(rng)
    fade = np.clip((np.arange(size) / size - rng.uniform(0.2, 0.9)) / rng.uniform(0.02, 0.8) + 0.5, 0, 1)
    ground = top + (bottom - top) * fade[:, None, None] + np.zeros((size, size, 1))
    for cells in (3, 7, 15):
        ground = ground + _blotches(rng, size, cells) * rng.uniform(0, 0.12)
    canvas = Canvas(size, ground)
    for _ in range(int(rng.integers(0, 9)) if rng.random() < 0.5 else 0):
        start, end = rng.uniform(-0.1, 1.1, 2), rng.uniform(-0.1, 1.1, 2)
        canvas.line(tuple(start), tuple(end), rng.uniform(0.005, 0.05), _near(rng, top))
    return canvas


def _blotches(rng: np.random.Generator, size: int, cells: int) -> Field:
    coarse = rng.normal(0, 1, (cells + 1, cells + 1, 3))
    at = np.linspace(0, cells - 1e-6, size)
    low, part = at.astype(int), at % 1
    rows = coarse[low] * (1 - part)[:, None, None] + coarse[low + 1] * part[:, None, None]
    mixed: Field = rows[:, low] * (1 - part)[None, :, None] + rows[:, low + 1] * part[None, :, None]
    return mixed


def _colour(rng: np.random.Generator) -> Colour:
    grey = rng.uniform(0.1, 0.95)
    return np.clip(grey + rng.normal(0, rng.uniform(0.02, 0.2), 3), 0, 1)


def _near(rng: np.random.Generator, colour: Colour) -> Colour:
    return np.clip(colour + rng.normal(0, 0.15, 3), 0, 1)


def _contrasting(rng: np.random.Generator, canvas: Canvas) -> Colour:
    behind = canvas.paint[canvas.size // 3 : -canvas.size // 3].mean(axis=(0, 1))
    colours = [_colour(rng) for _ in range(6)]
    return max(colours, key=lambda colour: float(np.abs(colour - behind).sum()))


def _bicycle(canvas: Canvas, rng: np.random.Generator) -> None:
    radius, width = rng.uniform(0.13, 0.2), rng.uniform(0.012, 0.03)
    middle, ground = rng.uniform(0.45, 0.55), rng.uniform(0.68, 0.9)
    apart, tilt = radius * rng.uniform(2.5, 3.0) / 2, rng.normal(0, 0.03)
    back, front = (middle - apart, ground - radius), (middle + apart, ground - radius + tilt)
    tyre, frame = _contrasting(rng, canvas), _contrasting(rng, canvas)
    _wheels(canvas, rng, (back, front), radius, width, tyre)
    pedals = (middle - 0.1 * apart, ground - radius * 0.9)
    saddle = (middle - 0.45 * apart, ground - radius * rng.uniform(2.3, 2.8))
    head = (middle + 0.6 * apart, ground - radius * rng.uniform(2.2, 2.7))
    for a, b in ((back, pedals), (back, saddle), (pedals, saddle), (pedals, head), (saddle, head), (head, front)):
        canvas.line(a, b, width, frame)
    canvas.line((saddle[0] - 0.04, saddle[1]), (saddle[0] + 0.04, saddle[1]), 2 * width, tyre)
    bar = (head[0] + rng.uniform(-0.03, 0.03), head[1] - rng.uniform(0.03, 0.07))
    canvas.line(head, bar, width, frame)
    canvas.line(bar, (bar[0] + rng.uniform(0.03, 0.07), bar[1] + rng.uniform(-0.03, 0.03)), width, tyre)
    canvas.disc(pedals, radius * 0.25, frame)


def _wheels(
    canvas: Canvas, rng: np.random.Generator, hubs: tuple[Point, Point], radius: float, width: float, colour: Colour
) -> None:
    spokes = int(rng.integers(0, 9))
    for x, y in hubs:
        canvas.ring((x, y), radius, width * 1.3, colour)
        for angle in np.arange(spokes) * np.pi / max(spokes, 1):
            dx, dy = radius * np.cos(angle), radius * np.sin(angle)
            canvas.line((x - dx, y - dy), (x + dx, y + dy), 0.004, _near(rng, colour))


def _bird(canvas: Canvas, rng: np.random.Generator) -> None:
    long = rng.uniform(0.17, 0.28)
    wide, angle = long * rng.uniform(0.5, 0.75), rng.uniform(-1.1, 0.1)
    x, y = rng.uniform(0.42, 0.58), rng.uniform(0.42, 0.6)
    ux, uy = np.cos(angle), np.sin(angle)
    plumage = _contrasting(rng, canvas)
    breast, wing = _near(rng, plumage), _near(rng, plumage * rng.uniform(0.5, 1.2))
    _perch(canvas, rng, (x, y), wide)
    tail = (x - ux * long * rng.uniform(1.6, 2.2), y - uy * long * rng.uniform(1.4, 2.0))
    canvas.line((x - ux * long * 0.6, y - uy * long * 0.6), tail, wide * rng.uniform(0.3, 0.7), wing)
    canvas.ellipse((x, y), (long, wide), angle, plumage)
    canvas.ellipse((x + 0.1 * long, y + 0.25 * wide), (long * 0.7, wide * 0.6), angle, breast)
    canvas.ellipse((x - 0.2 * long * ux, y - 0.1 * wide), (long * 0.7, wide * 0.45), angle + 0.15, wing)
    head, size = (x + ux * long * 0.95, y + uy * long * 0.95 - 0.02), wide * rng.uniform(0.5, 0.75)
    _head(canvas, rng, head, size, plumage)


def _head(canvas: Canvas, rng: np.random.Generator, at: Point, size: float, plumage: Colour) -> None:
    canvas.disc(at, size, plumage)
    down = rng.uniform(-0.2, 0.35)
    tip = (at[0] + size * rng.uniform(1.5, 2.3), at[1] + size * down)
    canvas.wedge((at[0] + size * 0.8, at[1]), tip, size * rng.uniform(0.2, 0.4), _contrasting(rng, canvas))
    canvas.disc((at[0] + size * 0.35, at[1] - size * 0.2), size * 0.2, np.full(3, rng.uniform(0, 0.2)))


def _perch(canvas: Canvas, rng: np.random.Generator, body: Point, wide: float) -> None:
    """Legs, and mostly something to stand on."""
    foot = body[1] + wide * rng.uniform(1.2, 1.8)
    colour = _colour(rng)
    if rng.random() < 0.7:
        lean = rng.uniform(-0.15, 0.15)
        canvas.line((-0.1, foot - lean), (1.1, foot + lean), rng.uniform(0.015, 0.08), colour)
    for aside in (-0.03, 0.03):
        canvas.line((body[0] + aside, body[1] + wide * 0.7), (body[0] + aside, foot), 0.012, _near(rng, colour))


_FIGURES: dict[Label, Callable[[Canvas, np.random.Generator], None]] = {
    Label.BICYCLE: _bicycle,
    Label.BIRD: _bird,
}
