"""What a defense may answer, and what each fault is called (R28, R30)."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import pytest

from scoring.enums import Fault
from scoring.models import Defense
from scoring.runner import Answers, ReferenceRunner, ReferenceSession, RunnerFault, as_fault, check_answers
from tests.scoring import cast


def answers(labels: Any = None, scores: Any = None) -> Answers:
    """Two rows of legal answers, but for what is given."""
    return Answers(
        np.array([0, -1], np.int8) if labels is None else labels,
        np.zeros((2, 2), np.float32) if scores is None else scores,
    )


ILLEGAL: list[tuple[Any, Fault, str]] = [
    (None, Fault.PROTOCOL, "no answers at all"),
    ([0, 1], Fault.PROTOCOL, "a list instead of answers"),
    (answers(labels=[0, 1]), Fault.PROTOCOL, "labels that are no array"),
    (answers(labels=np.array([0, 1, 1], np.int8)), Fault.PROTOCOL, "one label too many"),
    (answers(labels=np.array([0], np.int8)), Fault.PROTOCOL, "one label too few"),
    (answers(labels=np.array([[0, 1]], np.int8)), Fault.PROTOCOL, "labels of another shape"),
    (answers(labels=np.array([0, 2], np.int8)), Fault.PROTOCOL, "a label that does not exist"),
    (answers(labels=np.array([0, 256])), Fault.PROTOCOL, "a label that would wrap around to 0"),
    (answers(labels=np.array([0.0, 1.0])), Fault.PROTOCOL, "labels that are not whole numbers"),
    (answers(labels=np.array(["bird", "bird"])), Fault.PROTOCOL, "words for labels"),
    (answers(scores=np.zeros((2, 3), np.float32)), Fault.PROTOCOL, "three scores a row"),
    (answers(scores=np.zeros((1, 2), np.float32)), Fault.PROTOCOL, "scores for one row of two"),
    (answers(scores=np.zeros((2, 2), object)), Fault.PROTOCOL, "scores that are objects"),
    (answers(scores=np.full((2, 2), np.nan)), Fault.NONFINITE, "NaN"),
    (answers(scores=np.array([[0, np.inf], [0, 0]])), Fault.NONFINITE, "infinite"),
    (answers(scores=np.array([[0, 1e300], [0, 0]])), Fault.NONFINITE, "infinite once it is a float of 32 bits"),
]


@pytest.mark.parametrize(("given", "fault", "why"), ILLEGAL, ids=[why for _, _, why in ILLEGAL])
def test_an_illegal_answer_is_a_fault_with_its_code(given: Any, fault: Fault, why: str) -> None:
    with pytest.raises(RunnerFault) as caught:
        check_answers(given, 2)
    assert caught.value.fault == fault, why


def test_legal_answers_come_out_in_the_recorded_types() -> None:
    checked = check_answers(answers(np.array([1, -1], np.int64), np.ones((2, 2), np.float64)), 2)
    assert (checked.labels.dtype, checked.scores.dtype) == (np.int8, np.float32)
    assert checked.labels.tolist() == [1, -1]


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (ValueError("any bug"), Fault.CRASHED),
        (RuntimeError("shapes do not fit"), Fault.CRASHED),
        (MemoryError(), Fault.OUT_OF_MEMORY),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory"),
            Fault.OUT_OF_MEMORY,
        ),
    ],
)
def test_an_exception_of_a_defense_has_a_code(error: Exception, fault: Fault) -> None:
    assert as_fault(error).fault == fault


def test_torch_running_out_of_memory_is_told_apart_from_a_crash() -> None:
    import torch

    def out_of_memory(allocate: Callable[[], Any]) -> Fault:
        with pytest.raises((RuntimeError, MemoryError)) as caught:
            allocate()
        return as_fault(caught.value).fault

    assert out_of_memory(lambda: torch.empty(1 << 60, dtype=torch.uint8)) == Fault.OUT_OF_MEMORY
    assert as_fault(torch.OutOfMemoryError("CUDA out of memory")).fault == Fault.GPU_OUT_OF_MEMORY


def test_a_model_that_raises_is_a_fault_of_the_defense() -> None:
    class Broken:
        device = "cpu"

        def send(self, images: Any) -> None:
            raise ZeroDivisionError("by itself")

        def receive(self) -> Any:
            raise ZeroDivisionError("by itself")

    with pytest.raises(RunnerFault):
        ReferenceSession(Broken()).send(np.zeros((1, 2, 2, 3), np.uint8))
    with pytest.raises(RunnerFault) as caught:
        ReferenceSession(Broken()).receive()
    assert (caught.value.fault, caught.value.text) == (Fault.CRASHED, "ZeroDivisionError: by itself")


def test_a_closed_session_answers_no_more(db: None, now: datetime) -> None:
    (defense,) = cast.publish(now, "always-abstain")
    session = ReferenceRunner().open(defense, device="cpu", image_size=75, batch_size=1, seed=1)
    session.close()
    with pytest.raises(RunnerFault, match="cancelled"):
        session.send(np.zeros((1, 75, 75, 3), np.uint8))


@pytest.mark.parametrize(
    ("reference", "digest", "why"),
    [("demo-cnn", "sha256:0", "another version than shipped"), ("no-such-thing", "sha256:0", "not shipped")],
)
def test_an_unknown_version_is_the_platforms_fault(reference: str, digest: str, why: str, now: datetime) -> None:
    defense = Defense(name="x", reference=reference, digest=digest, created_at=now)
    with pytest.raises(RunnerFault) as caught:
        ReferenceRunner().open(defense, device="cpu", image_size=75, batch_size=1, seed=1)
    assert caught.value.fault == Fault.PLATFORM, why
