"""The contest's attacks and the published ones on pictures of a few values."""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from defense_kit.warmup import boundary, spsa
from defense_kit.warmup.as_published import boundary as published_boundary
from defense_kit.warmup.as_published import spsa as published_spsa
from defense_kit.warmup.attacks import SIDE, AttackedPicture, AttackResult, Rows, Scores
from defense_kit.warmup.methods import OURS, PUBLISHED, Method
from defense_kit.warmup.pictures import LabelledPicture
from defense_kit.warmup.streams import Streams
from tests.defense_kit.warmup.defenses import alone

DOT = np.zeros((SIDE, SIDE, 3), np.uint8)
DOT[92:132, 92:132] = 255
STREAMS = Streams("spsa", bytes(32))
SHAPE = (4, 4, 3)
GREY, BLACK = np.full(SHAPE, 0.5, np.float32), np.zeros(SHAPE, np.float32)
BIRD = AttackedPicture(np.zeros((1, 1, 3), np.uint8), True, bytes(32))
DIRECTION = np.random.default_rng(4).normal(0, 1, SHAPE)
DIRECTION += 0.02 - DIRECTION.mean()  # so that grey is answered rightly


class Code(NamedTuple):
    """The contest's code, or the published one."""

    method: Method
    spsa: ModuleType
    boundary: ModuleType


CONTEST, CODE_OF_2018 = Code(OURS, spsa, boundary), Code(PUBLISHED, published_spsa, published_boundary)


def named(number: int, *, is_bird: bool = True) -> LabelledPicture:
    """A picture without content."""
    return LabelledPicture(f"{number}.png", replace(BIRD, is_bird=is_bird, sha256=bytes([number] * 32)))


def answers(*losses: float) -> Callable[[Rows], Scores]:
    """Answer a bird with these losses, a row each, then with the last one."""
    left = list(losses)

    def classify(rows: Rows) -> Scores:
        found = [left.pop(0) if len(left) > 1 else left[0] for _ in rows]
        return np.array([[0, loss] for loss in found], np.float32)

    return classify


def by_value(rows: Rows) -> Scores:
    """Answer by a linear function of the values; the loss of a bird is that."""
    bird = [float((row.astype(np.float64) * DIRECTION).sum()) for row in rows]
    return np.stack([np.zeros(len(bird)), bird], axis=1).astype(np.float32)


def descended(code: Code, classify: Callable[[Rows], Scores], start: Rows = GREY, **values: Any) -> AttackResult:
    return alone(code.spsa.descend(BIRD, start, STREAMS, **values), classify)
