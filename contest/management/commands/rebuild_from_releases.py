"""`rebuild_from_releases DIR`: fill an empty database from a mirror of the releases."""

from argparse import ArgumentParser
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from adjudication.verifier.terminal import encodable, printable
from common.commands import ContestCommand
from common.database.pending_migrations import refuse_unmigrated
from common.domain_clock import domain_now
from common.errors import DomainError
from common.progress import still_working
from common.times import absolute
from contest.core.models import Release
from contest.demo import clock
from contest.record.rebuild.services import rebuild


class Command(ContestCommand):
    """The public record of a contest, elsewhere: accounts, e-mail addresses and what is not published stay out."""

    help = "Fill an empty, migrated database from a folder that release_mirror made."
    example = "./unanimous rebuild_from_releases /srv/mirror"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the folder."""
        parser.add_argument("folder", type=Path, metavar="DIR", help="the mirror")

    def handle(self, *args: Any, **options: Any) -> None:
        """Check the mirror, fill the tables, and put the releases where this contest serves them from."""
        try:
            refuse_unmigrated()
            with still_working(self._say) as begin:
                begin("Checking the mirror")

                def filled(name: str) -> None:
                    self._say(name)
                    begin(f"Filling the tables after {name}")

                record = rebuild(options["folder"].resolve(), progress=filled)
        except DomainError as error:
            raise CommandError(encodable(printable(error.message), self.stderr.encoding)) from error
        self.stdout.write(f"{len(record.parts)} releases of {len(record.weeks)} weeks are here.")
        self._warn_of_the_future(domain_now())

    def _warn_of_the_future(self, now: datetime) -> None:
        """Warn that the clock is behind the releases, so that their weeks are not over by it."""
        newest = Release.objects.order_by("released_at").last()
        if newest is None or newest.released_at <= now:
            return
        days = -(-(newest.released_at - now) // clock.DAY)
        if not settings.DEMO:
            how = "Read it after that time; a copy in a demo (DEMO=1) has a clock that can be moved."
        elif days > clock.MAX_SPAN.days:
            first = f"./unanimous demo_clock +{clock.MAX_SPAN.days}d"
            how = f"Move the demo's clock by {days} days: {first}, and the rest after."
        else:
            how = f"Move the demo's clock: ./unanimous demo_clock +{days}d."
        at = absolute(newest.released_at, "UTC")
        self._say(f"{newest.name} was published on {at}, which is still to come here: pages show weeks as open. {how}")

    def _say(self, line: str) -> None:
        self.stdout.write(encodable(printable(line), self.stdout.encoding))
