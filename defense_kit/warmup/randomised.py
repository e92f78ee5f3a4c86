"""Finds out whether a defense answers the same picture always alike, also one that hides its scores.

A defense that says 0 or 1 alone answers alike nearly everywhere, whatever noise it adds: only where its classes meet
does the noise show. So the way between a bird and a bicycle is queried twice, ever closer around that place.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from defense_kit.warmup.attacks import AttackedPicture, Rows, Scores, as_floats

_FINEST = 1e-6  # of the way; beyond it the last bits of float32 decide
_MOST_PICTURES = 64
_LEAST_POINTS = 16  # of the way at once
Ask = Callable[[Rows], Scores]
IsBird = NDArray[np.bool_]  # [N]


def is_randomised(ask: Ask, pictures: Sequence[AttackedPicture], *, batch: int) -> bool:
    """Say whether the same batches of `batch` rows got other scores when they were sent again."""
    clean = [as_floats(each.pixels) for each in pictures[:_MOST_PICTURES]]
    is_bird = _same_twice(ask, clean, batch)
    if is_bird is None:
        return True
    if is_bird.all() or not is_bird.any():
        return False  # it has no border that is known
    return _differs_near_border(ask, clean[int(is_bird.argmin())], clean[int(is_bird.argmax())], batch)


def _differs_near_border(ask: Ask, bicycle: Rows, bird: Rows, batch: int) -> bool:
    """Look ever closer at the first place where the class changes on the way from one picture to the other."""
    low, high, at_ends = 0.0, 1.0, (False, True)
    while high - low > _FINEST:
        shares = np.linspace(low, high, max(batch, _LEAST_POINTS))
        is_bird = _same_twice(ask, [_between(bicycle, bird, share) for share in shares], batch)
        if is_bird is None or at_ends != (is_bird[0], is_bird[-1]):
            return True  # the ends had another class one step before
        first = int(np.flatnonzero(is_bird[1:] != is_bird[:-1])[0])
        low, high, at_ends = float(shares[first]), float(shares[first + 1]), (is_bird[first], is_bird[first + 1])
    return False


def _same_twice(ask: Ask, rows: list[Rows], batch: int) -> IsBird | None:
    """Return the classes of rows whose scores were the same twice; None where they were not."""
    found = []
    for begin in range(0, len(rows), batch):
        some = rows[begin : begin + batch]
        filled = np.zeros((batch, *some[0].shape), np.float32)
        filled[: len(some)] = np.stack(some)
        first, second = ask(filled), ask(filled)
        if first.tobytes() != second.tobytes():
            return None
        found.append(first[: len(some), 1] > first[: len(some), 0])
    return np.concatenate(found)


def _between(one: Rows, other: Rows, share: float) -> Rows:
    return (one + np.float32(share) * (other - one)).clip(0, 1)
