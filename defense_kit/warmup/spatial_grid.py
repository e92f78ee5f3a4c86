"""The grid of rotations and translations: each of 775 is queried, and the worst is returned."""

import numpy as np

from defense_kit.warmup.attacks import Attack, AttackedPicture, AttackResult, Rows, as_floats
from defense_kit.warmup.moves import Bytes, bordered, rotated_beyond, shifted

SIDE_INSIDE = 158  # a black border of 33 pixels
SHIFTS = (-18, -9, 0, 9, 18)
DEGREES = tuple(range(-30, 31, 2))
QUERIES = len(SHIFTS) ** 2 * len(DEGREES)
_MARGIN = max(SHIFTS)


def transform_of(index: int) -> tuple[int, int, int]:
    """Return dx, dy and degrees of a number in the grid: dx changes slowest, degrees fastest."""
    shift, turn = divmod(index, len(DEGREES))
    across, down = divmod(shift, len(SHIFTS))
    return SHIFTS[across], SHIFTS[down], DEGREES[turn]


def spatial_grid(of: AttackedPicture) -> Attack:
    """Return the move with the largest margin, the first of equal ones; the first of all where no row is finite."""
    framed = bordered(of.pixels, SIDE_INSIDE)
    rotated = [rotated_beyond(framed, degrees, _MARGIN) for degrees in DEGREES]
    best, margin, kept = 0, -np.inf, None
    for first in range(0, QUERIES, len(DEGREES)):
        dx, dy, _ = transform_of(first)
        scores = yield _floats([shifted(each, dx, dy) for each in rotated])
        margins = of.margins(scores)
        worst = int(margins.argmax())  # the first of equal ones
        if kept is None or margins[worst] > margin:
            best, margin, kept = first + worst, margins[worst], scores[worst].copy()
    assert kept is not None
    return AttackResult(as_floats(_move(rotated, best)), kept, QUERIES, _words(best))


def _floats(pictures: list[Bytes]) -> Rows:
    rows = np.empty((len(pictures), *pictures[0].shape), np.float32)
    for row, picture in zip(rows, pictures, strict=True):
        np.divide(picture, np.float32(255), out=row)  # as `as_floats`
    return rows


def _move(rotated: list[Bytes], index: int) -> Bytes:
    dx, dy, degrees = transform_of(index)
    return shifted(rotated[DEGREES.index(degrees)], dx, dy)


def _words(index: int) -> dict[str, int]:
    return dict(zip(("dx", "dy", "degrees"), transform_of(index), strict=True))
