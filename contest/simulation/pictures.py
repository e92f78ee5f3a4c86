"""Simulated pictures without pixels: only the true answers (R1, R12, R14). Pure.

A thing's contour is a circle stretched and dented by a few waves; the shares of what is wrong with a picture are set
so that about 36 % of the birds and 22 % of the bicycles are good, as in the first data set of this kind.
"""

import math
from dataclasses import dataclass
from random import Random

from labeling.enums import Label, Topic
from labeling.geometry import canonical_json, quantise

SIDE = 299
# Shares: a bird alone, a bicycle alone, both, neither.
KINDS = ("bird", "bicycle", "both", "neither")
KIND_WEIGHTS = (48, 37, 5, 10)
LARGE = 0.78  # of the things cover a quarter of the picture
WHOLE = {Label.BIRD: (0.72, 0.70, 0.90), Label.BICYCLE: (0.64, 0.55, 0.82)}  # complete, unoccluded, real
_WAVES = (2, 3, 5)
_DENSE = 24
_FINE = 72


@dataclass(frozen=True, slots=True)
class Shape:
    """A contour around a centre, in pixels: two half axes, and (wave, height, phase) dents."""

    x: float
    y: float
    across: float
    down: float
    waves: tuple[tuple[int, float, float], ...]

    def at(self, turn: float) -> tuple[float, float]:
        """Return the contour's point in the direction `turn`, in radians."""
        dent = 1 + sum(height * math.sin(wave * turn + phase) for wave, height, phase in self.waves)
        return self.x + self.across * dent * math.cos(turn), self.y + self.down * dent * math.sin(turn)

    @property
    def outline(self) -> str:
        """Return the contour as canonical JSON."""
        points = (self.at(2 * math.pi * step / _DENSE) for step in range(_DENSE))
        return canonical_json([[(quantise(round(x, 2)), quantise(round(y, 2))) for x, y in points]])

    @property
    def box_share(self) -> float:
        """Return how much of the picture the box around the contour covers, 0 to 1."""
        points = [self.at(2 * math.pi * step / _FINE) for step in range(_FINE)]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        return (max(xs) - min(xs)) * (max(ys) - min(ys)) / SIDE**2


@dataclass(frozen=True, slots=True)
class PictureTruth:
    """What is true of a picture. `hard` is how hard it is, 1 being usual; without a label there is no shape.

    With `plea` something is written on it that asks taskers to call it good.
    """

    bird: bool
    bicycle: bool
    shape: Shape | None
    complete: bool
    unoccluded: bool
    real: bool
    hard: float
    plea: bool = False

    @property
    def label(self) -> Label | None:
        """Return the class of a picture with exactly one."""
        if self.bird == self.bicycle:
            return None
        return Label.BIRD if self.bird else Label.BICYCLE

    @property
    def valid(self) -> bool:
        """Say whether three people without a fault would make it valid (R13, R14)."""
        large = self.shape is not None and self.shape.box_share >= 0.25
        return large and self.complete and self.unoccluded and self.real

    @property
    def topic(self) -> Topic:
        """Return what the picture tests when it is used as gold."""
        if self.label is None:
            return Topic.BOTH_CLASSES if self.bird else Topic.NEITHER_CLASS
        wrong = [(self.real, Topic.PAINTING), (self.complete, Topic.TRUNCATED), (self.unoccluded, Topic.OCCLUDED)]
        return next((topic for good, topic in wrong if not good), Topic.CLEAR)


def draw_picture(rng: Random) -> PictureTruth:
    """Make up a picture."""
    kind = rng.choices(KINDS, KIND_WEIGHTS)[0]
    hard = rng.lognormvariate(-0.125, 0.5)  # 1 on average
    if kind in ("both", "neither"):
        return PictureTruth(kind == "both", kind == "both", None, True, True, True, hard)
    complete, unoccluded, real = (rng.random() < share for share in WHOLE[Label(kind)])
    shape = _shape(rng, large=rng.random() < LARGE)
    return PictureTruth(kind == "bird", kind == "bicycle", shape, complete, unoccluded, real, hard)


def _shape(rng: Random, *, large: bool) -> Shape:
    across, down = (rng.uniform(88, 112) if large else rng.uniform(35, 60) for _ in range(2))
    waves = tuple((wave, rng.uniform(0.02, 0.09), rng.uniform(0, 2 * math.pi)) for wave in _WAVES)
    room = SIDE / 2 - max(across, down) * 1.27
    x, y = (SIDE / 2 + rng.uniform(-1, 1) * room for _ in range(2))
    return Shape(x, y, across, down, waves)
