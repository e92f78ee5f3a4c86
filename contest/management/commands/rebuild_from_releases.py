"""`rebuild_from_releases DIR`: fill an empty database from a mirror of the releases."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from common.errors import DomainError
from common.migrated import refuse_unmigrated
from contest.record.rebuild.services import rebuild


class Command(BaseCommand):
    """The public record of a contest, elsewhere: accounts, e-mail addresses and what is not published stay out."""

    help = "Fill an empty, migrated database from a folder that release_mirror made."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the folder."""
        parser.add_argument("folder", type=Path, metavar="DIR", help="the mirror")

    def handle(self, *args: Any, **options: Any) -> None:
        """Check the mirror, fill the tables, and put the releases where this contest serves them from."""
        try:
            refuse_unmigrated()
            record = rebuild(options["folder"].resolve(), progress=self.stdout.write)
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"{len(record.parts)} releases of {len(record.weeks)} weeks are here.")
