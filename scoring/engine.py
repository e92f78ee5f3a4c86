"""Works the queue of runs: claim, read the pictures, ask the defense batch by batch, keep the answers.

A run is kept whole or not at all. Nothing that a defense does, and no picture that is missing, stops the runs of
others: it ends as a fault of this run (R30). A killed worker leaves a lease that runs out.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from threading import Event, Thread
from types import TracebackType

import structlog
from django.db import connection

from scoring import plan, selectors, services
from scoring.arrays import load_arrays
from scoring.enums import Fault
from scoring.inference import choose_device
from scoring.models import Defense, Prediction, Run, RunItem
from scoring.runner import Answers, Runner, RunnerFault, Session, check_answers, runner_for

Clock = Callable[[], datetime]
HEARTBEAT_SECONDS = 15.0
_LONGEST_LATENCY = 2**31 - 1  # what the column holds: 35 minutes for one batch

log = structlog.get_logger(__name__)


def work_one(*, worker: str, clock: Clock, device: str, find_runner: Callable[[Defense], Runner] = runner_for) -> bool:
    """Do the next waiting run, if there is one, and say whether there was.

    `device` is the setting `auto`, `cpu` or `cuda`; a device that is not there raises InvalidInput before anything
    is claimed. A fault of the run is recorded, never raised; errors of the database are raised.
    """
    if not selectors.runs_waiting(now=clock()).exists():
        return False
    chosen = choose_device(device)
    run = services.run_claim(worker=worker, now=clock())
    if run is None:  # somebody else was quicker
        return False
    try:
        _work(run, clock, chosen, find_runner)
    except services.LeaseLost as lost:
        log.warning("run_lost", run=run.pk, attempt=run.attempt, reason=lost.message)
    return True


def _work(run: Run, clock: Clock, device: str, find_runner: Callable[[Defense], Runner]) -> None:
    try:
        with Heartbeat(run, clock) as heartbeat:
            predictions, device_text = _ask(run, clock, device, find_runner, heartbeat)
    except services.LeaseLost:
        raise
    except RunnerFault as fault:
        _record(run, fault.fault, fault.text, clock)
    except Exception as error:  # a missing picture, a full disk: not the defense's doing
        log.exception("run_failed", run=run.pk)
        _record(run, Fault.PLATFORM, f"{type(error).__name__}: {error}", clock)
    else:
        services.run_finish(run, predictions, device=device_text, now=clock())
        log.info("run_finished", run=run.pk, defense=run.defense.name, pictures=len(predictions), device=device_text)


def _record(run: Run, fault: Fault, text: str, clock: Clock) -> None:
    state = services.run_fault(run, fault, text, now=clock())
    log.warning("run_fault", run=run.pk, attempt=run.attempt, fault=fault.value, state=state.value, text=text)


def _ask(
    run: Run, clock: Clock, device: str, find_runner: Callable[[Defense], Runner], heartbeat: "Heartbeat"
) -> tuple[list[Prediction], str]:
    """Return the run's predictions, not yet saved, and the device that made them."""
    items = selectors.run_items(run)
    size = items[0].image.width
    session = find_runner(run.defense).open(
        run.defense, device=device, image_size=size, batch_size=run.batch_size, seed=run.seed
    )
    predictions: list[Prediction] = []
    try:
        for batch in plan.batches(items, batch_size=run.batch_size):
            heartbeat.check()
            answers, latency_us = _answers(session, batch, size)
            predictions += _predictions(run, batch, answers, session.device, latency_us, clock())
    finally:
        session.close()
    return predictions, session.device


def _answers(session: Session, batch: plan.Batch[RunItem], size: int) -> tuple[Answers, int]:
    """Return a batch's checked answers and how long the defense took, in microseconds."""
    images = load_arrays([item.image.pixels_sha256 for item in batch.rows], size)
    started = time.perf_counter_ns()
    answers = session.predict(images)
    latency_us = (time.perf_counter_ns() - started) // 1000
    return check_answers(answers, len(batch.rows)), min(latency_us, _LONGEST_LATENCY)


def _predictions(
    run: Run, batch: plan.Batch[RunItem], answers: Answers, device: str, latency_us: int, now: datetime
) -> list[Prediction]:
    """Turn the rows that count into facts; the padding's answers are dropped."""
    return [
        Prediction(
            item=item,
            image=item.image,
            defense=run.defense,
            round=run.round,
            answer=int(answers.labels[row]),
            score_bicycle=float(answers.scores[row, 0]),
            score_bird=float(answers.scores[row, 1]),
            pixels_sha256=item.image.pixels_sha256,
            defense_digest=run.defense.digest,
            device=device[:120],
            batch_size=run.batch_size,
            batch=batch.number,
            row=row,
            seed=run.seed,
            attempt=run.attempt,
            latency_us=latency_us,
            predicted_at=now,
        )
        for row, item in enumerate(batch.rows[: batch.real])
    ]


class Heartbeat(AbstractContextManager["Heartbeat"]):
    """Keeps a run's lease from a thread of its own: one batch may take longer than a lease."""

    def __init__(self, run: Run, clock: Clock, every: float = HEARTBEAT_SECONDS) -> None:
        self._run, self._clock, self._every = run, clock, every
        self._stopped = Event()
        self._lost: services.LeaseLost | None = None
        self._thread = Thread(target=self._beat, name=f"heartbeat of run {run.pk}", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._thread.join()

    def check(self) -> None:
        """Raise LeaseLost when a beat found that the run is somebody else's now."""
        if self._lost is not None:
            raise self._lost

    def _beat(self) -> None:
        try:
            while self._lost is None and not self._stopped.wait(self._every):
                self._renew()
        finally:
            connection.close()  # a thread's connection is its own

    def _renew(self) -> None:
        try:
            services.run_heartbeat(self._run, now=self._clock())
        except services.LeaseLost as lost:
            self._lost = lost
        except Exception:  # the database is away for a moment: the next beat tries again, the lease allows three
            log.exception("heartbeat_failed", run=self._run.pk)
            connection.close()
