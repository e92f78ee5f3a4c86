"""`work`: runs the sweeps (periodic jobs) without a broker, as soon as the database changes."""

import signal
import threading
import time
from collections.abc import Callable
from enum import Enum
from typing import Any

import structlog
from django.core.management.base import CommandParser
from django.db import Error, close_old_connections

from common.commands import ContestCommand
from common.database.changes import change_mark
from common.outages import outages
from common.queues import Sweep
from contest.operations.pipeline import QUEUES, SWEEPS, run_sweep

# Work that becomes due by time alone, such as a lease's end, is found after this long without a change.
MAX_SECONDS_BETWEEN_ROUNDS = 15.0
log = structlog.get_logger(__name__)


class SweepResult(Enum):
    """The result of a sweep. The value is how many seconds to rest afterwards."""

    WORKED = 0.0
    QUIET = 0.5
    FAILED = 5.0


class Command(ContestCommand):
    """Ends at SIGTERM or Ctrl-C, after the sweep at hand."""

    help = __doc__
    example = "./unanimous work --queue gpu"

    def add_arguments(self, parser: CommandParser) -> None:
        """Choose the queues."""
        parser.add_argument("--queue", action="append", choices=QUEUES, help="repeatable; all when none is named")

    def handle(self, *args: Any, **options: Any) -> None:
        """Sweep until told to stop."""
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        sweeps = [each for each in SWEEPS if each.queue in (options["queue"] or QUEUES)]
        rounds = SweepRounds()
        while not stop.is_set():
            results = {SweepResult.QUIET}
            if rounds.is_due():
                results |= {_run(each) for each in sweeps if not stop.is_set()}
                rounds.ended(again=results != {SweepResult.QUIET})
            stop.wait(_rest(results))


class SweepRounds:
    """Decides when all sweeps run: after a commit of another process, after a round that did something or failed, and
    from time to time. A quiet database costs one query each half second."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic, self._mark, self._latest = monotonic, "", float("-inf")

    def is_due(self) -> bool:
        """Say whether to run a round now; commits from this moment on make the next one due."""
        mark, now = _mark(), self._monotonic()
        if mark == self._mark and now < self._latest + MAX_SECONDS_BETWEEN_ROUNDS:
            return False
        self._mark, self._latest = mark, now
        return True

    def ended(self, *, again: bool) -> None:
        """Note the end of a round, and whether another one follows regardless of the database's mark."""
        if again:
            self._latest = float("-inf")


def _mark() -> str:
    """Return the database's mark; while there is no database, let the sweeps run, which say so in the log.

    Always on one connection: SQLite's mark compares commits with those that this connection saw before. One that the
    server ended meanwhile is noticed here, and fails no sweep.
    """
    try:
        return change_mark()
    except Error:
        close_old_connections()
        return f"away at {time.monotonic()}"


def _run(sweep: Sweep) -> SweepResult:
    """Run one sweep. An error is logged and the other sweeps go on."""
    try:
        done = run_sweep(sweep)
    except Exception as error:
        # Whatever the error, the rows hold the remaining work; the next round tries again.
        if not outages.failed(sweep.name, error):
            log.exception("sweep failed", sweep=sweep.name)
        close_old_connections()
        return SweepResult.FAILED
    outages.succeeded(sweep.name)
    if done:
        log.info("sweep", sweep=sweep.name, done=done)
    return SweepResult.WORKED if done else SweepResult.QUIET


def _rest(results: set[SweepResult]) -> float:
    """Return the seconds to rest after a round: longest after a failure, none after work alone."""
    if SweepResult.FAILED in results:
        return SweepResult.FAILED.value
    return SweepResult.WORKED.value if SweepResult.WORKED in results else SweepResult.QUIET.value
