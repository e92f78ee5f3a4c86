"""Geometry of the risk-coverage chart: a defense's error rate over the share of pictures it answers. Pure.

Lengths are in the units of the drawing's own box, 364 wide and 208 high, which the page scales to its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from common.charts import Tick
from contest.defenses.risk_coverage import CurvePoint

LEFT, RIGHT, TOP, GROUND = 40, 352, 24, 168
MAX_POINTS = 200
# Of a label: the width of a character, the reach of letters above and below their line, and the gap to the curve.
LETTER, ABOVE, BELOW, GAP = 6.0, 9, 3, 3


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


def curve(points: Sequence[CurvePoint]) -> Curve:
    """Draw risk (upwards) over coverage (to the right). At least one point is required."""
    top = _ceiling(max(point.risk for point in points))
    places = [(_across(point.coverage), _upwards(point.risk, top)) for point in _thinned(points)]
    path = "M" + " L".join(f"{x:g},{y:g}" for x, y in places)
    end_x, end_y = places[-1]
    last = points[-1]
    words = f"{_percent(last.risk)} at {_percent(last.coverage)}"
    leftwards = last.coverage > 0.5
    text_x = min(end_x + 3, RIGHT) if leftwards else end_x - 3
    return Curve(
        path,
        tuple(Tick(_across(percent / 100), _percent(percent / 100)) for percent in (0, 25, 50, 75, 100)),
        tuple(Tick(_upwards(top * part / 2, top), _percent(top * part / 2)) for part in (0, 1, 2)),
        end_x,
        end_y,
        words,
        text_x,
        _text_y(places, _span(text_x, words, leftwards), end_y),
        "end" if leftwards else "start",
    )


_Pair = tuple[float, float]


def _span(text_x: float, words: str, leftwards: bool) -> _Pair:
    """Return the left and the right end of a label."""
    width = LETTER * len(words)
    return (text_x - width, text_x) if leftwards else (text_x, text_x + width)


def _text_y(places: Sequence[_Pair], span: _Pair, end_y: float) -> float:
    """Return the label's baseline that the curve does not cross, nearest to the curve's end, preferably above it.

    Where every line is crossed, the label is above the end, with a rim in the colour of the page.
    """
    taken = [found for pair in _lines(places) if (found := _within(pair, span)) is not None]
    near, far = end_y - 7, end_y + 16
    lines = [near, far, *(float(y) for y in range(TOP + ABOVE, GROUND - BELOW, 4))]
    free = [y for y in lines if y - ABOVE >= TOP and y + BELOW <= GROUND and not _is_taken(y, taken)]
    return min(free, key=lambda y: abs(y - near), default=near if end_y > TOP + 14 else far)


def _lines(places: Sequence[_Pair]) -> list[tuple[_Pair, _Pair]]:
    return list(zip(places, places[1:], strict=False)) or [(places[0], places[0])]


def _within(line: tuple[_Pair, _Pair], span: _Pair) -> _Pair | None:
    """Return the least and the largest height of a line between two places across; None where it has none."""
    (x0, y0), (x1, y1) = line
    first, last = max(x0, span[0]), min(x1, span[1])
    if first > last:
        return None
    if x0 == x1:
        return min(y0, y1), max(y0, y1)
    ends = [y0 + (y1 - y0) * (x - x0) / (x1 - x0) for x in (first, last)]
    return min(ends), max(ends)


def _is_taken(y: float, taken: Sequence[_Pair]) -> bool:
    return any(y - ABOVE - GAP < high_y and low_y < y + BELOW + GAP for low_y, high_y in taken)


def _across(coverage: float) -> float:
    return round(LEFT + (RIGHT - LEFT) * coverage, 2)


def _upwards(risk: float, top: float) -> float:
    return round(GROUND - (GROUND - TOP) * risk / top, 2)


def _ceiling(most: float) -> float:
    """Return the first of 1, 2, 5, 10, 20, 50 and 100 percent that is not below `most`."""
    return next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if most <= step)


def _percent(share: float) -> str:
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + " %"


def _thinned(points: Sequence[CurvePoint]) -> list[CurvePoint]:
    """Return at most MAX_POINTS of them, evenly, with the first and the last: a screen shows no more."""
    if len(points) <= MAX_POINTS:
        return list(points)
    step = (len(points) - 1) / (MAX_POINTS - 1)
    return [points[round(number * step)] for number in range(MAX_POINTS)]
