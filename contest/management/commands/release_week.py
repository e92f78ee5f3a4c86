"""`release_week [2026-W47] --out DIR`: write the weekly release."""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from adjudication.verifier.terminal import encodable, printable
from common.audit.origin import RecordedCommand
from common.domain_clock import domain_now
from common.errors import DomainError
from common.progress import every_few_seconds
from contest.releases import services
from contest.releases.files import Progress as Report


class Command(RecordedCommand):
    """The release of one week that is over, as a folder and as a zip."""

    help = "Write the weekly release of a week that is over; without a week, of the last one."
    example = "./unanimous release_week 2026-W47 --out /srv/copies"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the week and where to write."""
        parser.add_argument("week", nargs="?", help="for example 2026-W47; default: the last week that is over")
        parser.add_argument("--out", type=Path, help="a folder that gets a copy of what is published in RELEASE_DIR")
        parser.add_argument(
            "--incomplete",
            action="store_true",
            help="release what is there although pictures of the week are still under way",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write it, and say what there is now."""
        now = domain_now()
        try:
            week = services.week_to_release(options["week"], now=now)
            with _progress() as report:
                released = services.release_week(
                    week, out=settings.RELEASE_DIR, now=now, incomplete=options["incomplete"], progress=report
                )
            if options["out"] is not None and options["out"].resolve() != settings.RELEASE_DIR:
                released = services.release_copy(released, options["out"].resolve())
        except DomainError as error:
            raise CommandError(encodable(printable(error.message), self.stderr.encoding)) from error
        self._tell(released)

    def _tell(self, released: services.ReleaseResult) -> None:
        counts = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in released.release.counts.items())
        said = "Released" if released.new else "Nothing changed since it was published:"
        self.stdout.write(f"{said} {released.release.name} ({counts}).")
        self.stdout.write(f"{released.folder}\n{released.archive}")
        self.stdout.write(f"manifest.json has the SHA-256 {released.release.manifest_sha256}")


@contextmanager
def _progress() -> Iterator[Report]:
    """Give a function that draws bars on a terminal, and writes a line every few seconds elsewhere."""
    if not sys.stderr.isatty():
        line = every_few_seconds(lambda words: print(words, file=sys.stderr))
        yield lambda what, done, total: line(f"{what}: {done:,}" + (f" of {total:,}" if total else ""))
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, Any] = {}

        def report(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield report
