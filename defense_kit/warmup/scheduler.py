"""Fills batches of one fixed shape with the rows of many attacks, and gives each attack its own answers.

No result depends on the size of a batch or on who else is in it, given a defense whose rows do not: an attack sees
nothing but the answers to its own rows.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np

from defense_kit.frames import CLASSES
from defense_kit.warmup.attacks import Attack, AttackResult, Rows, Scores

MOST_SENT = 2  # batches under way
Key = TypeVar("Key")


class AskedDefense(Protocol):
    """A defense that answers float32 batches in order; MOST_SENT at most are under way."""

    def send(self, rows: Rows) -> None:
        """Begin a whole batch."""

    def receive(self) -> Scores:
        """Return the scores of the oldest batch that was begun."""


@dataclass(slots=True)
class _Running(Generic[Key]):
    """An attack, the rows that it waits for, and how many of them were sent and answered."""

    key: Key
    attack: Attack
    rows: Rows
    scores: Scores = field(init=False)
    sent: int = 0
    answered: int = 0

    def __post_init__(self) -> None:
        self.ask(self.rows)

    def ask(self, rows: Rows) -> None:
        """Wait for other rows."""
        self.rows, self.scores = rows, np.empty((len(rows), len(CLASSES)), np.float32)
        self.sent = self.answered = 0


@dataclass(slots=True)
class RowCounts:
    """What was sent: rows that attacks asked for, and rows of whole batches with their padding."""

    asked: int = 0
    sent: int = 0


class Scheduler(Generic[Key]):
    """Runs attacks against a defense in batches of `batch` rows, at most `most_running` attacks at once."""

    def __init__(self, defense: AskedDefense, *, batch: int, most_running: int) -> None:
        self._defense, self._batch, self._most_running = defense, batch, most_running
        self._waiting: deque[_Running[Key]] = deque()  # with rows that were not sent
        self._under_way: deque[list[tuple[_Running[Key], int]]] = deque()  # of each batch: whose, and how many rows
        self._running = 0
        self.counts = RowCounts()

    def run(self, attacks: Iterable[tuple[Key, Attack]]) -> Iterator[tuple[Key, AttackResult]]:
        """Yield the result of each attack under its key, as soon as it is over."""
        more = iter(attacks)
        while True:
            yield from self._start(more)
            is_full = self._rows_waiting() >= self._batch
            if is_full and len(self._under_way) < MOST_SENT or self._waiting and not self._under_way:
                self._send()
            elif self._under_way:
                yield from self._receive()
            else:
                return

    def _rows_waiting(self) -> int:
        return sum(len(each.rows) - each.sent for each in self._waiting)

    def _start(self, more: Iterator[tuple[Key, Attack]]) -> Iterator[tuple[Key, AttackResult]]:
        """Begin attacks until a batch is full, or no more may run."""
        while self._running < self._most_running and self._rows_waiting() < self._batch:
            begun = next(more, None)
            if begun is None:
                return
            key, attack = begun
            try:
                rows = next(attack)
            except StopIteration as ended:  # it went on from a state at its end, and asks nothing
                yield key, ended.value
                continue
            self._running += 1
            self._waiting.append(_Running(key, attack, rows))

    def _send(self) -> None:
        """Send the rows that wait longest, the rest of the batch zeros."""
        rows = np.zeros((self._batch, *self._waiting[0].rows.shape[1:]), np.float32)
        filled, shares = 0, list[tuple[_Running[Key], int]]()
        while self._waiting and filled < self._batch:
            first = self._waiting[0]
            taken = min(len(first.rows) - first.sent, self._batch - filled)
            rows[filled : filled + taken] = first.rows[first.sent : first.sent + taken]
            first.sent += taken
            filled += taken
            shares.append((first, taken))
            if first.sent == len(first.rows):
                self._waiting.popleft()
        self._under_way.append(shares)
        self.counts.asked += filled
        self.counts.sent += self._batch
        self._defense.send(rows)

    def _receive(self) -> Iterator[tuple[Key, AttackResult]]:
        """Hand out the answers of the oldest batch; attacks that have all of theirs go on."""
        scores, at = self._defense.receive(), 0
        for running, taken in self._under_way.popleft():
            running.scores[running.answered : running.answered + taken] = scores[at : at + taken]
            running.answered += taken
            at += taken
            if running.answered == len(running.rows):
                yield from self._go_on(running)

    def _go_on(self, running: _Running[Key]) -> Iterator[tuple[Key, AttackResult]]:
        try:
            running.ask(running.attack.send(running.scores))
        except StopIteration as ended:
            self._running -= 1
            yield running.key, ended.value
        else:
            self._waiting.append(running)
