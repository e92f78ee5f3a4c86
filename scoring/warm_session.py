"""Keeps a defense loaded from one run to the next."""

from collections.abc import Callable

import structlog

from defense_kit.harness import never_stopped
from scoring.models import Defense, Run
from scoring.runner import DefenseRunner, Runner, RunnerFault
from scoring.services import PreferredRuns

# Afterwards the work that waits longest has its turn: runs of the loaded defense must not block others for ever.
MAX_RUNS_IN_A_ROW = 32

log = structlog.get_logger(__name__)
FindRunner = Callable[[Defense], Runner]
_Wanted = tuple[PreferredRuns, str, int, int, int]


class WarmSession:
    """Keeps a session open from run to run, never two at a time: one defense has a device to itself."""

    def __init__(self, find_runner: FindRunner, device: str) -> None:
        self._find_runner, self._device = find_runner, device
        # What the session was opened for; another run may use it only if all of this is the same.
        self._loaded: _Wanted | None = None
        self._session: DefenseRunner | None = None
        self._cancelled: Callable[[], bool] = never_stopped
        self._runs = 0

    @property
    def preferred(self) -> PreferredRuns | None:
        """Return which runs fit the open session; None without a session, and after each MAX_RUNS_IN_A_ROW runs."""
        return None if self._loaded is None or self._runs % MAX_RUNS_IN_A_ROW == 0 else self._loaded[0]

    def session(self, run: Run, image_size: int, cancelled: Callable[[], bool] = never_stopped) -> DefenseRunner:
        """Return a session for `run`: the open one if it is for the same, else a new one; RunnerFault if none starts.

        A fresh run always gets a new one (R29). From now on `cancelled` says whether to stop waiting for answers.
        """
        self._cancelled = cancelled
        wanted = _wanted(run, image_size)
        if self._session is None or self._loaded != wanted or run.fresh:
            self.close()
            runner = self._find_runner(run.defense)
            self._session = runner.open(
                run.defense,
                device=self._device,
                image_size=image_size,
                batch_size=run.batch_size,
                seed=run.seed,
                attempt=f"run {run.pk}, attempt {run.attempt}",
                cancelled=lambda: self._cancelled(),
            )
            self._loaded = wanted
        self._runs += 1
        return self._session

    def joined(self, run: Run, image_size: int) -> bool:
        """Say whether the open session is for this run too, and note that it is used for it."""
        fits = self._loaded == _wanted(run, image_size)
        self._runs += fits
        return fits

    def close(self) -> None:
        """End the open session, if there is one; RunnerFault when it does not go away, and then it is still held.

        Nothing else is opened before it is gone.
        """
        self._loaded, self._runs = None, 0  # a session that could not be closed serves no other run
        if self._session is not None:
            self._session.close()
        self._session = None

    def drop(self) -> None:
        """End the open session; if it does not end, closing is tried again before the next is opened."""
        loaded = self._loaded
        try:
            self.close()
        except RunnerFault as fault:
            log.error("session_not_closed", loaded=loaded, text=fault.text)


def _wanted(run: Run, image_size: int) -> _Wanted:
    alike = PreferredRuns(run.defense_id, run.round, run.rerun_id)
    return alike, run.defense.digest, run.seed, run.batch_size, image_size
