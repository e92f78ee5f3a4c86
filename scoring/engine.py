"""Works the queue of runs: claim, load pictures, ask the defense in batches, store answers.

A run is kept whole or not at all. Nothing that a defense does, and no picture that is missing, stops the runs of
others: it ends as a fault of this run (R30), and a picture that a defense cannot bear is parted from its companions. A
killed scorer leaves a lease that runs out.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

import structlog

from picture_files.store import PictureMissing
from policy.selectors import policy_in_force
from scoring import leases, plan, selectors, services
from scoring.arrays import Pixels, WrongPicture, load_arrays, load_picture
from scoring.enums import Fault
from scoring.inference import choose_device, name_device
from scoring.leases import Heartbeat, LeaseLost, longest
from scoring.models import Run
from scoring.persistence import retry_until_kept
from scoring.runner import BatchAnswers, BatchFault, RunnerFault, converse
from scoring.selectors import PlannedPicture
from scoring.services import DefensePrediction
from scoring.trials.selectors import trial_waits_longest
from scoring.trials.services import trial_claim
from scoring.trials.work import TrialWork
from scoring.warm_session import FindRunner, WarmSession

Clock = Callable[[], datetime]
Batch = plan.PlannedBatch[PlannedPicture]
_LONGEST_LATENCY = 2**31 - 1  # what the column holds: 35 minutes for one batch

log = structlog.get_logger(__name__)


class ScoringEngine(AbstractContextManager["ScoringEngine"]):
    """One process that scores on one device: `device` is the setting `auto`, `cpu` or `cuda`.

    A device that is not there raises InvalidInput before anything is claimed.
    """

    def __init__(self, *, name: str, clock: Clock, device: str, runtime: str = "", find_runner: FindRunner) -> None:
        self.name, self.clock, self.runtime = name, clock, runtime
        self._device_setting, self._find_runner = device, find_runner
        self._warm: WarmSession | None = None

    def __exit__(self, *_: object) -> None:
        self.close()

    def work_one(self) -> bool:
        """Do what waits longest, a run or a trial, and say whether there was one; with nothing to do, rest the device.

        A fault of the work is recorded, never raised; errors of the database are raised.
        """
        if trial_waits_longest(now=self.clock()):
            return self._work_trial()
        return self._work_run()

    def _work_trial(self) -> bool:
        device = choose_device(self._device_setting)
        self.close()  # one defense has a device to itself
        trial = trial_claim(worker=self.name, now=self.clock())
        if trial is None:  # somebody else was quicker
            return False
        try:
            TrialWork(trial, self, self._find_runner, device).work()
        except LeaseLost as lost:
            log.warning("trial_lost", trial=trial.pk, attempt=trial.attempt, reason=lost.message)
        return True

    def _work_run(self) -> bool:
        if not leases.waiting(Run, now=self.clock()).exists():
            self.rest()
            return False
        warm = self._warm = self._warm or WarmSession(self._find_runner, choose_device(self._device_setting))
        run = services.run_claim(worker=self.name, now=self.clock(), preferred=warm.preferred)
        if run is None:  # somebody else was quicker
            return False
        try:
            RunWork(run, warm, self).work()
        except LeaseLost as lost:
            log.warning("run_lost", run=run.pk, attempt=run.attempt, reason=lost.message)
            warm.drop()
        return True

    def seen(self, held: str) -> None:
        """Show in the overview that this scorer is alive and what it holds."""
        device = name_device(choose_device(self._device_setting))
        services.scorer_seen(self.name, device=device, runtime=self.runtime, held=held, now=self.clock())

    def rest(self) -> None:
        """End what is loaded, or try."""
        if self._warm is not None:
            self._warm.drop()

    def close(self) -> None:
        """End what is loaded; RunnerFault when it does not go away."""
        if self._warm is not None:
            self._warm.close()


class RunWork:
    """One run in the hands of a scorer."""

    def __init__(self, run: Run, warm: WarmSession, scorer: ScoringEngine) -> None:
        self._run, self._warm, self._scorer, self._clock = run, warm, scorer, scorer.clock
        self._items = selectors.run_items(run)
        self._size = self._items[0].width

    def work(self) -> None:
        """Answer the run or record what went wrong; LeaseLost when another scorer has it now."""
        try:
            with Heartbeat(self._run, self._scorer, until=self._deadline()) as heartbeat:
                answers, device = self._ask(heartbeat)
        except LeaseLost:
            raise
        except RunnerFault as fault:
            self._record(fault)
        except Exception as error:  # a full disk, an engine that is away: not the defense's doing
            log.exception("run_failed", run=self._run.pk)
            self._record(RunnerFault(Fault.PLATFORM, f"{type(error).__name__}: {error}"))
        else:
            self._finish(answers, device)

    def _deadline(self) -> datetime:
        size, now = self._run.batch_size, self._clock()
        return now + longest(policy_in_force(now).policy, batch_size=size, batches=-(-len(self._items) // size))

    def _finish(self, answers: Sequence[DefensePrediction], device: str) -> None:
        retry_until_kept(lambda: services.run_finish(self._run, answers, device=device, now=self._clock()))
        if self._run.fresh:
            self._warm.drop()
        name = self._run.defense.name
        log.info("run_finished", run=self._run.pk, defense=name, pictures=len(answers), device=device)

    def _record(self, fault: RunnerFault) -> None:
        self._warm.drop()
        retry_until_kept(lambda: self._keep(fault, self._clock()))

    def _keep(self, fault: RunnerFault, now: datetime) -> None:
        run, items = self._run, fault.items if isinstance(fault, BatchFault) else ()
        told = {"run": run.pk, "attempt": run.attempt, "fault": fault.fault.value, "text": fault.text}
        if items and services.run_part(run, items, fault.fault, fault.text, now=now):
            log.warning("run_parted", pictures=len(items), **told)
            return
        state = leases.record_fault(run, fault.fault, fault.text, now=now)
        log.warning("run_fault", state=state.value, **told)

    def _ask(self, heartbeat: Heartbeat) -> tuple[list[DefensePrediction], str]:
        """Return the run's answers, not yet saved, and the device that made them."""
        session = self._warm.session(self._run, self._size, cancelled=heartbeat.is_lost)
        batches = list(plan.picture_batches(self._items, batch_size=self._run.batch_size))
        answered: list[DefensePrediction] = []
        for batch, answers, nanoseconds in converse(session, batches, self._load, heartbeat.check):
            answered += self._answered(batch, answers, min(nanoseconds // 1000, _LONGEST_LATENCY))
        return answered, session.device

    def _load(self, batch: Batch) -> Pixels:
        """Read a batch; the pictures that the store does not have, or has wrongly, are parted from the others."""
        try:
            return load_arrays([item.pixels_sha256 for item in batch.rows], self._size)
        except (PictureMissing, WrongPicture):
            bad = {item: text for item in batch.rows[: batch.real] if (text := self._missing(item))}
            if not bad:  # the padding's, which have a batch of their own
                raise
            raise BatchFault(RunnerFault(Fault.PLATFORM, "; ".join(bad.values())), list(bad)) from None

    def _missing(self, item: PlannedPicture) -> str:
        try:
            load_picture(item.pixels_sha256, self._size)
        except (PictureMissing, WrongPicture) as error:
            return f"{type(error).__name__}: {error}"
        return ""

    def _answered(self, batch: Batch, answers: BatchAnswers, latency_us: int) -> list[DefensePrediction]:
        """Turn the rows that count into facts; the padding's answers are dropped."""
        now, items = self._clock(), batch.rows[: batch.real]
        told = zip(items, answers.labels.tolist(), answers.scores.tolist(), strict=False)
        return [
            DefensePrediction(
                item_id=item.pk,
                image_id=item.image_id,
                answer=answer,
                score_bicycle=bicycle,
                score_bird=bird,
                pixels_sha256=item.pixels_sha256,
                batch=batch.number,
                row=row,
                latency_us=latency_us,
                predicted_at=now,
            )
            for row, (item, answer, (bicycle, bird)) in enumerate(told)
        ]
