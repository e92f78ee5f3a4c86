"""`settle`: runs all sweeps (periodic jobs) by hand, round after round, until nothing more is due."""

from typing import Any

from common.commands import ContestCommand
from common.database.pending_migrations import refuse_unmigrated
from common.domain_clock import domain_now
from common.progress import still_working
from contest.operations import pipeline


class Command(ContestCommand):
    """Run all sweeps until nothing is due, a line for each; the last line names work that another scorer holds."""

    help = __doc__
    example = "./unanimous settle"

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the sweeps in order until a round finds nothing left to do."""
        refuse_unmigrated()
        with still_working(self.stdout.write) as begin:
            begin("Looking for work that is due")
            for name, done in pipeline.run_all_sweeps(begin):
                self.stdout.write(f"{name}: {done}")
        self.stdout.write(pipeline.is_locked_elsewhere(now=domain_now()) or "Nothing more is due.")
