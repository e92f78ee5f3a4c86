"""`scorer_check`: checks whether this machine can score: device, container engine, open weaknesses."""

from contextlib import closing
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from common.commands import ContestCommand
from defense_kit import container
from defense_kit.faults import RunnerFault
from scoring.inference import choose_device, name_device


class Command(ContestCommand):
    """Ends with status 1 where a defense could not be run, or not be sealed."""

    help = __doc__
    example = "./unanimous scorer_check"

    def handle(self, *args: Any, **options: Any) -> None:
        """Look at everything and print it."""
        try:
            self.stdout.write(f"Device: {name_device(choose_device(settings.SCORING_DEVICE))}")
            if settings.DEFENSE_RUNTIME == "docker":
                self._engine()
        except RunnerFault as fault:
            raise CommandError(f"{fault.text[:1].upper()}{fault.text[1:]}.") from fault
        self.stdout.write("Ready.")

    def _engine(self) -> None:
        with closing(container.connect()) as client:  # refuses an engine that cannot seal
            self.stdout.write(f"Container engine: {client.version()['Version']}, runtime {settings.CONTAINER_RUNTIME}")
            for weakness in container.weaknesses(client):
                self.stdout.write(self.style.WARNING(f"Open: {weakness}"))
