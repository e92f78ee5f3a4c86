"""Executes a trial under a lease: opens the defense, gets its predictions, stores totals (R31).

A smoke test sees public pictures and keeps everything the defense printed. All other trials keep no text that
a defense writes: it could describe the pictures in it. A fault of the defense counts as a wrong answer for the
pictures of its batch and all after it (R30); a fault of the platform is tried again.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
import structlog
from django.conf import settings

from defense_kit.examine import ROUNDS, ExaminationReport, smoke_test_defense
from defense_kit.faults import WORDS, RunnerFault
from labeling.enums import KnownUse
from labeling.learning import content
from picture_files.decoding import read_dataset
from picture_files.store import PictureMissing
from policy.selectors import policy_in_force
from scoring import leases, plan
from scoring.arrays import Pixels, WrongPicture, load_arrays, load_picture
from scoring.enums import Fault, TrialKind, Variant
from scoring.leases import Heartbeat, LeaseLost, LiveScorer, longest
from scoring.models import Trial
from scoring.persistence import retry_until_kept
from scoring.rules import PLATFORM_FAULTS
from scoring.runner import BatchAnswers, DefenseRunner, check_answers, converse
from scoring.trials import answers as kept
from scoring.trials import selectors, services, totals
from scoring.trials.order import TrialOrder
from scoring.trials.private_set import private_key
from scoring.trials.probe import altered
from scoring.trials.selectors import TrialPicture
from scoring.warm_session import FindRunner

Asked = tuple[TrialPicture, Variant]
Batch = plan.PlannedBatch[Asked]

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class TrialAnswers:
    """The answers of a defense until the end or until a fault of its own."""

    answers: dict[tuple[int, Variant], tuple[int, float, float]] = field(default_factory=dict)
    rows: int = 0
    nanoseconds: int = 0
    device: str = ""
    fault: Fault | None = None

    def add(self, batch: Batch, answers: BatchAnswers, nanoseconds: int) -> None:
        """Keep the answers to a batch, without those of its padding, and the time that all of it took."""
        self.nanoseconds += nanoseconds
        self.rows += len(batch.rows)
        given = zip(batch.rows[: batch.real], answers.labels.tolist(), answers.scores.tolist(), strict=False)
        for (question, variant), label, (bicycle, bird) in given:
            self.answers[question.picture, variant] = (label, bicycle, bird)

    def speed(self) -> dict[str, Any]:
        """Return the speed in rows, padding included and the start excluded."""
        milliseconds = self.nanoseconds // 1_000_000
        quick = {"rows": self.rows, "milliseconds": milliseconds}
        return {**quick, "pictures_per_minute": totals.per_minute(self.rows, milliseconds), "device": self.device}

    def labels(self, questions: Sequence[TrialPicture], variant: Variant) -> list[totals.Answered]:
        """Return the answers in the order of `questions`, None where a fault took their place."""
        given = (self.answers.get((question.picture, variant)) for question in questions)
        return [None if each is None else each[0] for each in given]

    def packed(self) -> bytes:
        """Return the answers as the table keeps them."""
        rows = ((picture, variant, *given) for (picture, variant), given in self.answers.items())
        return kept.pack_rows(rows)


def smoke_test_pictures(size: int, seed: int) -> Pixels:
    """Return uint8 pictures [N, size, size, 3] of released weeks, or those of the tutorial without any release."""
    published = selectors.smoke_pictures(size, seed)
    return load_arrays(published, size) if published else _tutorial_pictures(size)


def _tutorial_pictures(size: int) -> Pixels:
    files = [row["file"] for row in content.listed_pictures() if row["use"] == KnownUse.TUTORIAL]
    pictures = [read_dataset((content.PICTURES / file).read_bytes(), size=size).pixels for file in files]
    return np.frombuffer(b"".join(pictures), np.uint8).reshape(len(files), size, size, 3)


class ExaminableSession:
    """A session as the examination knows it; `name` and an empty log are those of a program that says neither."""

    def __init__(self, session: DefenseRunner, name: str) -> None:
        self._session, self._rows = session, 0
        self.name: str = getattr(session, "name", name)

    def send(self, images: Pixels) -> None:
        """Hand over a batch."""
        self._rows = len(images)
        self._session.send(images)

    def receive(self) -> BatchAnswers:
        """Return the checked answers to the oldest batch; the last fault brings the log along."""
        return check_answers(self._session.receive(), self._rows)

    def log(self) -> str:
        """Return the end of what it printed."""
        log: Callable[[], str] = getattr(self._session, "log", str)
        return log()

    def close(self) -> None:
        """End it."""
        self._session.close()


def trial_order(trial: Trial) -> TrialOrder:
    """Return the order of the pictures in a trial of this installation."""
    return TrialOrder(settings.SECRET_KEY, trial.kind, trial.defense_id, trial.number)


class TrialWork:
    """One trial in the hands of a scorer, which has nothing else open meanwhile."""

    def __init__(self, trial: Trial, scorer: LiveScorer, find_runner: FindRunner, device: str) -> None:
        self._trial, self._scorer, self._clock = trial, scorer, scorer.clock
        self._find_runner, self._device = find_runner, device
        self._kind, self._order = TrialKind(trial.kind), trial_order(trial)
        self._policy = policy_in_force(scorer.clock()).policy
        self._beat: Heartbeat | None = None
        self._ran_on = ""

    def work(self) -> None:
        """Finish the trial or record a fault of the platform; LeaseLost when another scorer has it now."""
        try:
            result = self._smoke() if self._kind is TrialKind.SMOKE else self._questions()
        except LeaseLost:
            raise
        except RunnerFault as fault:
            self._record(fault)
        except Exception as error:  # a full disk, an engine that is away: not the defense's doing
            self._record(self._around_it(error))
        else:
            retry_until_kept(lambda: services.trial_finish(self._trial, now=self._clock(), **result))
            log.info("trial_finished", trial=self._trial.pk, kind=self._kind.value)

    def _around_it(self, error: Exception) -> RunnerFault:
        """Return the fault for an error of the platform, without its text, which may name a private picture."""
        kind = type(error).__name__
        if self._kind is TrialKind.PRIVATE:
            log.error("trial_failed", trial=self._trial.pk, error=kind)
            return RunnerFault(Fault.PLATFORM, kind)
        log.exception("trial_failed", trial=self._trial.pk)
        return RunnerFault(Fault.PLATFORM, f"{kind}: {error}")

    def _record(self, fault: RunnerFault) -> None:
        state = retry_until_kept(lambda: leases.record_fault(self._trial, fault.fault, fault.text, now=self._clock()))
        log.warning("trial_fault", trial=self._trial.pk, fault=fault.fault.value, text=fault.text, state=state.value)

    def _heartbeat(self, batches: int, opened: int) -> Heartbeat:
        """Keep the lease for as long as all of this may take with every deadline used up (R30)."""
        most = longest(self._policy, batch_size=self._trial.batch_size, batches=batches, opened=opened)
        self._beat = Heartbeat(self._trial, self._scorer, until=self._clock() + most)
        return self._beat

    def _open(self, size: int, seed: int) -> DefenseRunner:
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
        pictures = smoke_test_pictures(self._policy.image_size, trial.seed)
        with self._heartbeat(ROUNDS * -(-len(pictures) // trial.batch_size), opened=ROUNDS):
            report = smoke_test_defense(
                partial(self._open_round, pictures.shape[1]),
                pictures,
                batch_size=trial.batch_size,
                seconds_per_picture=self._policy.seconds_per_picture,
                first_seed=trial.seed,
            )
        return _smoke_result(report, self._ran_on)

    def _open_round(self, size: int, seed: int) -> ExaminableSession:
        """Open it for a round, whose seed is the one after the round's before; after the highest comes 0."""
        session = self._open(size, seed % (1 << services.SEED_BITS))
        self._ran_on = session.device
        return ExaminableSession(session, self._trial.defense.name)

    # All others: pictures with a secret class.

    def _questions(self) -> dict[str, Any]:
        questions, found = self._asked_about(), TrialAnswers()
        sessions = [
            (size, self._batches(questions, size, variant))
            for size in sorted({question.size for question in questions})
            for variant in self._variants()
        ]
        with self._heartbeat(sum(len(batches) for _, batches in sessions), opened=len(sessions)) as heartbeat:
            for size, batches in sessions:
                if found.fault is None:
                    self._ask(size, batches, found, heartbeat)
        return self._result(questions, found)

    def _asked_about(self) -> list[TrialPicture]:
        size, trial = self._policy.image_size, self._trial
        if self._kind is TrialKind.PROBE:
            return selectors.probe_questions(size, self._order)
        if trial.private_set is None:
            return selectors.earlier_questions(now=self._clock())
        return selectors.private_questions(trial.private_set, size)

    def _variants(self) -> Sequence[Variant]:
        """Return the variants of each picture, each of which has a session of its own.

        In one session or in a known order, a defense could repeat its answer to the most similar picture.
        """
        if self._kind is not TrialKind.PROBE:
            return (Variant.PLAIN,)
        return self._order.of(Variant, lambda variant: variant.name)

    def _batches(self, questions: Sequence[TrialPicture], size: int, variant: Variant) -> list[Batch]:
        """Return the fixed batches: each variant of a picture has the same companions, so that only it differs."""
        own = [(question, variant) for question in questions if question.size == size]
        ordered = self._order.of(own, lambda asked: asked[0].pixels_sha256)
        return list(plan.picture_batches(ordered, batch_size=self._trial.batch_size))

    def _ask(self, size: int, batches: Sequence[Batch], found: TrialAnswers, heartbeat: Heartbeat) -> None:
        try:
            with closing(self._open(size, self._trial.seed)) as session:
                found.device = session.device
                for batch, answers, nanoseconds in converse(session, batches, self._load, heartbeat.check):
                    found.add(batch, answers, nanoseconds)
        except RunnerFault as fault:
            if fault.fault in PLATFORM_FAULTS:
                raise
            found.fault = fault.fault

    def _load(self, batch: Batch, out: Pixels) -> None:
        try:
            pictures = [
                altered(self._picture(question), variant, question.pixels_sha256) for question, variant in batch.rows
            ]
        except (PictureMissing, WrongPicture) as error:
            raise RunnerFault(Fault.PLATFORM, self._missing(error)) from None
        np.stack(pictures, out=out)

    def _picture(self, question: TrialPicture) -> Pixels:
        if self._kind is TrialKind.PRIVATE:  # the cache is for everybody on this machine
            return load_picture(question.pixels_sha256, question.size, private_key, cached=False)
        return load_picture(question.pixels_sha256, question.size)

    def _missing(self, error: Exception) -> str:
        if self._kind is not TrialKind.PRIVATE:
            return f"{type(error).__name__}: {error}"
        return (
            "A picture of the private set is not in the store or has another size than the contest's pictures now. "
            "Restore private/ from a backup of the store, or import a new set."
        )

    # What is kept.

    def _result(self, questions: Sequence[TrialPicture], found: TrialAnswers) -> dict[str, Any]:
        result = _probe_totals(questions, found) if self._kind is TrialKind.PROBE else _totals(questions, found)
        if self._kind is TrialKind.EARLIER:
            result[selectors.ASKED] = {"sha256": selectors.pictures_fingerprint(questions)}
        return {
            "totals": {**result, **found.speed()},
            "answers": found.packed(),
            "device": found.device[:120],
            "fault": found.fault or "",
            # The words of the closed list, never text of the defense about these pictures.
            "fault_text": WORDS[found.fault].meaning if found.fault else "",
        }


