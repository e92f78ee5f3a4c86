"""Finds out whether a defense answers the same picture always alike, also one that hides its scores.

A defense that says 0 or 1 alone answers alike nearly everywhere, whatever noise it adds: only where its classes meet
does the noise show. So the way between a bird and a bicycle is asked about twice, ever closer around that place.
"""

from collections.abc import Callable, Sequence

import numpy as np

from defense_kit.warmup.attacks import AttackedPicture, Rows, Scores, as_floats

_FINEST = 1e-6  # of the way; beyond it the last bits of float32 decide
Ask = Callable[[Rows], Scores]


def is_randomised(ask: Ask, pictures: Sequence[AttackedPicture], *, batch: int) -> bool:
    """Say whether the same batch of `batch` rows got other scores when it was sent again."""
    if _same_twice(ask, _filled([as_floats(each.pixels) for each in pictures[:batch]], batch)) is None:
        return True
    ends = [next((as_floats(each.pixels) for each in pictures if each.is_bird is bird), None) for bird in (False, True)]
    if ends[0] is None or ends[1] is None or batch < 3:
        return False
    low, high, at_ends = 0.0, 1.0, None
    while high - low > _FINEST:
        shares = np.linspace(low, high, batch)
        scores = _same_twice(ask, _filled([_between(ends[0], ends[1], share) for share in shares], batch))
        if scores is None:
            return True
        is_bird = scores[:, 1] > scores[:, 0]
        if at_ends is not None and at_ends != (is_bird[0], is_bird[-1]):
            return True  # they are the ends of one step before, and had another class there
        turns = np.flatnonzero(is_bird[1:] != is_bird[:-1])
        if not len(turns):
            return False
        first, next_ = turns[0], turns[0] + 1
        low, high, at_ends = float(shares[first]), float(shares[next_]), (is_bird[first], is_bird[next_])
    return False


def _same_twice(ask: Ask, rows: Rows) -> Scores | None:
    """Return the scores of rows that got the same twice; None where they did not."""
    first, second = ask(rows), ask(rows)
    return first if first.tobytes() == second.tobytes() else None


def _filled(rows: list[Rows], batch: int) -> Rows:
    filled = np.zeros((batch, *rows[0].shape), np.float32)
    filled[: len(rows)] = np.stack(rows)
    return filled


def _between(one: Rows, other: Rows, share: float) -> Rows:
    return (one + np.float32(share) * (other - one)).clip(0, 1)
