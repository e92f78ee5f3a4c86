"""The published grid: its triples (dx, dy, angle) are read as (angle, dx, dy)."""

import numpy as np

from defense_kit.warmup.as_published.moves import moved
from defense_kit.warmup.attacks import Attack, AttackedPicture, Rows, as_floats
from defense_kit.warmup.moves import bordered
from defense_kit.warmup.spatial_grid import DEGREES, SIDE_INSIDE, transform_of, worst_move


def published_transform_of(index: int) -> tuple[int, int, int]:
    """Return dx, dy and degrees of a number in the grid: degrees change slowest, dy fastest."""
    degrees, dx, dy = transform_of(index)
    return dx, dy, degrees


def spatial_grid(of: AttackedPicture) -> Attack:
    """Return the move with the largest margin, the first of equal ones; the first of all where no row is finite."""
    framed = bordered(of.pixels, SIDE_INSIDE)

    def moves_from(first: int) -> Rows:
        moves = map(published_transform_of, range(first, first + len(DEGREES)))
        return as_floats(np.stack([moved(framed, degrees, dx, dy) for dx, dy, degrees in moves]))

    return (yield from worst_move(of, moves_from, published_transform_of))
