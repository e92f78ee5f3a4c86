"""Does a trial under a lease: opens the defense, asks it, and keeps totals (R31).

A smoke test sees public pictures and keeps everything the defense printed. All other trials keep nothing that a
defense can word: it could tell the pictures' contents in it. A fault of the defense counts as a wrong answer for the
pictures of its batch and all after it (R30); a fault of the platform is tried again.
"""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np
import structlog

from defense_kit.examine import ROUNDS, examine
from defense_kit.faults import WORDS, RunnerFault
from labeling.selectors import policy_in_force
from labeling.store import PictureMissing, picture_key
from scoring import leases, plan
from scoring.arrays import Pixels, WrongPicture, load_picture
from scoring.enums import Fault, TrialKind
from scoring.heartbeat import Alive, Heartbeat
from scoring.leases import LeaseLost
from scoring.models import Trial
from scoring.rules import PLATFORM_FAULTS
from scoring.runner import Session, check_answers
from scoring.trials import answers as kept
from scoring.trials import selectors, services, smoke, totals
from scoring.trials.enums import Variant
from scoring.trials.private_set import private_key
from scoring.trials.probe import altered
from scoring.trials.selectors import Question
from scoring.warm import FindRunner

Asked = tuple[Question, Variant]
Batch = plan.Batch[Asked]
MOST_OUTSTANDING = 2
_PLAIN = (Variant.PLAIN,)

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Found:
    """What a defense answered until it was through or a fault of its own ended it."""

    answers: dict[tuple[int, Variant], tuple[int, float, float]] = field(default_factory=dict)
    rows: int = 0
    nanoseconds: int = 0
    device: str = ""
    fault: Fault | None = None

    def speed(self) -> dict[str, Any]:
        """Return how quickly the rows were answered, padding included and the start left out."""
        milliseconds = self.nanoseconds // 1_000_000
        quick = {"rows": self.rows, "milliseconds": milliseconds}
        return {**quick, "pictures_per_minute": totals.per_minute(self.rows, milliseconds), "device": self.device}

    def labels(self, questions: Sequence[Question], variant: Variant) -> list[totals.Answered]:
        """Return the answers in the order of `questions`, None where a fault took their place."""
        given = (self.answers.get((question.picture, variant)) for question in questions)
        return [None if each is None else each[0] for each in given]

    def packed(self) -> bytes:
        """Return the answers as the table keeps them."""
        rows = ((picture, variant, *given) for (picture, variant), given in self.answers.items())
        return kept.pack(kept.rows_of(rows))


