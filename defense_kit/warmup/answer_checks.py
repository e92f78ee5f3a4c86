"""Checks of a defense beside the attacks: whether equal pictures get equal scores, and whether small changes of a
picture change its scores at all.

A defense that says 0 or 1 alone answers alike nearly everywhere, whatever noise it adds: only where its classes meet
does the noise show. So the way between a bird and a bicycle is queried twice, ever closer around that place.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from defense_kit.warmup.attacks import AttackedPicture, Rows, Scores, as_floats
from defense_kit.warmup.spsa import DELTA
from defense_kit.warmup.streams import Purpose, Streams

_FINEST = 1e-6  # of the way; beyond it the last bits of float32 decide
_MAX_PICTURES = 64
_MIN_POINTS = 16  # of the way at once
Ask = Callable[[Rows], Scores]
IsBird = NDArray[np.bool_]  # [N]


@dataclass(frozen=True, slots=True)
class AnswerChecks:
    """What the checks found: whether the same batches got other scores at once, or after an attack; of how many clean
    pictures small changes left all scores the same, and how many were tried."""

    randomised: bool
    changed: bool
    flat: int
    tried: int


def clean_scores(ask: Ask, pictures: Sequence[AttackedPicture], *, batch: int) -> Scores:
    """Return the scores of the first clean pictures [N, 2], at most 64, from batches of `batch` rows."""
    return _scores(ask, [as_floats(each.pixels) for each in pictures[:_MAX_PICTURES]], batch)


def is_randomised(ask: Ask, pictures: Sequence[AttackedPicture], *, batch: int) -> bool:
    """Say whether the same batches of `batch` rows got other scores when they were sent again."""
    clean = [as_floats(each.pixels) for each in pictures[:_MAX_PICTURES]]
    rows = [*clean, *_plain_colours(clean[0].shape)]
    is_bird = _same_twice(ask, rows, batch)
    if is_bird is None:
        return True
    if is_bird.all() or not is_bird.any():
        return False  # it has no border that is known
    return _differs_near_border(ask, rows[int(is_bird.argmin())], rows[int(is_bird.argmax())], batch)


def flat_pictures(ask: Ask, pictures: Sequence[AttackedPicture], *, batch: int) -> tuple[int, int]:
    """Return how many of the first clean pictures get exactly the same scores when SPSA's first direction is added to
    them and taken away, and how many were tried. Scores that are not finite are no flat ones."""
    tried = pictures[:_MAX_PICTURES]
    scores = _scores(ask, itertools.chain.from_iterable(map(_with_probes, tried)), batch).reshape(len(tried), -1, 2)
    is_flat = np.isfinite(scores).all(axis=(1, 2)) & (scores == scores[:, :1]).all(axis=(1, 2))
    return int(is_flat.sum()), len(tried)


def _with_probes(of: AttackedPicture) -> Iterator[Rows]:
    """Yield a clean picture, and the first pair of probes that SPSA would query around it."""
    clean, streams = as_floats(of.pixels), Streams("spsa", of.sha256)
    signs = streams.float_signs(Purpose.SPSA_SIGNS, clean.size, float(DELTA), step=1, index=0).reshape(clean.shape)
    return iter([clean, (clean + signs).clip(0, 1), (clean - signs).clip(0, 1)])


def _plain_colours(shape: tuple[int, ...]) -> list[Rows]:
    """Return a picture of each colour whose parts are 0 or 1: a defense that answers all pictures of the set with one
    class may answer one of these with the other."""
    colours = itertools.product((0, 1), repeat=shape[-1])
    return [np.broadcast_to(np.array(each, np.float32), shape) for each in colours]


def _differs_near_border(ask: Ask, bicycle: Rows, bird: Rows, batch: int) -> bool:
    """Look ever closer at the first place where the class changes on the way from one picture to the other."""
    low, high, at_ends = 0.0, 1.0, (False, True)
    while high - low > _FINEST:
        shares = np.linspace(low, high, max(batch, _MIN_POINTS))
        is_bird = _same_twice(ask, [_between(bicycle, bird, share) for share in shares], batch)
        if is_bird is None or at_ends != (is_bird[0], is_bird[-1]):
            return True  # the ends had another class one step before
        first = int(np.flatnonzero(is_bird[1:] != is_bird[:-1])[0])
        low, high, at_ends = float(shares[first]), float(shares[first + 1]), (is_bird[first], is_bird[first + 1])
    return False


def _same_twice(ask: Ask, rows: Iterable[Rows], batch: int) -> IsBird | None:
    """Return the classes of rows whose scores were the same twice; None where they were not."""
    found = []
    for some, filled in _batches(rows, batch):
        first, second = ask(filled), ask(filled)
        if first.tobytes() != second.tobytes():
            return None
        found.append(first[:some, 1] > first[:some, 0])
    return np.concatenate(found)


def _scores(ask: Ask, rows: Iterable[Rows], batch: int) -> Scores:
    return np.concatenate([ask(filled)[:some] for some, filled in _batches(rows, batch)])


def _batches(rows: Iterable[Rows], batch: int) -> Iterator[tuple[int, Rows]]:
    """Yield how many rows of each batch count, and the whole batch, filled up with zeros."""
    left = iter(rows)
    while some := list(itertools.islice(left, batch)):
        filled = np.zeros((batch, *some[0].shape), np.float32)
        filled[: len(some)] = np.stack(some)
        yield len(some), filled


def _between(one: Rows, other: Rows, share: float) -> Rows:
    return (one + np.float32(share) * (other - one)).clip(0, 1)
