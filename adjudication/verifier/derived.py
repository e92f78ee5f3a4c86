"""Writes the derived files of a release, `tasker_data.csv` and `annotations.coco.json` (R39).

Pure. The exporter writes both files with these functions, and the verifier writes them again to compare them byte by
byte. COCO is the annotation format of the dataset Common Objects in Context.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import fsum
from operator import mul
from typing import NamedTuple

from adjudication.schema.release_format import picture_file
from labeling.enums import Answer, Label
from labeling.geometry import HUNDREDTHS_PER_PIXEL, Box, coordinate_text

# The original layout is defined for three taskers.
TASKERS_IN_A_ROW = 3
_ANSWERS = (
    "worker_id",
    "bird_label",
    "bicycle_label",
    "bounding_box_json",
    "is_not_truncated",
    "is_not_occluded",
    "is_not_depiction",
)
TASKER_DATA_HEADINGS = (
    ["image", "", *(cell for number in (1, 2, 3) for cell in (f"tasker {number}", *[""] * (len(_ANSWERS) - 1)))],
    ["url", "long_image_id", *_ANSWERS * TASKERS_IN_A_ROW],
)
# Identifiers of the original dataset have this many hexadecimal digits, and its reader insists on it.
LONG_ID_DIGITS = 16
YES = (Answer.DEFINITELY_YES, Answer.UNSURE_YES)
CATEGORIES = {Label.BICYCLE: 1, Label.BIRD: 2}
# Twice the area of an outline is a whole number of square hundredths of a pixel.
AREA_UNITS = 2 * HUNDREDTHS_PER_PIXEL**2


class ReleasedPicture(NamedTuple):
    """An image with its newest ruling: `label` is None unless that is valid; `counted` are the ids of the responses
    that it counted, None without a ruling."""

    image_id: str
    sha256_pixels: str
    width: int
    height: int
    label: Label | None = None
    counted: frozenset[int] | None = None

    def heard(self, responses: Sequence["CountedResponse"]) -> Sequence["CountedResponse"]:
        """Return the responses that the ruling in force counted, not always all: a picture may have several panels,
        or one that more taskers joined (R19). Without a ruling return all."""
        return responses if self.counted is None else [each for each in responses if each.response_id in self.counted]


class CountedResponse(NamedTuple):
    """One counted response. `outline` is the published text, empty without one; the box goes with it."""

    response_id: int
    panel: int
    tasker_id: str
    bird: str
    bicycle: str
    box: Box | None
    complete: bool | None
    unoccluded: bool | None
    real: bool | None
    outline: str


def tasker_data_row(picture: ReleasedPicture, responses: Sequence[CountedResponse]) -> list[str] | None:
    """Return the picture's row of 23 cells, taskers by response id; None unless exactly three responses counted."""
    heard = picture.heard(responses)
    if len(heard) != TASKERS_IN_A_ROW:
        return None
    folder = _folder(heard)
    long_id = f"/{folder}/{picture.sha256_pixels[:LONG_ID_DIGITS]}.png"
    answers = [cell for response in heard for cell in _tasker_cells(response)]
    return [picture_file(picture.sha256_pixels), long_id, *answers]


def _folder(responses: Sequence[CountedResponse]) -> Label:
    """The class that more taskers see: the original dataset's candidates were sorted into one folder per class."""
    birds = sum(response.bird in YES for response in responses)
    bicycles = sum(response.bicycle in YES for response in responses)
    return Label.BIRD if birds >= bicycles else Label.BICYCLE


_FLAGS = {None: "", True: "TRUE", False: "FALSE"}


def _tasker_cells(response: CountedResponse) -> list[str]:
    _, _, tasker, bird, bicycle, box, complete, unoccluded, real, _ = response
    return [tasker, bird, bicycle, _box_json(box), _FLAGS[complete], _FLAGS[unoccluded], _FLAGS[real]]


def _box_json(box: Box | None) -> str:
    """The box in pixels; an empty object where there is none, because the original's reader parses every cell."""
    if box is None:
        return "{}"
    x, y, width, height = _sides(box)
    return f'{{"x": {x}, "y": {y}, "width": {width}, "height": {height}}}'


