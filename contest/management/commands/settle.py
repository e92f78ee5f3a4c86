"""Run every due sweep once: what the beat does, by hand."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from common.errors import DomainError
from common.migrated import refuse_unmigrated
from contest import pipeline


class Command(BaseCommand):
    """Deal, adjudicate, plan, score, break, release: a line for each, the last for what another scorer holds."""

    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the sweeps in order until a round finds nothing left to do."""
        try:
            refuse_unmigrated()
            for name, done in pipeline.settle():
                self.stdout.write(f"{name}: {done}")
        except DomainError as error:
            raise CommandError(error.message) from error
        if held := pipeline.held_elsewhere(now=timezone.now()):
            self.stdout.write(held)
