"""The interface of runners, which execute defenses (R28); the exchange of batches; faults (R30).

A runner opens a session for one run; the session answers batches until it is closed. The result is always
answers or a RunnerFault with a code of the closed list, never another exception.
"""

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from defense_kit.conversation import MAX_OUTSTANDING
from defense_kit.faults import RunnerFault as RunnerFault
from defense_kit.frames import CHANNELS, CONTEST_PIXELS, PIXELS
from defense_kit.harness import BatchSession
from defense_kit.protocol import BatchAnswers as BatchAnswers
from defense_kit.protocol import Pixels as Pixels
from defense_kit.shared_batches import own_places
from scoring.enums import DefenseAnswer, Fault
from scoring.inference import free_memory, is_gpu_out_of_memory, is_out_of_memory
from scoring.models import Defense
from scoring.plan import PlannedBatch
from scoring.reference import Model, reference
from scoring.rules import PLATFORM_FAULTS

T = TypeVar("T")
Load = Callable[[PlannedBatch[T], Pixels], None]
"""Reads the pictures of a batch into an array."""
# How long the first batch waits for the second: alone, it would leave half of the processors idle.
SECOND_BATCH_SECONDS = 0.05
# Batches in hand. Where a network works in this process, the thread that reads them gets so little time that one batch
# ahead of those sent is not enough. More would claim runs too early: if the defense fails, they have to be given back.
MAX_UNANSWERED = 4
_NICENESS = 10  # of the thread that reads pictures


class DefenseRunner(BatchSession, Protocol):
    """An opened defense. `device` is what the predictions record, and there are 3 to MAX_UNANSWERED places.

    At most two batches may be between `send` and `receive`: while the defense works on one, the next is on its way.
    """

    device: str

    def close(self) -> None:
        """End it and free what it holds; safe to call after a fault."""


class Runner(Protocol):
    """A way to run defenses: in the worker process for reference defenses, in a sealed container for all others."""

    def open(
        self,
        defense: Defense,
        *,
        device: str,
        image_size: int,
        batch_size: int,
        seed: int,
        attempt: str,
        cancelled: Callable[[], bool],
        pixels: str = CONTEST_PIXELS,
    ) -> DefenseRunner:
        """Start `defense` and return its session; RunnerFault when it does not start, or does not take such `pixels`.

        `attempt` says in words for which work it is started. `cancelled` is called now and then while the session waits
        for answers: True ends it with the fault `cancelled`.
        """


class BatchFault(RunnerFault):
    """A fault, and the `items` of the plan that it may come from."""

    def __init__(self, fault: RunnerFault, items: Sequence[Any]) -> None:
        super().__init__(fault.fault, fault.text, killed=fault.killed)
        self.items = items


def converse(
    session: DefenseRunner,
    batches: Iterable[PlannedBatch[T]],
    load: Load[T],
    check: Callable[[], None],
) -> Iterator[tuple[PlannedBatch[T], BatchAnswers, int]]:
    """Send batches to a session in order; yield each with its answers and its time in nanoseconds.

    While the session works on one batch the next is sent, and those after it are read in a thread: `load` writes a
    batch to where the session has room for it. Answers are yielded when the next batch is on its way, so that the
    session works while the caller keeps them. A fault of the defense comes out as a BatchFault, an error of `load`
    behind all answers to the batches before; `check` is called before each step and may raise to end it all.

    When it begins, every batch that the session was sent has been answered.
    """
    outstanding: deque[tuple[PlannedBatch[T], Pixels, int]] = deque()
    taken: deque[tuple[PlannedBatch[T], BatchAnswers, int]] = deque()
    free_since = 0  # when the session had answered everything before

    def send(batch: PlannedBatch[T], images: Pixels) -> None:
        sent = time.perf_counter_ns()  # before sending: a defense that does not read the socket gains no time
        # A fault of the batch before may show only now, while this one is being sent.
        with _naming(*(begun for begun, _, _ in outstanding), batch):
            if session.places[0] is not images:  # otherwise it would overwrite pictures that are being answered
                raise RuntimeError("a batch does not lie where the session has room for it")
            session.send(images)
        outstanding.append((batch, images, sent))

    def take() -> None:
        nonlocal free_since
        batch, images, sent = outstanding.popleft()
        with _naming(batch):
            answers = check_answers(session.receive(), len(batch.rows))
        began, free_since = max(sent, free_since), time.perf_counter_ns()
        ahead.free(images)
        taken.append((batch, answers, free_since - began))

    with ThreadPoolExecutor(1, "pictures", initializer=_lower_priority) as reader:
        try:
            ahead = _ReadAhead(reader, iter(batches), load, session.places)
            ahead.wait(SECOND_BATCH_SECONDS)
            while ahead or outstanding or taken:
                check()
                # Reading a picture may take longer than answering it: answers and their measured time exclude it.
                if len(outstanding) < MAX_OUTSTANDING and (ahead.is_read() or not (outstanding or taken)):
                    send(*ahead.take())
                elif ahead.begin():
                    continue
                elif taken:
                    yield taken.popleft()
                else:
                    take()
        finally:
            reader.shutdown(cancel_futures=True)


