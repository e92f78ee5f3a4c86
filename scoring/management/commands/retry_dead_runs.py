"""`retry_dead_runs`: queues runs and trials again that gave up after faults of the platform."""

from typing import Any

from common.audit.origin import RecordedCommand
from common.domain_clock import domain_now
from scoring.services import runs_retry
from scoring.trials.services import trials_retry


class Command(RecordedCommand):
    """For after a mended worker, store or device; faults of the defenses themselves stay as they are (R30)."""

    help = "Queue again the runs and trials that ended in a fault of the platform."
    example = "./unanimous retry_dead_runs"

    def handle(self, *args: Any, **options: Any) -> None:
        """Queue them and say how many."""
        now = domain_now()
        self.stdout.write(f"{runs_retry(now=now)} runs queued again, {trials_retry(now=now)} trials")
