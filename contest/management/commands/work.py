"""Work the queues without a broker: the same sweeps as the beat's, twice a second."""

import signal
import threading
from typing import Any

import structlog
from django.core.management.base import CommandParser
from django.db import close_old_connections

from common.commands import ContestCommand
from contest.pipeline import QUEUES, Sweep, swept

IDLE_SECONDS = 0.5
AFTER_ERROR_SECONDS = 5.0
log = structlog.get_logger(__name__)


class Command(ContestCommand):
    """Ends at SIGTERM or Ctrl-C, after the sweep at hand."""

    help = __doc__
    example = "./unanimous work --queue gpu"

    def add_arguments(self, parser: CommandParser) -> None:
        """Choose the queues."""
        parser.add_argument("--queue", action="append", choices=list(QUEUES), help="repeatable; all when none is named")

    def handle(self, *args: Any, **options: Any) -> None:
        """Sweep until told to stop."""
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        sweeps = {name: sweep for queue in options["queue"] or QUEUES for name, sweep in QUEUES[queue].items()}
        while not stop.is_set():
            pause = max(_run(name, sweep) for name, sweep in sweeps.items() if not stop.is_set())
            stop.wait(pause)


def _run(name: str, sweep: Sweep) -> float:
    """Run one sweep; return how long to rest. An error is logged and the other sweeps go on."""
    try:
        done = swept(name, sweep)
    except Exception:
        # Whatever it was, the rows say what is left to do; the next round tries again.
        log.exception("sweep failed", sweep=name)
        close_old_connections()
        return AFTER_ERROR_SECONDS
    if done:
        log.info("sweep", sweep=name, done=done)
    return 0.0 if done else IDLE_SECONDS