def _lower_priority() -> None:
    """Give a network on this machine's processors priority over the calling thread, which reads batches ahead."""
    if sys.platform == "linux":  # elsewhere a niceness is the whole process's
        os.nice(_NICENESS)


class _ReadAhead(Generic[T]):
    """The next batches, which a thread reads before they are needed; false when there are no more."""

    def __init__(
        self, reader: Executor, batches: Iterator[PlannedBatch[T]], load: Load[T], places: Iterable[Pixels]
    ) -> None:
        self._reader, self._batches, self._load = reader, batches, load
        self._places = deque(places)  # places without a batch
        self._all_places = len(self._places)
        self._reading: deque[tuple[PlannedBatch[T], Pixels, Future[None]]] = deque()
        self._next = self._fetched()
        while self.begin():
            continue

    def __bool__(self) -> bool:
        return bool(self._reading) or self._next is not None

    def begin(self) -> bool:
        """Begin to read another batch; False where there is no room for it, no batch, or one that cannot be read."""
        if any(_has_failed(read) for _, _, read in self._reading):
            return False
        self._next = self._next or self._fetched()
        if not self._places or self._next is None:
            return False
        batch, place = self._next, self._places.popleft()
        self._reading.append((batch, place, self._reader.submit(self._load, batch, place)))
        self._next = self._fetched()  # before there is a place for it: its run may have to be claimed
        return True

    def _fetched(self) -> PlannedBatch[T] | None:
        unanswered = self._all_places - len(self._places)
        return next(self._batches, None) if unanswered < MAX_UNANSWERED else None

    def free(self, place: Pixels) -> None:
        """Note that a batch was answered, so that another can lie in its place."""
        self._places.append(place)

    def wait(self, seconds: float) -> None:
        """Wait until the first batch is read, and at most `seconds` longer for the second."""
        images = [each for _, _, each in self._reading][:MAX_OUTSTANDING]
        wait(images[:1])
        wait(images, seconds)

    def is_read(self) -> bool:
        """Say whether the pictures of the next batch were read without an error."""
        read = self._reading[0][2] if self._reading else None
        return read is not None and read.done() and not _has_failed(read)

    def take(self) -> tuple[PlannedBatch[T], Pixels]:
        """Return the next batch and its pictures; the error of `load` where they could not be read."""
        batch, place, read = self._reading.popleft()
        try:
            read.result()
        finally:
            del read  # otherwise the error holds this frame, and with it the place
        return batch, place


def _has_failed(read: "Future[None]") -> bool:
    return read.done() and read.exception() is not None


@contextmanager
def _naming(*batches: PlannedBatch[T]) -> Iterator[None]:
    """Turn a fault inside that may be the defense's into a BatchFault that names the batches that may be its cause."""
    try:
        yield
    except RunnerFault as fault:
        if fault.fault in PLATFORM_FAULTS and not fault.killed:
            raise
        raise BatchFault(fault, [item for batch in batches for item in batch.rows[: batch.real]]) from fault


