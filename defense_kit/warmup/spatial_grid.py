"""The grid attack: queries 775 rotations and translations of a picture, and returns the worst."""

from collections.abc import Callable, Sequence

import numpy as np

from defense_kit.warmup.attacks import (
    SIDE,
    Attack,
    AttackedPicture,
    AttackResult,
    MadeRows,
    Query,
    Rows,
    as_floats,
    write_rows,
)
from defense_kit.warmup.moves import bordered, rotated_beyond, shifted

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
    rotated = [as_floats(rotated_beyond(framed, degrees, _MARGIN)) for degrees in DEGREES]

    def moves_from(first: int) -> _Shifted:
        dx, dy, _ = transform_of(first)
        return _Shifted(rotated, dx, dy)

    return (yield from worst_move(of, moves_from, transform_of))


def worst_move(
    of: AttackedPicture, moves_from: Callable[[int], Query], transform_of: Callable[[int], tuple[int, int, int]]
) -> Attack:
    """Return the worst of QUERIES moves: `moves_from` gives len(DEGREES) rows from a number on, and `transform_of` says
    what each is."""
    best, margin, kept = 0, -np.inf, None
    for first in range(0, QUERIES, len(DEGREES)):
        query = moves_from(first)
        scores = yield query
        margins = of.margins(scores)
        worst = int(margins.argmax())  # the first of equal ones
        if kept is None or margins[worst] > margin:
            best, margin, kept = first + worst, margins[worst], (query, worst, scores[worst].copy())
    assert kept is not None
    query, row, found = kept
    picture = np.empty((1, *query.shape[1:]), np.float32)
    write_rows(query, row, picture)
    return AttackResult(picture[0], found, QUERIES, dict(zip(("dx", "dy", "degrees"), transform_of(best), strict=True)))


class _Shifted(MadeRows):
    """The rotated pictures, all shifted by the same pixels."""

    def __init__(self, rotated: Sequence[Rows], dx: int, dy: int) -> None:
        super().__init__((len(rotated), SIDE, SIDE, 3))
        self._rotated, self._shift = rotated, (dx, dy)

    def write(self, first: int, out: Rows) -> None:
        """Write the rows from number `first` on."""
        for row, beyond in zip(out, self._rotated[first : first + len(out)], strict=True):
            row[:] = shifted(beyond, *self._shift)
