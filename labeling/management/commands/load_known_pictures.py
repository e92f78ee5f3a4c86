"""`load_known_pictures`: loads pictures for the tutorial and the qualification, with their right answers (R5)."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from common.audit.origin import RecordedCommand
from common.audit.trail import audit
from common.domain_clock import domain_now
from common.errors import InvalidInput
from common.progress import still_working
from labeling.learning.content import PICTURES, known_pictures_load
from policy.selectors import policy_in_force


class Command(RecordedCommand):
    """Idempotent: run again after an upgrade, it adds what is new."""

    help = (
        "Take in the pictures to learn from that come with the application, or those of a FOLDER with a known.json of "
        "the same form. They are never dealt to taskers."
    )
    example = "./unanimous load_known_pictures /srv/known"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the folder."""
        parser.add_argument("folder", nargs="?", type=Path, default=PICTURES, help="pictures of your own")

    def handle(self, *args: Any, **options: Any) -> None:
        """Load the pictures and print how many are new."""
        now = domain_now()
        try:
            with still_working(self.stdout.write) as begin:
                begin(f"Taking in the pictures of {options['folder']}")
                new = known_pictures_load(policy=policy_in_force(now).policy, now=now, folder=options["folder"])
        except InvalidInput as error:
            raise CommandError(error.message) from error
        with transaction.atomic():  # each picture has a transaction of its own: this says that somebody loaded them
            audit("known_picture.load", by=None, subject={}, now=now, private={"new": new})
        self.stdout.write(f"{new} pictures to learn from are new.")
