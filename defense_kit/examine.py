"""Runs a defense twice over a few pictures and reports its answers, speed and faults.

The rounds differ as official runs do (R29): another seed, a fresh process, and for each picture other companions.
"""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from defense_kit.faults import WORDS, RunnerFault
from defense_kit.frames import ABSTAIN, BICYCLE, BIRD
from defense_kit.limits import IMAGE_SIZE
from defense_kit.protocol import BatchAnswers
from defense_kit.protocol import Pixels as Pixels

Order = NDArray[np.intp]

ROUNDS = 2
PICTURES = 40


class OpenedDefense(Protocol):
    """An opened defense, as `defense_kit.harness.DefenseSession` is one."""

    name: str

    def send(self, images: Pixels) -> None:
        """Start the work on a batch."""

    def receive(self) -> BatchAnswers:
        """Return the answers to the oldest batch not yet received."""

    def log(self) -> str:
        """Return the end of what it printed."""

    def close(self) -> None:
        """End it."""


Open = Callable[[int], OpenedDefense]
"""Starts the defense with a seed; RunnerFault when it does not start."""


@dataclass(frozen=True, slots=True)
class FaultFound:
    """A fault with its words, as the contest shows it to the team."""

    code: str
    round: int
    text: str
    meaning: str
    advice: str
    payer: str


@dataclass(slots=True)
class ExaminedRound:
    """One pass: the answers in the pictures' own order, and the seconds that each batch took."""

    labels: NDArray[np.int8]
    scores: NDArray[np.float32]
    batch_seconds: list[float] = field(default_factory=list)


@dataclass(slots=True)
class ExaminationReport:
    """The result; `to_text` and `to_json` say the same."""

    pictures: int
    image_size: int
    batch_size: int
    seconds_per_picture: float
    name: str = ""
    container_image: str = ""  # its digest, where a container was tried
    log: str = ""
    rounds: list[ExaminedRound] = field(default_factory=list)
    faults: list[FaultFound] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        """Whether the contest would run it: no fault, and as fast as R31 asks for."""
        return not self.faults and self.fast_enough

    @property
    def pictures_per_second(self) -> float:
        """Pictures answered for each second of waiting, over all whole rounds; 0 where there is none."""
        seconds = sum(sum(one.batch_seconds) for one in self.rounds)
        return self.pictures * len(self.rounds) / seconds if seconds else 0.0

    @property
    def fast_enough(self) -> bool:
        """Whether it answers at least one picture in the seconds that a picture may take (R31)."""
        return self.pictures_per_second * self.seconds_per_picture >= 1

    @property
    def changed(self) -> int:
        """How many pictures got another answer or another score in the last round than in the first."""
        if len(self.rounds) < ROUNDS:
            return 0
        first, last = self.rounds[0], self.rounds[-1]
        return int(((first.labels != last.labels) | (first.scores != last.scores).any(axis=1)).sum())

    @property
    def counts(self) -> dict[str, int]:
        """How often each answer was given in the first round."""
        labels = self.rounds[0].labels if self.rounds else np.empty(0, np.int8)
        numbers = {"bird": BIRD, "bicycle": BICYCLE, "abstain": ABSTAIN}
        return {name: int((labels == number).sum()) for name, number in numbers.items()}

    def to_json(self) -> dict[str, Any]:
        """Return the report as values that JSON can hold."""
        return {
            "accepted": self.accepted,
            "name": self.name,
            "image": self.container_image or None,
            "pictures": self.pictures,
            "image_size": self.image_size,
            "batch_size": self.batch_size,
            "rounds": len(self.rounds),
            "answers": self.counts,
            "abstained_share": self.counts["abstain"] / self.pictures if self.rounds else None,
            "batch_seconds": [[round(seconds, 6) for seconds in one.batch_seconds] for one in self.rounds],
            "pictures_per_second": round(self.pictures_per_second, 3),
            "required_per_second": round(1 / self.seconds_per_picture, 6),
            "fast_enough": self.fast_enough if self.rounds else None,
            "changed_between_rounds": self.changed if len(self.rounds) == ROUNDS else None,
            "randomised": self.changed > 0 if len(self.rounds) == ROUNDS else None,
            "faults": [asdict(fault) for fault in self.faults],
            "log": self.log,
        }

    def to_text(self, *, log_lines: int | None = None) -> str:
        """Return the report for people, with the last `log_lines` lines of the log or all that was kept."""
        log = self.log.splitlines()
        shown = log[-log_lines:] if log_lines else log
        lines = [f"Defense: {self.name or '(it stated no name)'}", *self._setting()]
        lines += self._measured() if self.rounds else []
        lines += [line for fault in self.faults for line in _fault_lines(fault, "\n".join(shown))]
        left_out = f" (its last {len(shown)} lines; --json has more)" if len(shown) < len(log) else ""
        lines += [f"The end of its log{left_out}:", *(f"  {line}" for line in shown)] if log else []
        return "\n".join([*lines, self._result()])

    def _setting(self) -> list[str]:
        size = f"{self.image_size} x {self.image_size}"
        return [
            *([f"Image: {self.container_image}"] if self.container_image else []),
            f"Pictures: {self.pictures} of {size}, in batches of {self.batch_size}; whole rounds: {len(self.rounds)}",
            f"Time for a batch: at most {self.batch_size * self.seconds_per_picture:g} s",
        ]

    def _measured(self) -> list[str]:
        counts = self.counts
        share = 100 * counts["abstain"] / self.pictures
        required = f"{1 / self.seconds_per_picture:.4f} ({60 / self.seconds_per_picture:g} a minute)"
        speed = "fast enough" if self.fast_enough else "too slow"
        return [
            f"Answers: {counts['bird']} bird, {counts['bicycle']} bicycle, {counts['abstain']} abstain ({share:.1f} %)",
            *(
                f"Seconds for each batch, round {number}: " + " ".join(f"{second:.3f}" for second in one.batch_seconds)
                for number, one in enumerate(self.rounds, 1)
            ),
            f"Pictures per second: {self.pictures_per_second:.3f}; required {required}: {speed}",
            *([self._repeated()] if len(self.rounds) == ROUNDS else []),
        ]

    def _repeated(self) -> str:
        if not self.changed:
            return "Between the rounds: every answer and score stayed the same."
        return (
            f"Between the rounds: {self.changed} of {self.pictures} pictures got another answer or score. "
            "The contest shows such a defense as randomised; one mistake in any official round counts."
        )

    def _result(self) -> str:
        if self.accepted:
            return "Result: accepted. The contest would run it."
        return "Result: not accepted. " + (
            f"Fault: {', '.join(fault.code for fault in self.faults)}." if self.faults else "It is too slow."
        )


