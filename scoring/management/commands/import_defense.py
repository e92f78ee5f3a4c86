"""`import_defense ARCHIVE.tar --name NAME`: imports a container image as a defense."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.audit.origin import RecordedCommand
from common.domain_clock import domain_now
from scoring.trials.submitted_files import submit_files


class Command(RecordedCommand):
    """Exit status 0: it is in; 1: it was refused, and nothing changed."""

    help = (
        "Take in a defense: the archive that `docker save` wrote, with its source as a zip and its files of weights. "
        "Its trials begin by themselves. The same image under the same name is known already."
    )
    example = './unanimous import_defense mine.tar --name "Mine 1" --source mine.zip --weights weights.pt'

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("archive", type=Path, help="what `docker save` wrote, uncompressed (.tar)")
        parser.add_argument("--name", required=True, help="what the defense is called")
        parser.add_argument("--source", type=Path, help="its source, for the framework check (.zip)")
        parser.add_argument("--weights", type=Path, nargs="*", default=[], help="its files of weights")
        parser.add_argument("--description", default="", help="what it does, in a sentence or two")

    def handle(self, *args: Any, **options: Any) -> None:
        """Take it in and say under which ID."""
        defense, new = submit_files(
            options["archive"],
            name=options["name"],
            source=options["source"],
            weights=options["weights"],
            description=options["description"],
            now=domain_now(),
        )
        state = "taken in" if new else "known already"
        self.stdout.write(f"{defense.public_id} {defense.name} {defense.digest[:19]}: {state}")