def _sides(box: Box) -> tuple[str, str, str, str]:
    """Left, top, width and height in pixels."""
    left, top, right, bottom = box.xmin, box.ymin, box.xmax, box.ymax
    return _pixels(left), _pixels(top), _pixels(right - left), _pixels(bottom - top)


_pixels = lru_cache(1 << 15)(coordinate_text)  # equal sides repeat often


def outline_sides(outline: str) -> list[int]:
    """Return xmin, ymin, xmax, ymax of the smallest box around an outline in hundredths of a pixel.

    Exact: a published coordinate has at most eleven digits, and a float keeps fifteen apart.
    """
    numbers = list(map(float, outline[3:-3].replace("]],[[", ",").replace("],[", ",").split(",")))
    xs, ys = sorted(numbers[0::2]), sorted(numbers[1::2])
    return [round(side * HUNDREDTHS_PER_PIXEL) for side in (xs[0], ys[0], xs[-1], ys[-1])]


def _numbers(outline: str) -> list[tuple[list[float], list[float]]]:
    """Return (x of every corner, y of every corner) for each ring, in pixels.

    Parsed by hand, because a JSON parser takes three times as long, and a release has a hundred thousand outlines.
    """
    rings = [ring.replace("],[", ",").split(",") for ring in outline[3:-3].split("]],[[")]
    return [(list(map(float, ring[0::2])), list(map(float, ring[1::2]))) for ring in rings]


def coco_head(week: str, rule_book: str, valid: Iterable[ReleasedPicture]) -> Iterator[str]:
    """Yield `annotations.coco.json` up to its annotations. `valid` are the valid pictures by image id."""
    info = {"description": f"Outlines of the valid images of {week}", "version": rule_book}
    categories = [{"id": number, "name": label.value} for label, number in CATEGORIES.items()]
    yield f'{{"info": {json.dumps(info)},\n"categories": {json.dumps(categories)},\n"images": ['
    for number, picture in enumerate(valid, start=1):
        yield f"{',' if number > 1 else ''}\n{_coco_image(number, picture)}"
    yield '],\n"annotations": ['


COCO_TAIL = "]}\n"


class Annotations:
    """The annotations, in the order of image ids: one for each outline that a ruling of valid counted."""

    def __init__(self) -> None:
        self._pictures = 0
        self._comma = ""

    def of(self, picture: ReleasedPicture, responses: Sequence[CountedResponse]) -> str:
        """Return the lines of one picture with all its counted responses; nothing unless it is valid."""
        if picture.label is None:
            return ""
        self._pictures += 1
        lines = []
        for each in picture.heard(responses):
            if each.box is not None:
                annotation = _annotation(self._pictures, CATEGORIES[picture.label], each, each.box)
                lines.append(f"{self._comma}\n{annotation}")
                self._comma = ","
        return "".join(lines)


def _coco_image(number: int, picture: ReleasedPicture) -> str:
    file = picture_file(picture.sha256_pixels)
    return (
        f'{{"id": {number}, "file_name": "{file}", "width": {picture.width}, "height": {picture.height}, '
        f'"image_id": "{picture.image_id}"}}'
    )


def _annotation(image: int, category: int, response: CountedResponse, box: Box) -> str:
    # Without the brackets around its corners, a ring is what COCO calls a polygon.
    outline = response.outline
    polygons = outline.replace("],[", ",")[1:-1]
    return (
        f'{{"id": {response.response_id}, "image_id": {image}, "category_id": {category}, '
        f'"segmentation": {polygons}, "area": {_area(outline)}, '
        f'"bbox": [{",".join(_sides(box))}], "iscrowd": 0, "tasker_id": "{response.tasker_id}"}}'
    )


def _area(outline: str) -> str:
    """Return the sum of the rings' areas, in square pixels.

    Exact: twice an area is a whole number of square hundredths. The rounded products of 1,000 corners in a
    picture of 4,096 pixels are together less than a fifth of one away from that, and `fsum` rounds once. `sum` is one
    off for some outlines in the far corner, before Python 3.12.
    """
    doubled = 0.0
    for xs, ys in _numbers(outline):
        doubled += abs(fsum(map(mul, xs, ys[1:] + ys[:1])) - fsum(map(mul, ys, xs[1:] + xs[:1])))
    whole, rest = divmod(round(doubled / 2 * AREA_UNITS), AREA_UNITS)
    return f"{whole}.{rest * 5:05d}" if rest else str(whole)
