"""Executes runs: reads their pictures, gets the defense's predictions in batches, stores them.

A run is kept whole or not at all. While the last batches of a run are answered, the next one for the same session is
claimed and read, and while its first ones are answered, the run before is kept: the defense does not wait in between.
"""

import time
from collections import deque
from collections.abc import Collection, Generator, Iterator
from contextlib import closing
from datetime import datetime
from typing import Protocol

import structlog
from django.db import connection

from common.outages import outages
from picture_files.store import PictureMissing
from policy.selectors import policy_in_force
from scoring import leases, plan, rules, selectors, services
from scoring.arrays import Pixels, WrongPicture, load_picture, read_arrays
from scoring.enums import Fault
from scoring.leases import Heartbeat, LeaseLost, LiveScorer, longest
from scoring.models import Run
from scoring.persistence import DATABASE_AWAY, retry_until_kept
from scoring.runner import MAX_UNANSWERED, BatchAnswers, BatchFault, RunnerFault, converse
from scoring.selectors import PlannedPicture
from scoring.services import DefensePrediction
from scoring.trials.selectors import trial_waits_longest
from scoring.warm_session import WarmSession

Batch = plan.PlannedBatch[PlannedPicture]
# Afterwards the caller gets control: to end, or to check the clock.
JOIN_SECONDS = 15.0
_MAX_LATENCY_US = 2**31 - 1  # what the column holds: 35 minutes for one batch
_CLAIMING = "claiming ahead"

log = structlog.get_logger(__name__)


class RunScorer(LiveScorer, Protocol):
    """The scorer that holds the runs; it does nothing for the defenses `left_out`."""

    name: str
    left_out: Collection[int]


