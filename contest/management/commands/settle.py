"""Run every due sweep once: what the beat does, by hand."""

from typing import Any

from django.core.management.base import BaseCommand

from contest import pipeline


class Command(BaseCommand):
    """Deal, adjudicate, plan, score, break, release; each line says what was done."""

    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the sweeps in order until a round finds nothing left to do."""
        for name, done in pipeline.settle():
            self.stdout.write(f"{name}: {done}")
