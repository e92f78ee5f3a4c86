"""Run every due sweep once: what the beat does, by hand."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from common.errors import DomainError
from contest import pipeline


class Command(BaseCommand):
    """Deal, adjudicate, plan, score, break, release; each line says what was done."""

    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the sweeps in order until a round finds nothing left to do."""
        try:
            for name, done in pipeline.settle():
                self.stdout.write(f"{name}: {done}")
        except DomainError as error:
            raise CommandError(error.message) from error