def check_answers(answers: Any, rows: int) -> BatchAnswers:
    """Return `answers` as int8 and float32 if they are one legal answer per row; RunnerFault otherwise.

    Wrong kind, count, shape or label is `protocol`; a score that is NaN or infinite is `nonfinite` (R30).
    """
    if not isinstance(answers, BatchAnswers):
        raise RunnerFault(Fault.PROTOCOL, f"answered with {type(answers).__name__}, not with BatchAnswers")
    labels, scores = answers.labels, answers.scores
    _check_array("labels", labels, np.integer, (rows,))
    _check_array("scores", scores, np.floating, (rows, 2))
    if labels.min() < DefenseAnswer.ABSTAIN or labels.max() > DefenseAnswer.BIRD:
        raise RunnerFault(Fault.PROTOCOL, "a label is not -1, 0 or 1")
    with np.errstate(over="ignore"):  # a double too large for a float becomes infinite, which is the next line's case
        scores = scores.astype(np.float32)
    if not np.isfinite(scores).all():
        raise RunnerFault(Fault.NONFINITE, "a score is NaN or infinite")
    return BatchAnswers(labels.astype(np.int8), scores)


def _check_array(name: str, array: Any, kind: Any, shape: tuple[int, ...]) -> None:
    if not isinstance(array, np.ndarray) or not np.issubdtype(array.dtype, kind):
        raise RunnerFault(Fault.PROTOCOL, f"{name} are not an array of {kind.__name__} numbers")
    if array.shape != shape:
        raise RunnerFault(Fault.PROTOCOL, f"{name} have shape {array.shape}, expected {shape}")


def as_fault(error: Exception) -> RunnerFault:
    """Return the fault for an exception of a defense's own code."""
    text = f"{type(error).__name__}: {error}"
    if is_gpu_out_of_memory(error):
        return RunnerFault(Fault.GPU_OUT_OF_MEMORY, text)
    if is_out_of_memory(error):
        return RunnerFault(Fault.OUT_OF_MEMORY, text)
    return RunnerFault(Fault.CRASHED, text)


class ReferenceSession:
    """A defense that runs in this process."""

    def __init__(self, model: Model, *, image_size: int, batch_size: int, pixels: str = CONTEST_PIXELS) -> None:
        self._model: Model | None = model
        self.device = model.device
        shape = (batch_size, image_size, image_size, CHANNELS)
        self.places = deque(own_places(shape, PIXELS[pixels], MAX_UNANSWERED))

    def send(self, images: NDArray[Any]) -> None:
        """Start a batch; any exception of the defense's code becomes a fault."""
        self.places.rotate(-1)
        self._guarded(lambda model: model.send(images))

    def receive(self) -> BatchAnswers:
        """Return the oldest batch's answers; any exception of the defense's code becomes a fault."""
        return BatchAnswers(*self._guarded(lambda model: model.receive()))

    def close(self) -> None:
        """Free the weights and the card's memory."""
        self._model = None
        free_memory()

    def _guarded(self, use: Callable[[Model], Any]) -> Any:
        if self._model is None:
            raise RunnerFault(Fault.CANCELLED, "the session was closed before this batch")
        try:
            return use(self._model)
        except RunnerFault:
            raise
        except Exception as error:
            raise as_fault(error) from error


class ReferenceRunner:
    """Runs the defenses shipped with this project. None of them draws at random, so the seed is not used."""

    def open(
        self,
        defense: Defense,
        *,
        device: str,
        image_size: int,
        batch_size: int,
        pixels: str = CONTEST_PIXELS,
        **_: object,
    ) -> ReferenceSession:
        """Load the reference defense that `defense` names. They take 8-bit pixels alone.

        A row whose digest is not what this installation ships is a platform fault: the answers would be recorded
        under the wrong digest. A newer worker may still have it.
        """
        if pixels != CONTEST_PIXELS:
            words = f"{defense.name} is shipped with this project and takes 8-bit pictures alone"
            raise RunnerFault(Fault.PROTOCOL, words)
        declared = reference(defense.reference)
        if declared is None or declared.digest != defense.digest:
            raise RunnerFault(Fault.PLATFORM, f"{defense.name} {defense.digest} is not shipped with this worker")
        try:
            model = declared.load(device, image_size, batch_size)
            return ReferenceSession(model, image_size=image_size, batch_size=batch_size)
        except Exception as error:
            raise as_fault(error) from error
