"""The deterministic batch plan of a run (R29). Pure.

A batch always has `batch_size` rows, the last one padded, because the same picture may get other numbers in a batch
of another size. The order is drawn for each run, so that each round gives a picture other companions. It is
never drawn from the seed that a defense gets, which could compute a picture's place from it. The drawn order is
recorded as the items' positions: a plan can be repeated without drawing it again.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlannedBatch(Generic[T]):
    """One batch: `rows` has always the full size, and only the first `real` of them are answers that count."""

    number: int
    rows: tuple[T, ...]
    real: int


def permuted(pictures: Sequence[T], *, seed: int) -> list[T]:
    """Return `pictures` in the order drawn by `seed`; the same pictures and seed give the same order."""
    order = list(pictures)
    random.Random(seed).shuffle(order)
    return order


def picture_batches(pictures: Sequence[T], *, batch_size: int) -> Iterator[PlannedBatch[T]]:
    """Yield `pictures` in order as batches of exactly `batch_size` rows, numbered from 0.

    The last one is padded with pictures from the beginning of the same run, so that a defense meets nothing there
    that it would not meet anyway.
    """
    for number, start in enumerate(range(0, len(pictures), batch_size)):
        own = pictures[start : start + batch_size]
        padding = islice(cycle(pictures), batch_size - len(own))
        yield PlannedBatch(number, (*own, *padding), len(own))
