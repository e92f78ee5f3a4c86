"""`unused_files`: lists files that no row names, counts half-written uploads; `--remove` removes both."""

from argparse import ArgumentParser
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from common.audit.origin import RecordedCommand
from common.domain_clock import domain_now
from common.progress import every_few_seconds
from contest.operations.unused_files import UnusedFiles, find_unused_files, refuse_most, remove_unused_files
from picture_files.store import StoredFile, picture_store

MIN_AGE = timedelta(days=1)


class Command(RecordedCommand):
    """Safe while others upload; nothing that is less than a day old is touched."""

    help = (
        "List the files of the picture store that no database row names. A process killed between storing a file and "
        "committing its row leaves such files. Those less than a day old are left out. With --remove they and "
        "half-written uploads are removed; others may upload meanwhile. Never remove any after the database was "
        "restored from a backup: they may be the only copy of what was sent since."
    )
    example = "./unanimous unused_files --remove"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--remove", action="store_true", help="remove what is listed")
        parser.add_argument("--even-most", action="store_true", help="remove them even if most of the store is unused")

    def handle(self, *args: Any, **options: Any) -> None:
        """List the files, and print how many there are and whether they were removed."""
        before = timezone.now() - MIN_AGE  # by the clock of disks and buckets, which no demo moves
        line = every_few_seconds(self.stdout.write)
        found = find_unused_files(before=before, progress=line)
        unfinished = list(picture_store().unfinished(before))
        for file in found.unused:
            self.stdout.write(
                f"{file.key}  {_with_count(file.size, 'byte')}, written {file.written_at:%Y-%m-%d %H:%M} UTC"
            )
        self.stdout.write(_words(found, len(unfinished)))
        if not options["remove"]:
            if found.unused or unfinished:
                self.stdout.write("Nothing was removed: --remove does that.")
            return
        if not options["even_most"]:
            refuse_most(found)
        self._remove(found, unfinished, line, now=domain_now())

    def _remove(
        self,
        found: UnusedFiles,
        unfinished: list[Callable[[], object]],
        line: Callable[[str], None],
        *,
        now: datetime,
    ) -> None:
        removed = remove_unused_files(found.unused, now=now, progress=line)
        for remove in unfinished:
            remove()
        kept = len(found.unused) - len(removed)
        named = f" {_with_count(kept, 'file')} came into use meanwhile and stayed." if kept else ""
        self.stdout.write(
            f"Removed: {_with_count(len(removed), 'file')} ({_sum(removed)}) and {len(unfinished):,} half-written."
            f"{named}"
        )


def _words(found: UnusedFiles, unfinished: int) -> str:
    words = (
        f"{len(found.unused):,} of {_with_count(found.looked_at, 'file')} are named by no row ({_sum(found.unused)}). "
    )
    words += f"Half-written: {unfinished:,}."
    if found.new:
        words += f" Others that no row names are less than a day old and stay: {found.new:,}."
    if found.unknown:
        words += f" With names that the contest does not use, left alone: {found.unknown:,}."
    return words


def _sum(files: list[StoredFile]) -> str:
    return _with_count(sum(file.size for file in files), "byte")


def _with_count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