class HeldRun:
    """A leased run: its plan, the heartbeat that renews the lease until `close`, and the answers so far.

    A run that is `alone` shares the session with no other.
    """

    def __init__(self, run: Run, scorer: RunScorer, *, alone: bool = False) -> None:
        self.run, self.alone, self._clock = run, alone, scorer.clock
        self.items = selectors.run_items(run)
        self.size = self.items[0].width
        self.batches = list(plan.picture_batches(self.items, batch_size=run.batch_size))
        self.answers: list[DefensePrediction] = []
        now, most = self._clock(), len(self.batches) + MAX_UNANSWERED  # those of the run before have their time too
        until = now + longest(policy_in_force(now).policy, batch_size=run.batch_size, batches=most)
        self.heartbeat = Heartbeat(run, scorer, until=until)
        self.heartbeat.__enter__()

    def close(self) -> None:
        """Stop renewing the lease."""
        self.heartbeat.__exit__(None, None, None)

    def is_answered(self) -> bool:
        """Say whether every picture has its answer."""
        return len(self.answers) == len(self.items)

    def add(self, batch: Batch, answers: BatchAnswers, latency_us: int) -> None:
        """Add the answers of a batch; answers of padding rows are dropped."""
        now, items = self._clock(), batch.rows[: batch.real]
        told = zip(items, answers.labels.tolist(), answers.scores.tolist(), strict=False)
        self.answers += [
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


class RunWork:
    """Runs that follow each other in one session.

    Held runs have leases: the first is being answered or stored; the others are unanswered, and are given back if the
    first is interrupted.
    """

    def __init__(self, warm: WarmSession, scorer: RunScorer) -> None:
        self._warm, self._scorer, self._clock = warm, scorer, scorer.clock
        self._held: deque[HeldRun] = deque()
        self._join_until = time.monotonic() + JOIN_SECONDS
        self._done = 0

    def work(self, run: Run) -> int:
        """Answer the run and those that join it, or record what went wrong; return how many runs were in hand."""
        try:
            self._held.append(HeldRun(run, self._scorer))
            while self._held:
                with closing(self._answered()) as answered:
                    while self._next(answered):
                        self._finish()
        finally:
            self._let_go()
        return self._done

    def _next(self, answered: Iterator[None]) -> bool:
        """Say whether the first run has all its answers; record an error and return False."""
        try:
            next(answered)
        except StopIteration:
            return False
        except LeaseLost as lost:
            self._interrupted()
            self._lose(lost)
        except RunnerFault as fault:
            self._fault(fault)
        except Exception as error:  # a full disk, an engine that is away: not the defense's doing
            log.exception("run_failed", run=self._held[0].run.pk)
            self._fault(RunnerFault(Fault.PLATFORM, f"{type(error).__name__}: {error}"))
        else:
            return True
        return False

    def _answered(self) -> Generator[None]:
        """Answer the held runs and those that join them; yield whenever the first has all its answers."""
        first = self._held[0]
        session = self._warm.session(first.run, first.size, cancelled=lambda: self._held[0].heartbeat.is_lost())
        for batch, answers, nanoseconds in converse(session, self._batches(first), self._load, self._check):
            self._held[0].add(batch, answers, min(nanoseconds // 1000, _MAX_LATENCY_US))
            self._device = session.device
            if self._held[0].is_answered():
                yield

    def _batches(self, first: HeldRun) -> Iterator[Batch]:
        joined: HeldRun | None = first
        while joined is not None:
            yield from joined.batches
            joined = self._join(joined)

    def _join(self, before: HeldRun) -> HeldRun | None:
        """Claim the next run for the open session; None when there is none, or something else has its turn."""
        now, preferred = self._clock(), self._warm.preferred
        if before.alone or before.run.fresh or preferred is None or time.monotonic() >= self._join_until:
            return None
        try:
            if trial_waits_longest(now=now, left_out=self._scorer.left_out):
                return None
            run = services.run_claim_alike(worker=self._scorer.name, now=now, preferred=preferred)
            if run is None:
                return None
            self._held.append(HeldRun(run, self._scorer))
        except DATABASE_AWAY as error:
            # Answers under way are stored when the database is back; the next claim meets the same error.
            outages.failed(_CLAIMING, error)
            connection.close()
            return None
        outages.succeeded(_CLAIMING)
        return self._held[-1] if self._warm.joined(run, self._held[-1].size) else None

    def _check(self) -> None:
        self._held[0].heartbeat.check()

    def _load(self, batch: Batch, out: Pixels) -> None:
        """Read a batch; split off pictures that are missing or wrong in the store."""
        try:
            read_arrays([item.pixels_sha256 for item in batch.rows], out)
        except (PictureMissing, WrongPicture):
            bad = {item: text for item in batch.rows[: batch.real] if (text := _missing(item))}
            if not bad:  # the padding's, which have a batch of their own
                raise
            raise BatchFault(RunnerFault(Fault.PLATFORM, "; ".join(bad.values())), list(bad)) from None

    # The end of the first held run

    def _finish(self) -> None:
        held, device = self._held[0], self._device
        try:
            retry_until_kept(lambda: services.run_finish(held.run, held.answers, device=device, now=self._clock()))
        except LeaseLost as lost:
            self._lose(lost)
            return
        if held.run.fresh:
            self._warm.drop()
        name = held.run.defense.name
        log.info("run_finished", run=held.run.pk, defense=name, pictures=len(held.answers), device=device)
        self._leave()

    def _fault(self, fault: RunnerFault) -> None:
        """Record a fault of the first run, or repeat it where another run may have caused the fault."""
        with_others = len(self._held) > 1
        self._interrupted()
        run = self._held[0].run
        if fault.killed and rules.is_own_kill(run.kills + 1):
            fault.fault, fault.text = Fault.CRASHED, f"{fault.text}, on {rules.MAX_TRIES} tries"
        if with_others and fault.fault in rules.DEFENSE_FAULTS:
            log.warning("run_asked_alone", run=run.pk, attempt=run.attempt, text=fault.text)
            self._held.popleft().close()
            self._held.append(HeldRun(run, self._scorer, alone=True))
            return
        try:
            retry_until_kept(lambda: self._record(run, fault, self._clock()))
        except LeaseLost as lost:
            self._lose(lost)
        else:
            self._leave()

    def _record(self, run: Run, fault: RunnerFault, now: datetime) -> None:
        # A run that was killed once or twice stays whole: the machine may have done it, whatever the pictures.
        is_tried_again = fault.killed and fault.fault is Fault.PLATFORM
        items = fault.items if isinstance(fault, BatchFault) and not is_tried_again else ()
        told = {"run": run.pk, "attempt": run.attempt, "fault": fault.fault.value, "text": fault.text}
        if items and services.run_part(run, items, fault.fault, fault.text, now=now):
            log.warning("run_parted", pictures=len(items), **told)
            return
        state = leases.record_fault(run, fault.fault, fault.text, now=now, kills=run.kills + fault.killed)
        log.warning("run_fault", state=state.value, **told)

    def _lose(self, lost: LeaseLost) -> None:
        run = self._held[0].run
        log.warning("run_lost", run=run.pk, attempt=run.attempt, reason=lost.message)
        self._leave()

    def _leave(self) -> None:
        self._held.popleft().close()
        self._done += 1

    def _interrupted(self) -> None:
        """End the session, in which batches may be under way, and give back all runs but the first."""
        self._warm.drop()
        while len(self._held) > 1:
            held = self._held.pop()
            held.close()
            leases.give_back(held.run)

    def _let_go(self) -> None:
        """After a fatal error let the first run's lease expire, which counts as a try, and give the others back.

        Batches may be under way then, whose answers must not come to the next run.
        """
        try:
            if self._held:
                self._warm.drop()
        finally:
            for held in self._held:
                held.close()
            for held in list(self._held)[1:]:
                leases.give_back(held.run)


def _missing(item: PlannedPicture) -> str:
    try:
        load_picture(item.pixels_sha256, item.width)
    except (PictureMissing, WrongPicture) as error:
        return f"{type(error).__name__}: {error}"
    return ""
