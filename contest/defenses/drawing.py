"""The risk-coverage curve as shapes, pure. Both axes begin at zero; the end carries its own label.

Lengths are in the units of the drawing's own box, 364 wide and 208 high, which the page scales to its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from contest.defenses.risk import Point

LEFT, RIGHT, TOP, GROUND = 40, 352, 24, 168
MOST_POINTS = 200


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis: where it is, and what it says."""

    at: float
    text: str
    text_at: float


@dataclass(frozen=True, slots=True)
class Curve:
    """A drawn curve: its path, the marks of both axes, and its last point with its words."""

    path: str
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    end_x: float
    end_y: float
    end_text: str
    end_text_x: float
    end_text_y: float
    end_anchor: str


def curve(points: Sequence[Point]) -> Curve:
    """Draw risk (upwards) over coverage (to the right). There has to be a point."""
    top = _ceiling(max(point.risk for point in points))
    places = [(_across(point.coverage), _upwards(point.risk, top)) for point in _thinned(points)]
    path = "M" + " L".join(f"{x:g},{y:g}" for x, y in places)
    end_x, end_y = places[-1]
    last = points[-1]
    return Curve(
        path,
        tuple(_tick(_across(percent / 100), percent / 100) for percent in (0, 25, 50, 75, 100)),
        tuple(_tick(_upwards(top * part / 2, top), top * part / 2) for part in (0, 1, 2)),
        end_x,
        end_y,
        f"{_percent(last.risk)} at {_percent(last.coverage)}",
        min(end_x + 3, RIGHT) if last.coverage > 0.5 else end_x - 3,
        end_y - 7 if end_y > TOP + 14 else end_y + 16,
        "end" if last.coverage > 0.5 else "start",
    )


def _tick(at: float, share: float) -> Tick:
    return Tick(at, _percent(share), at + 4)


def _across(coverage: float) -> float:
    return round(LEFT + (RIGHT - LEFT) * coverage, 2)


def _upwards(risk: float, top: float) -> float:
    return round(GROUND - (GROUND - TOP) * risk / top, 2)


def _ceiling(most: float) -> float:
    """Return the first of 1, 2, 5, 10, 20, 50 and 100 percent that is not below `most`."""
    return next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if most <= step)


def _percent(share: float) -> str:
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + " %"


def _thinned(points: Sequence[Point]) -> list[Point]:
    """Return at most MOST_POINTS of them, evenly, with the first and the last: a screen shows no more."""
    if len(points) <= MOST_POINTS:
        return list(points)
    step = (len(points) - 1) / (MOST_POINTS - 1)
    return [points[round(number * step)] for number in range(MOST_POINTS)]