def _totals(questions: Sequence[TrialPicture], found: TrialAnswers, variant: Variant = Variant.PLAIN) -> dict[str, Any]:
    labels = [question.label for question in questions]
    return asdict(totals.count_answers(zip(labels, found.labels(questions, variant), strict=True)))


def _probe_totals(questions: Sequence[TrialPicture], found: TrialAnswers) -> dict[str, Any]:
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


def _smoke_result(report: ExaminationReport, device: str) -> dict[str, Any]:
    """Return the result of an examination; RunnerFault for a fault of the platform, so that it is tried again."""
    first = report.faults[0] if report.faults else None
    if first is not None and Fault(first.code) in PLATFORM_FAULTS:
        raise RunnerFault(Fault(first.code), first.text)
    seconds = sum(sum(one.batch_seconds) for one in report.rounds)
    result = {
        "accepted": report.accepted,
        "pictures": report.pictures,
        "rounds": len(report.rounds),
        "answers": report.counts,
        "changed": report.changed,
        "pictures_per_minute": totals.per_minute(report.pictures * len(report.rounds), round(seconds * 1000)),
        "device": device,
    }
    return {
        "totals": result,
        "log": report.to_text(),
        "device": device[:120],
        "fault": first.code if first else "",
        "fault_text": first.text if first else "",
    }
