"""The one interface behind which defenses run (R28), and what may go wrong there (R30).

A runner opens a session for one run; the session answers batches until it is closed. Whatever happens inside comes out
as answers or as a RunnerFault with a code of the closed list, never as another exception.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scoring.enums import Fault, Outcome
from scoring.inference import is_gpu_out_of_memory, is_out_of_memory
from scoring.models import Defense
from scoring.reference import Model, reference

Pixels = NDArray[np.uint8]
LONGEST_TEXT = 4096
_LABELS = [outcome.value for outcome in Outcome]


@dataclass(frozen=True, slots=True)
class Answers:
    """One answer per row: labels int8 [N] of -1, 0, 1 and scores float32 [N, 2] = [bicycle, bird]."""

    labels: NDArray[np.int8]
    scores: NDArray[np.float32]


class RunnerFault(Exception):
    """A defense, or the platform around it, failed in a way that the closed list names."""

    def __init__(self, fault: Fault, text: str) -> None:
        super().__init__(f"{fault}: {text}")
        self.fault = fault
        self.text = text[:LONGEST_TEXT]


class Session(Protocol):
    """An opened defense. `device` is what the predictions record."""

    device: str

    def predict(self, images: Pixels) -> Answers:
        """Answer uint8 images [N, S, S, 3], N the batch size; RunnerFault when it cannot."""
        ...

    def close(self) -> None:
        """End it and free what it holds; safe to call after a fault."""
        ...


class Runner(Protocol):
    """A way to run defenses: in the worker for reference ones, sealed away for everybody else's."""

    def open(self, defense: Defense, *, device: str, image_size: int, batch_size: int, seed: int) -> Session:
        """Start `defense` and return its session; RunnerFault when it does not start."""
        ...


def check_answers(answers: Any, rows: int) -> Answers:
    """Return `answers` as int8 and float32 if they are one legal answer per row; RunnerFault otherwise.

    Wrong kind, count, shape or label is `protocol`; a score that is NaN or infinite is `nonfinite` (R30).
    """
    if not isinstance(answers, Answers):
        raise RunnerFault(Fault.PROTOCOL, f"answered with {type(answers).__name__}, not with Answers")
    labels, scores = answers.labels, answers.scores
    _check_array("labels", labels, np.integer, (rows,))
    _check_array("scores", scores, np.floating, (rows, 2))
    if not np.isin(labels, _LABELS).all():
        raise RunnerFault(Fault.PROTOCOL, "a label is not -1, 0 or 1")
    with np.errstate(over="ignore"):  # a double too large for a float becomes infinite, which is the next line's case
        scores = scores.astype(np.float32)
    if not np.isfinite(scores).all():
        raise RunnerFault(Fault.NONFINITE, "a score is NaN or infinite")
    return Answers(labels.astype(np.int8), scores)


def _check_array(name: str, array: Any, kind: Any, shape: tuple[int, ...]) -> None:
    if not isinstance(array, np.ndarray) or not np.issubdtype(array.dtype, kind):
        raise RunnerFault(Fault.PROTOCOL, f"{name} are not an array of {kind.__name__} numbers")
    if array.shape != shape:
        raise RunnerFault(Fault.PROTOCOL, f"{name} have shape {array.shape}, expected {shape}")


def as_fault(error: Exception) -> RunnerFault:
    """Name an exception that came out of a defense's own code."""
    text = f"{type(error).__name__}: {error}"
    if is_gpu_out_of_memory(error):
        return RunnerFault(Fault.GPU_OUT_OF_MEMORY, text)
    if is_out_of_memory(error):
        return RunnerFault(Fault.OUT_OF_MEMORY, text)
    return RunnerFault(Fault.CRASHED, text)


class ReferenceSession:
    """A shipped defense, running in this process."""

    def __init__(self, model: Model) -> None:
        self._model: Model | None = model
        self.device = model.device

    def predict(self, images: Pixels) -> Answers:
        """Answer a batch; any exception of the defense's code becomes a fault."""
        if self._model is None:
            raise RunnerFault(Fault.CANCELLED, "the session was closed before this batch")
        try:
            labels, scores = self._model.predict(images)
        except Exception as error:
            raise as_fault(error) from error
        return Answers(labels, scores)

    def close(self) -> None:
        """Let go of the weights."""
        self._model = None


class ReferenceRunner:
    """Runs the defenses shipped with this project. None of them draws at random, so the seed is not used."""

    def open(self, defense: Defense, *, device: str, image_size: int, batch_size: int, seed: int) -> ReferenceSession:
        """Load the reference defense that `defense` names.

        A row whose digest is not what this installation ships is a platform fault: the answers would be recorded
        under the wrong digest. A newer worker may still have it.
        """
        declared = reference(defense.reference)
        if declared is None or declared.digest != defense.digest:
            raise RunnerFault(Fault.PLATFORM, f"{defense.name} {defense.digest} is not shipped with this worker")
        try:
            return ReferenceSession(declared.load(device, image_size, batch_size))
        except Exception as error:
            raise as_fault(error) from error


def runner_for(defense: Defense) -> Runner:
    """Return how `defense` is run; RunnerFault where this worker knows no way."""
    if defense.reference:
        return ReferenceRunner()
    raise RunnerFault(Fault.PLATFORM, f"{defense.name} is not a reference defense; this worker runs only those")
