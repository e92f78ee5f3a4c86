"""Fills batches of one fixed shape with the rows of many attacks, and gives each attack its own answers.

No result depends on the size of a batch or on who else is in it, given a defense whose rows do not: an attack sees
nothing but the answers to its own rows. Attacks whose answers came with the same batch go on side by side, each in a
thread, others begin and the next batch is filled meanwhile: NumPy's work on whole pictures lets other threads run. So
whose rows share a batch differs from run to run.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from defense_kit.frames import CLASSES
from defense_kit.harness import BatchSession
from defense_kit.warmup.attacks import Attack, AttackResult, Query, Rows, Scores, write_rows

MAX_IN_FLIGHT = 2  # batches under way
# A query goes before longer ones if it has at most so many rows, and at most this part of a batch: after each 64 rows
# SPSA needs one answer before it has 64 again. Queries that have as many rows as there is `room` are all short while
# many attacks run, so a long one waits only until few of them do.
SHORT_ROWS, SHORT_PART = 32, 1 / 8
# One processor is left to the defense: a thread that takes its time costs more than it gives (docs/decisions/0050).
# More than eight threads wait for each other: what is not NumPy's runs one at a time.
_PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
THREADS = min(8, max(1, _PROCESSORS - 1))
BEGINNERS = max(1, THREADS // 4)  # threads of attacks that begin, which is rare, beside those
_PARTS = 4  # for each thread, of the attacks that go on: to hand over each one by itself takes longer
Key = TypeVar("Key")
_Piece = tuple[Query, int, int]  # rows of a query in a batch: the first one's number in the query, and how many


@dataclass(slots=True)
class _Running(Generic[Key]):
    """An attack, the rows that it waits for, and how many of them were sent and answered."""

    key: Key
    attack: Attack
    query: Query = field(init=False)
    scores: Scores | None = None  # none before it began
    sent: int = 0
    answered: int = 0

    @property
    def rows(self) -> int:
        """Return how many rows its query has."""
        return self.query.shape[0]

    def answer(self, scores: Scores) -> bool:
        """Keep the scores of the next rows; say whether all have theirs."""
        assert self.scores is not None
        self.scores[self.answered : self.answered + len(scores)] = scores
        self.answered += len(scores)
        return self.answered == self.rows

    def go_on(self) -> AttackResult | None:
        """Let the attack work with its answers until it asks for other rows; return its result where it is over."""
        try:
            # `send` takes None from whoever begins a generator.
            self.query = self.attack.send(self.scores)  # type: ignore[arg-type]
        except StopIteration as ended:
            result: AttackResult = ended.value
            return result
        self.scores, self.sent, self.answered = np.empty((self.rows, len(CLASSES)), np.float32), 0, 0
        return None


@dataclass(slots=True)
class _FilledBatch(Generic[Key]):
    """A batch that is being filled: whose rows are in it, and how many."""

    rows: Rows
    count: int = 0
    shares: list[tuple[_Running[Key], int]] = field(default_factory=list)
    written: list[Future[None]] = field(default_factory=list)


class Scheduler(Generic[Key]):
    """Runs attacks against a defense in batches of `batch` rows, at most `max_running` attacks at once; `on_sent` is
    called with each batch."""

    def __init__(self, defense: BatchSession, *, batch: int, max_running: int) -> None:
        self._defense, self._batch, self._max_running = defense, batch, max_running
        self._max_short_rows = min(SHORT_ROWS, SHORT_PART * batch)
        self._short, self._long = deque[_Running[Key]](), deque[_Running[Key]]()  # with rows that were not sent
        self._under_way: deque[list[tuple[_Running[Key], int]]] = deque()  # of each batch: whose, and how many rows
        self._beginning: dict[Future[AttackResult | None], _Running[Key]] = {}
        self._running = 0  # those that begin among them
        self._more = True  # whether others may begin
        self._filled: _FilledBatch[Key] | None = None  # what is sent next
        self.rows_wanted = self.rows_sent = 0  # rows sent that attacks wanted; those of whole batches, with padding
        self.on_sent: Callable[[], None] = lambda: None

    def run(self, attacks: Iterable[tuple[Key, Attack]]) -> Iterator[tuple[Key, AttackResult]]:
        """Yield the result of each attack under its key, as soon as it is over."""
        more, self._more = iter(attacks), True
        with ThreadPoolExecutor(THREADS) as pool, ThreadPoolExecutor(BEGINNERS) as beginners:
            while True:
                yield from self._begun()
                self._begin(more, beginners)
                if self._filled is None and self._rows_waiting() >= self._enough():
                    self._fill(pool)
                may_send = len(self._under_way) < MAX_IN_FLIGHT
                if may_send and self._filled is not None:
                    self._send(self._filled)
                elif may_send and self._beginning:
                    wait(self._beginning, return_when=FIRST_COMPLETED)
                elif self._under_way:
                    yield from self._go_on(self._receive(), pool)
                elif self._next():
                    self._fill(pool)
                else:
                    return

    def room(self) -> int:
        """Return how many rows each attack may send at once before all together fill more than the batches that may be
        under way, at least 1."""
        return max(1, MAX_IN_FLIGHT * self._batch // max(1, self._running))

    def _next(self) -> deque[_Running[Key]]:
        """Return the attacks whose rows are sent next; empty where none waits."""
        return self._short or self._long

    def _rows_waiting(self) -> int:
        return sum(each.rows - each.sent for each in (*self._short, *self._long))

    def _enough(self) -> int:
        """Return how many rows have to wait for a batch to be filled.

        Where all attacks together fill one batch and not all that may be under way, each gets its part of the rows:
        the defense works on one while the next is made. But attacks that wait for many rows and for one in turn will
        have more soon.
        """
        is_more_to_come = self._long or self._beginning or (self._more and self._running < self._max_running)
        unanswered = self._rows_waiting() + sum(taken for shares in self._under_way for _, taken in shares)
        if is_more_to_come or unanswered <= self._batch:
            return self._batch
        return min(self._batch, unanswered // MAX_IN_FLIGHT)

    def _begin(self, more: Iterator[tuple[Key, Attack]], beginners: ThreadPoolExecutor) -> None:
        """Let attacks begin beside all else, until a batch is full or no more may run: it may take a tenth of a second
        until one has rows."""
        while (
            self._more
            and self._running < self._max_running
            and len(self._beginning) < BEGINNERS
            and self._rows_waiting() < self._batch
        ):
            if (found := next(more, None)) is None:
                self._more = False
                return
            begun = _Running(*found)
            self._beginning[beginners.submit(begun.go_on)] = begun
            self._running += 1

    def _begun(self) -> Iterator[tuple[Key, AttackResult]]:
        """Place the attacks that have begun."""
        for begun in [each for each in self._beginning if each.done()]:
            yield from self._placed(self._beginning.pop(begun), begun.result())

    def _fill(self, pool: ThreadPoolExecutor) -> None:
        """Begin to fill a batch with the rows that wait longest, those of short queries first; the rest are zeros.

        It takes no more queries than are enough, so that some are left for the next one.
        """
        rows: Rows = self._defense.places[0][: self._batch]
        filled, pieces = _FilledBatch[Key](rows), list[_Piece]()
        enough = self._enough()
        while (waiting := self._next()) and filled.count < enough:
            first = waiting[0]
            taken = min(first.rows - first.sent, self._batch - filled.count)
            pieces.append((first.query, first.sent, taken))
            first.sent += taken
            filled.count += taken
            filled.shares.append((first, taken))
            if first.sent == first.rows:
                waiting.popleft()
        rows[filled.count :] = 0
        share = -(-filled.count // THREADS)
        filled.written = [
            pool.submit(_write_part, pieces, rows[: filled.count], begin, begin + share)
            for begin in range(0, filled.count, share)
        ]
        self._filled = filled

    def _send(self, filled: "_FilledBatch[Key]") -> None:
        """Send the batch, once all of its rows are written."""
        for each in filled.written:
            each.result()
        self._filled = None
        self._under_way.append(filled.shares)
        self.rows_wanted += filled.count
        self.rows_sent += self._batch
        self._defense.send(filled.rows)
        self.on_sent()

    def _receive(self) -> list[_Running[Key]]:
        """Hand out the answers of the oldest batch; return the attacks that have all of theirs."""
        scores, at, complete = self._defense.receive().scores, 0, list[_Running[Key]]()
        for running, taken in self._under_way.popleft():
            if running.answer(scores[at : at + taken]):
                complete.append(running)
            at += taken
        return complete

    def _go_on(self, complete: Sequence[_Running[Key]], pool: ThreadPoolExecutor) -> Iterator[tuple[Key, AttackResult]]:
        """Let attacks work with their answers, and yield the results of those that are over."""
        size = max(1, len(complete) // (_PARTS * THREADS))
        parts = [complete[begin : begin + size] for begin in range(0, len(complete), size)]
        for part, results in zip(parts, pool.map(_all_go_on, parts), strict=True):
            for running, result in zip(part, results, strict=True):
                yield from self._placed(running, result)

    def _placed(self, running: _Running[Key], result: AttackResult | None) -> Iterator[tuple[Key, AttackResult]]:
        """Have an attack wait with its rows; where it is over, yield its result."""
        if result is None:
            (self._short if running.rows <= self._max_short_rows else self._long).append(running)
        else:
            self._running -= 1
            yield running.key, result


def enough_running(batch: int, rows: int) -> int:
    """Return how many attacks, which wait for so many rows each, fill a batch while others are under way."""
    return 2 + (MAX_IN_FLIGHT + 1) * batch // rows


def _write_part(pieces: Sequence[_Piece], out: Rows, begin: int, end: int) -> None:
    """Write the rows of a batch from number `begin` to `end`; its pieces follow each other."""
    at = 0
    for query, first, count in pieces:
        low, high = max(begin, at), min(end, at + count)
        if low < high:
            write_rows(query, first + low - at, out[low:high])
        at += count


def _all_go_on(attacks: Sequence[_Running[Key]]) -> list[AttackResult | None]:
    return [each.go_on() for each in attacks]