def _fault_lines(fault: FaultFound, log: str) -> list[str]:
    """Return the lines of a fault; only the error of a traceback that `log` shows too."""
    seen = fault.text.strip().splitlines() or [""]
    if fault.text.strip() in log:
        seen = seen[-1:]
    return [
        f"Fault in round {fault.round}: {fault.code} (answered for by: {fault.payer})",
        f"  What was seen: {seen[0]}",
        *(f"    {line}" for line in seen[1:]),
        f"  What it means: {fault.meaning}",
        f"  What to do: {fault.advice}",
    ]


def synthetic_pictures(count: int = PICTURES, size: int = IMAGE_SIZE) -> Pixels:
    """Return uint8 pictures [count, size, size, 3] of slopes, blobs and noise: the same ones at every call."""
    rng = np.random.default_rng(20)
    down, right = np.mgrid[0:size, 0:size].astype(np.float32) / size
    pictures = np.empty((count, size, size, 3), np.uint8)
    for picture in pictures:
        tilt, colours = rng.uniform(-1, 1, 2), rng.uniform(0, 255, (2, 3))
        slope = np.clip(0.5 + tilt[0] * (down - 0.5) + tilt[1] * (right - 0.5), 0, 1)[..., None]
        middle = rng.uniform(0.2, 0.8, 2)
        blob = np.exp(-20 * ((down - middle[0]) ** 2 + (right - middle[1]) ** 2))[..., None]
        values = slope * colours[0] * (1 - blob) + blob * colours[1] + rng.normal(0, 8, (size, size, 3))
        picture[:] = np.clip(values, 0, 255)
    return pictures


def smoke_test_defense(
    open_: Open, pictures: Pixels, *, batch_size: int, seconds_per_picture: float, first_seed: int = 1
) -> ExaminationReport:
    """Run a defense over uint8 pictures [N, S, S, 3] in two rounds; a fault ends it and stands in the report."""
    report = ExaminationReport(len(pictures), pictures.shape[1], batch_size, seconds_per_picture)
    for number in range(ROUNDS):
        seed = first_seed + number
        order = np.arange(len(pictures)) if number == 0 else np.random.default_rng(seed).permutation(len(pictures))
        try:
            _run_round(open_, report, pictures, order, batch_size, seed)
        except RunnerFault as fault:
            words = WORDS[fault.fault]
            report.faults.append(
                FaultFound(fault.fault.value, number + 1, fault.text, words.meaning, words.advice, words.payer.value)
            )
            report.log = fault.log
            break
    return report


def _run_round(
    open_: Open, report: ExaminationReport, pictures: Pixels, order: Order, batch_size: int, seed: int
) -> None:
    with closing(open_(seed)) as opened:
        report.name = opened.name
        report.rounds.append(_round(opened, pictures, order, batch_size))
    report.log = opened.log()  # after closing: before, its last lines may not have arrived


def _round(opened: OpenedDefense, pictures: Pixels, order: Order, batch_size: int) -> ExaminedRound:
    """Send all pictures in `order` in full batches, one always under way while another is answered."""
    count = len(order)
    padded = np.resize(order, -(-count // batch_size) * batch_size)  # the order's beginning again fills the last batch
    batches = padded.reshape(-1, batch_size)
    found = ExaminedRound(np.empty(count, np.int8), np.empty((count, 2), np.float32))
    since = time.monotonic()
    opened.send(pictures[batches[0]])
    for number in range(len(batches)):
        if number + 1 < len(batches):
            opened.send(pictures[batches[number + 1]])
        answers = opened.receive()
        found.batch_seconds.append(time.monotonic() - since)
        since = time.monotonic()
        real = order[number * batch_size : (number + 1) * batch_size]
        found.labels[real], found.scores[real] = answers.labels[: len(real)], answers.scores[: len(real)]
    return found
