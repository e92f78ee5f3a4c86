"""Validates and normalises a submitted outline (R11)."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import shapely
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from common.errors import InvalidInput
from labeling.geometry import (
    HUNDREDTHS_PER_PIXEL,
    Box,
    Corner,
    Ring,
    Rings,
    canonical_json,
    doubled_area,
    on_one_line,
    quantise,
    without_repeats,
)

MAX_RINGS = 20
MAX_CORNERS = 1_000
# A corner further away than this is no drawing. The bound keeps every product below 2**53, so that the
# browser's numbers and shapely's doubles are exact for all accepted corners.
MAX_COORDINATE_PX = 100_000

_SHAPE = gettext_lazy("Send the outline as a list of rings, each a list of [x, y] pairs of numbers in image pixels.")


class OutlineError(InvalidInput):
    """An outline that cannot count, with what to change; `ring` counts from 1, None for the whole outline."""

    def __init__(self, message: str, code: str, ring: int | None = None) -> None:
        super().__init__(message, code, field="outline")
        self.ring = ring


@dataclass(frozen=True, slots=True)
class Outline:
    """A checked outline inside its image, in hundredths of a pixel, with its box and canonical JSON."""

    rings: Rings
    box: Box
    json: str


def read_outline(raw: object, *, width: int, height: int) -> Outline:
    """Check, quantise to 0.01 px and clip an outline to a `width` x `height` pixel image (R11).

    Raises OutlineError with a stable code; rings that lie outside are dropped while another is inside. What is returned
    is within all bounds itself: reading it again returns the same.
    """
    numbered = list(enumerate(_quantised(raw), start=1))
    drawn = [(number, _checked(ring, number)) for number, ring in numbered]
    frame = Box(0, 0, width * HUNDREDTHS_PER_PIXEL, height * HUNDREDTHS_PER_PIXEL)
    rings = tuple(part for number, ring in drawn for part in _clipped(ring, frame, number))
    if not rings:
        raise OutlineError(
            _("The outline lies outside the image. Draw it around the object in the image."), "outline_outside"
        )
    _refuse_too_many_inside(rings)
    return Outline(rings, Box.from_rings(rings), canonical_json(rings))


def _quantised(raw: object) -> list[Ring]:
    numbered = enumerate(_check_sizes(raw), start=1)
    return [without_repeats([_corner(pair, number) for pair in ring]) for number, ring in numbered]


def _check_sizes(raw: object) -> Sequence[Sequence[Any]]:
    """Return the rings after checking their number and length, before anything in them is checked."""
    if not isinstance(raw, (list, tuple)):
        raise OutlineError(str(_SHAPE), "outline_shape")
    if not raw:
        raise OutlineError(_("The outline is empty. Draw at least three corners."), "outline_too_few_corners")
    if len(raw) > MAX_RINGS:
        message = _("The outline has %(rings)s rings; %(most)s are the most. Remove the smallest ones.")
        raise OutlineError(message % {"rings": f"{len(raw):,}", "most": MAX_RINGS}, "outline_too_many_corners")
    for number, ring in enumerate(raw, start=1):
        if not isinstance(ring, (list, tuple)):
            message = _("Ring %(number)s is not a list of corners.") % {"number": number}
            raise OutlineError(f"{message} {_SHAPE}", "outline_shape", number)
    _refuse_too_many([len(ring) for ring in raw])
    return raw


def _refuse_too_many(lengths: list[int]) -> None:
    if sum(lengths) > MAX_CORNERS:
        longest = lengths.index(max(lengths)) + 1
        message = _(
            "The outline has %(corners)s corners; %(most)s are the most. Remove corners, first from ring %(ring)s."
        )
        numbers = {"corners": f"{sum(lengths):,}", "most": f"{MAX_CORNERS:,}", "ring": longest}
        raise OutlineError(message % numbers, "outline_too_many_corners", longest)


def _refuse_too_many_inside(rings: Rings) -> None:
    """Check the bounds again: the border may cut one ring into many parts, each with corners of its own."""
    if len(rings) > MAX_RINGS:
        message = _(
            "The border of the image cuts the outline into %(rings)s parts; %(most)s are the most. "
            "Draw along the border instead of across it."
        )
        raise OutlineError(message % {"rings": f"{len(rings):,}", "most": MAX_RINGS}, "outline_too_many_corners")
    _refuse_too_many([len(ring) for ring in rings])


def _corner(pair: object, number: int) -> Corner:
    # The fast path for nearly every corner: two floats within bounds. NaN is never within bounds.
    if type(pair) is list and len(pair) == 2 and type(pair[0]) is type(pair[1]) is float:
        x, y = pair
        if -MAX_COORDINATE_PX <= x <= MAX_COORDINATE_PX and -MAX_COORDINATE_PX <= y <= MAX_COORDINATE_PX:
            return quantise(x), quantise(y)
    if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not all(map(_is_number, pair)):
        message = _("Ring %(number)s has a corner that is not [x, y].") % {"number": number}
        raise OutlineError(f"{message} {_SHAPE}", "outline_shape", number)
    x, y = pair
    if not (math.isfinite(_bounded(x)) and math.isfinite(_bounded(y))):
        message = _("Ring %(number)s has a corner without a finite position. Remove that corner and place it again.")
        raise OutlineError(message % {"number": number}, "outline_non_finite", number)
    if max(abs(_bounded(x)), abs(_bounded(y))) > MAX_COORDINATE_PX:
        message = _("Ring %(number)s has a corner more than %(most)s pixels away. Move it into the image.")
        raise OutlineError(message % {"number": number, "most": f"{MAX_COORDINATE_PX:,}"}, "outline_outside", number)
    return quantise(x), quantise(y)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _bounded(value: int | float) -> int | float:
    """Return the value, limited to just outside the bounds: a huge integer cannot be converted to a float."""
    return max(-MAX_COORDINATE_PX - 1, min(MAX_COORDINATE_PX + 1, value)) if isinstance(value, int) else value


def _checked(ring: Ring, number: int) -> Ring:
    if len(set(ring)) < 3:
        message = _("Ring %(number)s has fewer than three different corners. Add corners or remove the ring.")
        raise OutlineError(message % {"number": number}, "outline_too_few_corners", number)
    if on_one_line(ring):
        message = _("Ring %(number)s encloses nothing: its corners lie on one line. Move a corner off that line.")
        raise OutlineError(message % {"number": number}, "outline_zero_area", number)
    if not _is_simple(ring):
        raise _crossing(number)
    return ring


def _is_simple(ring: Ring) -> bool:
    return bool(shapely.LinearRing(ring).is_simple)


def _crossing(number: int) -> OutlineError:
    message = _("Ring %(number)s crosses or touches itself. Move its corners until no two edges meet.")
    return OutlineError(message % {"number": number}, "outline_self_crossing", number)


def _clipped(ring: Ring, frame: Box, number: int) -> list[Ring]:
    """Return the parts of the ring inside the frame; a ring that needs no clipping stays as drawn."""
    if Box.from_rings([ring]).union(frame) == frame:
        return [ring]
    inside = shapely.Polygon(ring).intersection(shapely.box(frame.xmin, frame.ymin, frame.xmax, frame.ymax))
    parts = [part for polygon in _polygons(inside) for part in _on_grid(polygon, number)]
    return sorted((_turned_like(part, ring) for part in parts), key=lambda part: _start(part, ring))


def _polygons(geometry: shapely.Geometry) -> Iterator[shapely.Polygon]:
    """The parts of a geometry that have an area; touching lines and points fall away."""
    for part in shapely.get_parts(geometry):
        if isinstance(part, shapely.Polygon) and not part.is_empty:
            yield part
        elif isinstance(part, (shapely.MultiPolygon, shapely.GeometryCollection)):
            yield from _polygons(part)


def _on_grid(polygon: shapely.Polygon, number: int) -> list[Ring]:
    """The polygon with corners in whole hundredths. Rounding can make edges meet that only came close."""
    ring = _rounded(polygon)
    if len(ring) < 3 or on_one_line(ring):
        return []
    if _is_simple(ring):
        return [ring]
    repaired = list(_polygons(shapely.set_precision(polygon, 1.0)))
    if any(part.interiors for part in repaired):
        raise _crossing(number)
    rounded = [_rounded(part) for part in repaired]
    return [_checked(part, number) for part in rounded if len(part) >= 3 and not on_one_line(part)]


def _rounded(polygon: shapely.Polygon) -> Ring:
    return without_repeats([(math.floor(x + 0.5), math.floor(y + 0.5)) for x, y in polygon.exterior.coords])


def _turned_like(part: Ring, ring: Ring) -> Ring:
    """The part turned the way the ring was drawn, from the first drawn corner that is left."""
    turned = part if (doubled_area(part) > 0) == (doubled_area(ring) > 0) else part[::-1]
    first = turned.index(_start(part, ring)[1])
    return turned[first:] + turned[:first]


def _start(part: Ring, ring: Ring) -> tuple[int, Corner]:
    """Where a part begins, and its rank among the parts: by the corners as drawn, then by position."""
    left = set(part)
    drawn = next(((index, corner) for index, corner in enumerate(ring) if corner in left), None)
    return drawn or (len(ring), min(part))


def iou_percent(one: str, other: str) -> float | None:
    """Return how much two outlines in canonical JSON overlap: intersection over union, 0 to 100; None without both."""
    if not one or not other:
        return None
    a, b = _area_of(one), _area_of(other)
    union = a.union(b).area
    return 100 * float(a.intersection(b).area) / float(union) if union else None


def _area_of(outline: str) -> shapely.Geometry:
    """Return the union of the rings; where two rings overlap the area counts once."""
    return shapely.union_all([shapely.Polygon(ring) for ring in json.loads(outline)])


def drawn_outline(outline: str) -> str:
    """Return an outline in canonical JSON as the path of an SVG, in pixels of the picture; empty for none."""
    rings = json.loads(outline) if outline else []
    return " ".join("M" + " L".join(f"{x:g},{y:g}" for x, y in ring) + " Z" for ring in rings)
