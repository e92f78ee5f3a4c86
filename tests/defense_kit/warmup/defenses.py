"""Defenses and pictures for tests of the warm-up, in this process."""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from defense_kit.protocol import BatchAnswers
from defense_kit.shared_batches import own_places
from defense_kit.warmup.attacks import SIDE, Attack, AttackedPicture, AttackResult, Query, Rows, Scores, write_rows
from defense_kit.warmup.scheduler import Scheduler

Classify = Callable[[Rows], Scores]


class InProcess:
    """Answers batches of at most 64 rows in order, when they are sent, and counts them."""

    def __init__(self, classify: Classify) -> None:
        self.places = deque(own_places((64, SIDE, SIDE, 3), np.dtype(np.float32)))
        self._classify, self._answers = classify, deque[Scores]()
        self.batches = 0

    def send(self, images: Rows) -> None:
        self.places.rotate(-1)
        assert images.dtype == np.float32 and images.min() >= 0 and images.max() <= 1
        self.batches += 1
        self._answers.append(np.asarray(self._classify(images), np.float32))

    def receive(self) -> BatchAnswers:
        scores = self._answers.popleft()
        return BatchAnswers(np.zeros(len(scores), np.int8), scores)


def picture(number: int, *, is_bird: bool = True) -> AttackedPicture:
    """A picture of smooth colours, another one for each number."""
    rng = np.random.default_rng(number)
    coarse = rng.integers(40, 216, (8, 8, 3)).astype(np.uint8)
    pixels = np.kron(coarse, np.ones((SIDE // 8, SIDE // 8, 1), np.uint8))
    return AttackedPicture(pixels, is_bird, hashlib.sha256(pixels.tobytes()).digest())


def linear(seed: int = 3, *, offset: float = 0.0, scale: float = 1.0) -> Classify:
    """Scores [bicycle, bird] = [0, a . x + offset] of 1,024 random values of each picture. Each row is summed by
    itself, so that no other row changes its last bit."""
    rng = np.random.default_rng(seed)
    chosen, direction = rng.choice(SIDE * SIDE * 3, 1024, replace=False), rng.normal(0, scale, 1024)

    def classify(rows: Rows) -> Scores:
        bird = ((rows.reshape(len(rows), -1)[:, chosen] - 0.5) * direction).sum(axis=1) + offset
        return np.stack([np.zeros(len(bird)), bird], axis=1).astype(np.float32)

    return classify


def made(query: Query) -> Rows:
    """Return the rows of a query."""
    rows = np.empty(query.shape, np.float32)
    write_rows(query, 0, rows)
    return rows


def alone(attack: Attack, classify: Classify) -> AttackResult:
    """Run one attack, each of its questions in a batch of its own."""
    scores: Any = None  # what begins a generator
    while True:
        try:
            scores = np.asarray(classify(made(attack.send(scores))), np.float32)
        except StopIteration as ended:
            result: AttackResult = ended.value
            return result


def scheduled(attacks: Iterable[tuple[Any, Attack]], classify: Classify, batch: int) -> dict[Any, AttackResult]:
    """Run attacks together."""
    return dict(Scheduler[Any](InProcess(classify), batch=batch, max_running=6).run(attacks))
