"""The files of a release that follow from its other rows: `tasker_data.csv` and `annotations.coco.json` (R39).

Pure. The exporter writes with these functions and the verifier writes both files anew, to compare them byte by byte.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from adjudication.release_format import RULE_BOOK_VERSION, picture_file
from labeling.enums import Answer, Label
from labeling.geometry import Box, Ring, Rings, doubled_area, pixels

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
_LONG_ID_DIGITS = 16
_YES = (Answer.DEFINITELY_YES, Answer.UNSURE_YES)
_CATEGORIES = {Label.BICYCLE: 1, Label.BIRD: 2}
# Twice an area in square hundredths of a pixel, per square pixel.
_DOUBLED_UNITS = 2 * 100 * 100


@dataclass(frozen=True, slots=True)
class Picture:
    """An image, and what its newest ruling says: `label` is None unless that is valid; `panel` the panel it counted."""

    image_id: str
    sha256_pixels: str
    width: int
    height: int
    label: Label | None = None
    panel: int | None = None


class Counted(NamedTuple):
    """One counted response."""

    response_id: int
    panel: int
    tasker_id: str
    bird: str
    bicycle: str
    box: Box | None
    complete: bool | None
    unoccluded: bool | None
    real: bool | None
    rings: Rings


def tasker_data_row(picture: Picture, responses: Sequence[Counted]) -> list[str] | None:
    """Return the picture's row of 23 cells, taskers by response id; None unless exactly three responses counted."""
    if len(responses) != TASKERS_IN_A_ROW:
        return None
    folder = _folder(responses)
    long_id = f"/{folder}/{picture.sha256_pixels[:_LONG_ID_DIGITS]}.png"
    answers = [cell for response in responses for cell in _tasker_cells(response)]
    return [picture_file(picture.sha256_pixels), long_id, *answers]


def _folder(responses: Sequence[Counted]) -> Label:
    """The class more taskers see: the original sorted its candidates into one folder per class beforehand."""
    birds = sum(response.bird in _YES for response in responses)
    bicycles = sum(response.bicycle in _YES for response in responses)
    return Label.BIRD if birds >= bicycles else Label.BICYCLE


def _tasker_cells(response: Counted) -> list[str]:
    statements = (response.complete, response.unoccluded, response.real)
    flags = ("" if said is None else "TRUE" if said else "FALSE" for said in statements)
    return [response.tasker_id, response.bird, response.bicycle, _box_json(response.box), *flags]


def _box_json(box: Box | None) -> str:
    """The box in pixels; an empty object where there is none, because the original's reader parses every cell."""
    if box is None:
        return "{}"
    sides = {"x": box.xmin, "y": box.ymin, "width": box.xmax - box.xmin, "height": box.ymax - box.ymin}
    return "{" + ", ".join(f'"{name}": {pixels(side)}' for name, side in sides.items()) + "}"


def coco_file(
    week: str, valid: Iterable[Picture], responses: Iterable[tuple[Picture, Sequence[Counted]]]
) -> Iterator[str]:
    """Yield `annotations.coco.json` piece by piece: one annotation per outline a ruling of valid counted.

    `valid` are the valid pictures by image id; `responses` goes through any pictures in the same order.
    """
    info = {"description": f"Outlines of the valid images of {week}", "version": RULE_BOOK_VERSION}
    categories = [{"id": number, "name": label.value} for label, number in _CATEGORIES.items()]
    yield f'{{"info": {json.dumps(info)},\n"categories": {json.dumps(categories)},\n"images": ['
    yield from _in_lines(_coco_image(number, picture) for number, picture in enumerate(valid, start=1))
    yield '],\n"annotations": ['
    yield from _in_lines(_annotations(responses))
    yield "]}\n"


def _in_lines(items: Iterable[str]) -> Iterator[str]:
    for number, item in enumerate(items):
        yield f",\n{item}" if number else f"\n{item}"


def _coco_image(number: int, picture: Picture) -> str:
    file = picture_file(picture.sha256_pixels)
    return (
        f'{{"id": {number}, "file_name": "{file}", "width": {picture.width}, "height": {picture.height}, '
        f'"image_id": "{picture.image_id}"}}'
    )


def _annotations(responses: Iterable[tuple[Picture, Sequence[Counted]]]) -> Iterator[str]:
    number = 0
    for picture, counted in responses:
        if picture.label is None:
            continue
        number += 1
        for each in counted:
            if each.box is not None and each.panel == picture.panel:
                yield _annotation(number, picture.label, each, each.box)


def _annotation(image: int, label: Label, response: Counted, box: Box) -> str:
    polygons = ", ".join(_polygon(ring) for ring in response.rings)
    sides = (box.xmin, box.ymin, box.xmax - box.xmin, box.ymax - box.ymin)
    return (
        f'{{"id": {response.response_id}, "image_id": {image}, "category_id": {_CATEGORIES[label]}, '
        f'"segmentation": [{polygons}], "area": {_area(response.rings)}, '
        f'"bbox": [{", ".join(map(pixels, sides))}], "iscrowd": 0, "tasker_id": "{response.tasker_id}"}}'
    )


def _polygon(ring: Ring) -> str:
    return "[" + ", ".join(f"{pixels(x)}, {pixels(y)}" for x, y in ring) + "]"


def _area(rings: Rings) -> str:
    """The areas of the rings added up, in square pixels, exact to five decimals."""
    doubled = sum(abs(doubled_area(ring)) for ring in rings)
    whole, rest = divmod(doubled, _DOUBLED_UNITS)
    return f"{whole}.{rest * (100_000 // _DOUBLED_UNITS):05d}" if rest else str(whole)