class TrialWork:
    """One trial in the hands of a scorer, which has nothing else open meanwhile."""

    def __init__(self, trial: Trial, scorer: Alive, find_runner: FindRunner, device: str) -> None:
        self._trial, self._scorer, self._clock = trial, scorer, scorer.clock
        self._find_runner, self._device = find_runner, device
        self._kind = TrialKind(trial.kind)
        self._policy = policy_in_force(scorer.clock()).policy
        self._beat: Heartbeat | None = None

    def work(self) -> None:
        """Finish the trial or record what went wrong around it; LeaseLost when another scorer has it now."""
        try:
            result = self._smoke() if self._kind is TrialKind.SMOKE else self._questions()
        except LeaseLost:
            raise
        except RunnerFault as fault:
            self._record(fault)
        except Exception as error:  # a full disk, an engine that is away: not the defense's doing
            self._record(self._around_it(error))
        else:
            services.trial_finish(self._trial, now=self._clock(), **result)
            log.info("trial_finished", trial=self._trial.pk, kind=self._kind.value)

    def _around_it(self, error: Exception) -> RunnerFault:
        """Name an error of the platform; what it says may name a private picture, so that stays out."""
        kind = type(error).__name__
        if self._kind is TrialKind.PRIVATE:
            log.error("trial_failed", trial=self._trial.pk, error=kind)
            return RunnerFault(Fault.PLATFORM, kind)
        log.exception("trial_failed", trial=self._trial.pk)
        return RunnerFault(Fault.PLATFORM, f"{kind}: {error}")

    def _record(self, fault: RunnerFault) -> None:
        state = leases.fault(self._trial, fault.fault, fault.text, now=self._clock())
        log.warning("trial_fault", trial=self._trial.pk, fault=fault.fault.value, text=fault.text, state=state.value)

    def _heartbeat(self, batches: int, opened: int) -> Heartbeat:
        """Keep the lease for as long as all of this may take with every deadline used up (R30)."""
        policy = self._policy
        each = self._trial.batch_size * policy.seconds_per_picture
        longest = opened * (policy.start_seconds + policy.hello_seconds) + batches * each
        self._beat = Heartbeat(self._trial, self._scorer, until=self._clock() + timedelta(seconds=longest))
        return self._beat

    def _open(self, size: int, seed: int) -> Session:
        trial = self._trial
        runner = self._find_runner(trial.defense)
        return runner.open(
            trial.defense,
            device=self._device,
            image_size=size,
            batch_size=trial.batch_size,
            seed=seed,
            attempt=f"trial {trial.pk}, attempt {trial.attempt}",
            cancelled=lambda: self._beat is not None and self._beat.is_lost(),
        )

    # The smoke test: the same examination that participants have, over pictures that anybody may see.

    def _smoke(self) -> dict[str, Any]:
        trial = self._trial
        pictures = smoke.public_pictures(self._policy.image_size, trial.seed)
        with self._heartbeat(ROUNDS * -(-len(pictures) // trial.batch_size), opened=ROUNDS):
            examination = smoke.Examination(lambda seed: self._open(pictures.shape[1], seed), trial.defense.name)
            report = examine(
                examination.open,
                pictures,
                batch_size=trial.batch_size,
                seconds_per_picture=self._policy.seconds_per_picture,
                first_seed=trial.seed,
            )
        return smoke.result(report, examination.device)

    # All others: pictures with a class that nobody is told.

    def _questions(self) -> dict[str, Any]:
        questions = self._asked_about()
        variants = tuple(Variant) if self._kind is TrialKind.PROBE else _PLAIN
        found = Found()
        plans = {size: self._batches(questions, size, variants) for size in selectors.sizes_of(questions)}
        with self._heartbeat(sum(map(len, plans.values())), opened=len(plans)) as heartbeat:
            for size, batches in plans.items():
                if found.fault is None:
                    self._ask(size, batches, found, heartbeat)
        return self._result(questions, found)

    def _asked_about(self) -> list[Question]:
        size, trial = self._policy.image_size, self._trial
        if self._kind is TrialKind.PROBE:
            return selectors.probe_questions(size, trial.seed)
        if trial.private_set is None:
            return selectors.earlier_questions()
        return selectors.private_questions(trial.private_set, size)

    def _batches(self, questions: Sequence[Question], size: int, variants: Sequence[Variant]) -> list[Batch]:
        """Return the fixed batches: each variant of a picture has the same companions, so that only it differs."""
        order = plan.permuted([each for each in questions if each.size == size], seed=self._trial.seed)
        rows = self._trial.batch_size
        return [
            batch
            for variant in variants
            for batch in plan.batches([(question, variant) for question in order], batch_size=rows)
        ]

    def _ask(self, size: int, batches: Sequence[Batch], found: Found, heartbeat: Heartbeat) -> None:
        session: Session | None = None
        try:
            session = self._open(size, self._trial.seed)
            found.device = session.device
            self._converse(session, batches, found, heartbeat)
        except RunnerFault as fault:
            if fault.fault in PLATFORM_FAULTS:
                raise
            found.fault = fault.fault
        finally:
            if session is not None:
                session.close()

    def _converse(self, session: Session, batches: Sequence[Batch], found: Found, heartbeat: Heartbeat) -> None:
        outstanding: deque[Batch] = deque()
        since = 0
        for batch in batches:
            images = self._load(batch)
            heartbeat.check()
            since = since or time.perf_counter_ns()
            session.send(images)
            outstanding.append(batch)
            if len(outstanding) == MOST_OUTSTANDING:
                since = _take(session, outstanding.popleft(), found, since)
        while outstanding:
            heartbeat.check()
            since = _take(session, outstanding.popleft(), found, since)

    def _load(self, batch: Batch) -> Pixels:
        key = private_key if self._kind is TrialKind.PRIVATE else picture_key
        try:
            pictures = [
                altered(load_picture(each.pixels_sha256, each.size, key), variant, each.pixels_sha256)
                for each, variant in batch.rows
            ]
        except (PictureMissing, WrongPicture) as error:
            raise RunnerFault(Fault.PLATFORM, self._missing(error)) from None
        return np.stack(pictures)

    def _missing(self, error: Exception) -> str:
        if self._kind is not TrialKind.PRIVATE:
            return f"{type(error).__name__}: {error}"
        return (
            "A picture of the private set is not in the store or has another size than the contest's pictures now. "
            "Restore private/ from a backup of the store, or import a new set."
        )

    # What is kept.

    def _result(self, questions: Sequence[Question], found: Found) -> dict[str, Any]:
        result = _probe_totals(questions, found) if self._kind is TrialKind.PROBE else _totals(questions, found)
        return {
            "totals": {**result, **found.speed()},
            "answers": found.packed(),
            "device": found.device[:120],
            "fault": found.fault or "",
            # The list's words, not the defense's: what it says of these pictures stays unread.
            "fault_text": WORDS[found.fault].meaning if found.fault else "",
        }


def _take(session: Session, batch: Batch, found: Found, since: int) -> int:
    """Take a batch's answers, which were waited for from `since` on; return when they came, in nanoseconds."""
    answers = check_answers(session.receive(), len(batch.rows))
    came = time.perf_counter_ns()
    found.nanoseconds += came - since
    found.rows += len(batch.rows)
    for row, (question, variant) in enumerate(batch.rows[: batch.real]):
        bicycle, bird = answers.scores[row]
        found.answers[question.picture, variant] = (int(answers.labels[row]), float(bicycle), float(bird))
    return came


def _totals(questions: Sequence[Question], found: Found, variant: Variant = Variant.PLAIN) -> dict[str, Any]:
    labels = [question.label for question in questions]
    return totals.count(zip(labels, found.labels(questions, variant), strict=True)).to_json()


def _probe_totals(questions: Sequence[Question], found: Found) -> dict[str, Any]:
    """Return the totals of each variant, and what each alteration changed."""
    labels = [question.label for question in questions]
    plain = found.labels(questions, Variant.PLAIN)
    changes = {
        variant: totals.difference(labels, plain, found.labels(questions, variant))
        for variant in (Variant.NOISE, Variant.SHIFT)
    }
    return {
        "pictures": len(questions),
        **{variant.name.lower(): _totals(questions, found, variant) for variant in Variant},
        "differences": {variant.name.lower(): change.to_json() for variant, change in changes.items()},
        "shown": any(change.is_shown for change in changes.values()),
    }
