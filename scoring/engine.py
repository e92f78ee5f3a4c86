"""The scoring engine: claims the run or trial that waits longest, and has the defense answer it.

No defense and no missing picture stops the runs of others: each error ends as a fault of its own run (R30), and a
picture on which a defense fails is separated from the other pictures of its batch. A killed scorer leaves a lease,
which expires.
"""

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from datetime import datetime

import structlog

from scoring import leases, services
from scoring.inference import choose_device, name_device, tune_process
from scoring.leases import LeaseLost
from scoring.models import Run
from scoring.run_work import RunWork
from scoring.trials.selectors import trial_waits_longest
from scoring.trials.services import trial_claim
from scoring.trials.work import TrialWork
from scoring.warm_session import FindRunner, WarmSession

Clock = Callable[[], datetime]

log = structlog.get_logger(__name__)


class ScoringEngine(AbstractContextManager["ScoringEngine"]):
    """One process that scores on one device: `device` is the setting `auto`, `cpu` or `cuda`.

    A device that is not there raises InvalidInput before anything is claimed. Work of the defenses `left_out` (their
    keys) is left to other scorers.
    """

    def __init__(self, *, name: str, clock: Clock, device: str, runtime: str = "", find_runner: FindRunner) -> None:
        self.name, self.clock, self.runtime = name, clock, runtime
        self.left_out: Collection[int] = ()
        tune_process()
        self._device_setting, self._find_runner = device, find_runner
        self._warm: WarmSession | None = None

    def __exit__(self, *_: object) -> None:
        self.close()

    def work(self) -> int:
        """Do the work that waits longest: a trial, or a run and more runs for the same session, for some seconds.

        Return how many were done; without work, release the device. A fault of the work is recorded, never raised;
        errors of the database are raised.
        """
        if trial_waits_longest(now=self.clock(), left_out=self.left_out):
            return self._work_trial()
        return self._work_runs()

    def _work_trial(self) -> int:
        device = choose_device(self._device_setting)
        self.close()  # one defense has a device to itself
        trial = trial_claim(worker=self.name, now=self.clock(), left_out=self.left_out)
        if trial is None:  # somebody else was quicker
            return 0
        try:
            TrialWork(trial, self, self._find_runner, device).work()
        except LeaseLost as lost:
            log.warning("trial_lost", trial=trial.pk, attempt=trial.attempt, reason=lost.message)
        return 1

    def _work_runs(self) -> int:
        if not leases.waiting(Run, now=self.clock(), left_out=self.left_out).exists():
            self.rest()
            return 0
        warm = self._warm = self._warm or WarmSession(self._find_runner, choose_device(self._device_setting))
        run = services.run_claim(worker=self.name, now=self.clock(), preferred=warm.preferred, left_out=self.left_out)
        return RunWork(warm, self).work(run) if run else 0  # somebody else was quicker

    def seen(self, held: str) -> None:
        """Show in the overview that this scorer is alive and what it holds."""
        device = name_device(choose_device(self._device_setting))
        services.scorer_seen(self.name, device=device, runtime=self.runtime, held=held, now=self.clock())

    def rest(self) -> None:
        """Try to end the loaded session."""
        if self._warm is not None:
            self._warm.drop()

    def close(self) -> None:
        """End the loaded session; RunnerFault when it does not end."""
        if self._warm is not None:
            self._warm.close()
