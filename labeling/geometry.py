"""Outline geometry in integers: hundredths of a pixel, origin top-left, y down (R11).

Everything a verdict depends on is decided here without floats, so that 25 % is never a matter of rounding.
Standard library only: the standalone verifier of a release works with this module.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

Corner: TypeAlias = tuple[int, int]
Ring: TypeAlias = tuple[Corner, ...]
Rings: TypeAlias = tuple[Ring, ...]

HUNDREDTHS_PER_PIXEL = 100

# Far below the size at which the spacing of doubles exceeds a hundredth.
_SHORT_WAY_BELOW = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Box:
    """An upright rectangle, sides in hundredths of a pixel; a side of zero is possible."""

    xmin: int
    ymin: int
    xmax: int
    ymax: int

    @property
    def area(self) -> int:
        """Area in square hundredths of a pixel: 10,000 to the square pixel."""
        return (self.xmax - self.xmin) * (self.ymax - self.ymin)

    @classmethod
    def from_rings(cls, rings: Iterable[Sequence[Corner]]) -> "Box":
        """The smallest box around all corners; ValueError when there are none."""
        corners = [corner for ring in rings for corner in ring]
        if not corners:
            raise ValueError("A box needs at least one corner.")
        xs, ys = zip(*corners, strict=True)
        return cls(min(xs), min(ys), max(xs), max(ys))

    def union(self, other: "Box") -> "Box":
        """The smallest box around both."""
        return Box(
            min(self.xmin, other.xmin),
            min(self.ymin, other.ymin),
            max(self.xmax, other.xmax),
            max(self.ymax, other.ymax),
        )


def quantise(value: int | float | Decimal) -> int:
    """Pixels to whole hundredths, halves towards plus infinity (R11); ValueError when not finite.

    A float counts as its shortest decimal representation: 1.005 is read as 1.005 and becomes 101,
    although its binary value is smaller. The browser does the same with the same digits.
    """
    if isinstance(value, int):
        return value * HUNDREDTHS_PER_PIXEL
    if not math.isfinite(value):
        raise ValueError("A coordinate must be a finite number.")
    if isinstance(value, float) and abs(value) < _SHORT_WAY_BELOW:
        nearest = round(value * HUNDREDTHS_PER_PIXEL)
        if nearest / HUNDREDTHS_PER_PIXEL == value:  # shortcut for at most two decimals, as usual
            return nearest
    exact = Fraction(repr(value) if isinstance(value, float) else value)
    return math.floor(exact * HUNDREDTHS_PER_PIXEL + Fraction(1, 2))


def doubled_area(ring: Sequence[Corner]) -> int:
    """Twice the signed area in square hundredths (shoelace); positive when drawn clockwise on the screen."""
    following = zip(ring, (*ring[1:], *ring[:1]), strict=True)
    return sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in following)


def without_repeats(ring: Sequence[Corner]) -> Ring:
    """The ring without corners that repeat the one before, and without a closing copy of the first."""
    kept = tuple(corner for index, corner in enumerate(ring) if index == 0 or corner != ring[index - 1])
    while len(kept) > 1 and kept[-1] == kept[0]:
        kept = kept[:-1]
    return kept


def on_one_line(ring: Sequence[Corner]) -> bool:
    """Whether all corners lie on one straight line, so that nothing is enclosed."""
    x0, y0 = ring[0]
    far = next(((x - x0, y - y0) for x, y in ring if (x, y) != (x0, y0)), (0, 0))
    return all((x - x0) * far[1] == (y - y0) * far[0] for x, y in ring)


def coordinate_text(hundredths: int) -> str:
    """A coordinate in pixels with as few digits as it needs: 1250 is "12.5", 300 is "3"."""
    whole, rest = divmod(abs(hundredths), HUNDREDTHS_PER_PIXEL)
    sign = "-" if hundredths < 0 else ""
    return f"{sign}{whole}.{rest:02d}".rstrip("0").rstrip(".") if rest else f"{sign}{whole}"


def canonical_json(rings: Iterable[Sequence[Corner]]) -> str:
    """The one way to write an outline: rings of [x,y] in pixels, orientation and first corner as drawn."""
    written = (",".join(f"[{coordinate_text(x)},{coordinate_text(y)}]" for x, y in ring) for ring in rings)
    return "[" + ",".join(f"[{ring}]" for ring in written) + "]"
