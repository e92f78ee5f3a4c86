"""The grid of rotations and translations: each of 775 is queried, and the worst is returned."""

from collections.abc import Callable

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

    def moves_from(first: int) -> list[Bytes]:
        dx, dy, _ = transform_of(first)
        return [shifted(each, dx, dy) for each in rotated]

    return worst_move(of, moves_from, transform_of)


def worst_move(
    of: AttackedPicture, moves_from: Callable[[int], list[Bytes]], transform_of: Callable[[int], tuple[int, int, int]]
) -> Attack:
    """Return the worst of QUERIES moves, uint8 [224, 224, 3]: `moves_from` gives len(DEGREES) of them from a number on,
    `transform_of` says what each is."""
    best, margin, kept, picture = 0, -np.inf, None, of.pixels
    for first in range(0, QUERIES, len(DEGREES)):
        moves = moves_from(first)
        scores = yield _floats(moves)
        margins = of.margins(scores)
        worst = int(margins.argmax())  # the first of equal ones
        if kept is None or margins[worst] > margin:
            best, margin, kept, picture = first + worst, margins[worst], scores[worst].copy(), moves[worst]
    assert kept is not None
    words = dict(zip(("dx", "dy", "degrees"), transform_of(best), strict=True))
    return AttackResult(as_floats(picture), kept, QUERIES, words)


def _floats(pictures: list[Bytes]) -> Rows:
    rows = np.empty((len(pictures), *pictures[0].shape), np.float32)
    for row, picture in zip(rows, pictures, strict=True):
        np.divide(picture, np.float32(255), out=row)  # as `as_floats`
    return rows
