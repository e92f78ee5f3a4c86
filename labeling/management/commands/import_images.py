"""`import_images PATH`: imports photographs from a folder or a manifest into the contest."""

import csv
import signal
import threading
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from common.audit.origin import RecordedCommand
from common.audit.trail import audit
from common.domain_clock import domain_now
from common.errors import DomainError, InvalidInput
from common.progress import every_few_seconds
from labeling.enums import Origin
from labeling.models import Image
from labeling.pictures.intake import import_picture
from labeling.pictures.manifest import MANIFEST_SUFFIXES, ManifestEntry, Provenance, folder_entries, manifest_entries
from picture_files.decoding import MAX_PICTURE_BYTES
from policy.selectors import policy_in_force

EXIT_REFUSED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130
_ORIGINS = [origin.value for origin in (Origin.DATASET, Origin.EXAMPLE, Origin.GOLD)]
_LINE_EVERY = 100


class Command(RecordedCommand):
    """Exit status 0: every picture is in; 1: some were refused; 2: nothing was tried; 130: interrupted."""

    help = (
        "Take photographs in from a folder (with --source and --licence) or from a manifest (.csv or .jsonl with the "
        "columns file, source, source_id, licence, author). Pictures that are in already are skipped, so the same "
        "command goes on after an interruption."
    )
    example = './unanimous import_images photos --source "Our own" --licence "CC0 https://creativecommons.org/publicdomain/zero/1.0/"'

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("path", type=Path, help="a folder, or a manifest (.csv, .jsonl)")
        parser.add_argument("--source", default="", help="where the pictures come from")
        parser.add_argument("--licence", default="", help="the licence, with its address")
        parser.add_argument("--author", default="", help="who made them")
        parser.add_argument("--origin", choices=_ORIGINS, default=Origin.DATASET.value, help="what they are for")
        parser.add_argument("--no-labels", action="store_true", help="never deal these pictures to taskers")
        parser.add_argument("--refused", type=Path, metavar="FILE.csv", help="also write the refused files here")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import every entry, each in a transaction of its own, and report the results."""
        if options["refused"] and not options["refused"].resolve().parent.is_dir():
            raise _usage(f"There is no folder {options['refused'].resolve().parent} for --refused: make it first.")
        entries, others = self._entries(options)
        tally = _Tally(self._say)
        with _stopping_on_interrupt() as stopped, self._progress(len(entries), tally) as advance:
            for entry in entries:
                if stopped():
                    break
                tally.add(entry, partial(_take_in, entry, options))
                advance()
        if options["refused"]:
            _write_refused(options["refused"], tally.refused)
        with transaction.atomic():  # each picture has a transaction of its own: this says that somebody imported them
            facts = {
                "origin": options["origin"],
                "from": options["path"].resolve().name,
                "source": options["source"],
                **tally.counts,
            }
            audit("picture.import", by=None, subject={}, now=domain_now(), private=facts)
        self._report(tally, len(entries), others)

    def _say(self, line: str) -> None:
        self.stdout.write(line)

    def _entries(self, options: dict[str, Any]) -> tuple[list[ManifestEntry], int]:
        path: Path = options["path"]
        provenance = Provenance(source=options["source"], licence=options["licence"], author=options["author"])
        if path.is_dir():
            if not (provenance.source.strip() and provenance.licence.strip()):
                raise _usage(
                    "A folder needs --source and --licence, because every picture shows where it comes from. "
                    "Or pass a manifest that says so for each file."
                )
            return folder_entries(path, provenance)
        if not path.is_file():
            raise _usage(f"There is no folder or manifest at {path}.")
        if path.suffix.lower() not in MANIFEST_SUFFIXES:
            raise _usage(f"{path} is neither a folder nor a manifest ending in {' or '.join(MANIFEST_SUFFIXES)}.")
        try:
            return manifest_entries(path, provenance), 0
        except InvalidInput as error:
            raise _usage(error.message) from error

    @contextmanager
    def _progress(self, total: int, tally: "_Tally") -> Iterator[Callable[[], None]]:
        """Return a function to call after each file: it prints a bar on a terminal, a line now and then elsewhere."""
        if not self.stdout.isatty():
            line = every_few_seconds(self._say)
            yield lambda: (self._say if tally.done % _LINE_EVERY == 0 else line)(
                f"{tally.done} of {total}: {tally.short()}"
            )
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console()) as bar:
            task = bar.add_task("Importing", total=total)
            yield lambda: bar.update(task, advance=1, description=tally.short())

    def _report(self, tally: "_Tally", total: int, others: int) -> None:
        for file, _, reason in tally.refused:
            self.stdout.write(f"refused {file}: {reason}")
        passed_over = f"; other files passed over: {others}" if others else ""
        self.stdout.write(f"{tally.done} of {total} files: {tally.short()}{passed_over}.")
        if tally.done < total:
            self.stdout.write("Stopped. What is in stays in; run the same command again to go on.")
            raise SystemExit(EXIT_INTERRUPTED)
        if tally.refused:
            raise SystemExit(EXIT_REFUSED)


class _Tally:
    """The results of the files so far."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.counts: Counter[str] = Counter()
        self.refused: list[tuple[str, str, str]] = []
        self._say = say

    @property
    def done(self) -> int:
        return self.counts.total()

    def add(self, entry: ManifestEntry, take_in: Callable[[], tuple[Image, bool, tuple[str, ...]]]) -> None:
        try:
            image, new, warnings = take_in()
        except DomainError as error:
            self.refused.append((entry.file, error.code, error.message))
            self.counts["refused"] += 1
            return
        outcome = "added" if new else "known"
        self.counts[outcome] += 1
        self._say(f"{image.public_id} {outcome} {entry.file}")
        for warning in warnings:
            self._say(f"note on {entry.file}: {warning}")

    def short(self) -> str:
        return f"{self.counts['added']} added, {self.counts['known']} known, {self.counts['refused']} refused"


def _take_in(entry: ManifestEntry, options: dict[str, Any]) -> tuple[Image, bool, tuple[str, ...]]:
    """Import one entry; returns its picture, whether it is new, and warnings. Raises InvalidInput."""
    if entry.problem is not None:
        raise entry.problem
    now = domain_now()
    return import_picture(
        _read(entry.path),
        size=policy_in_force(now).policy.image_size,
        origin=Origin(options["origin"]),
        **asdict(entry.provenance),
        now=now,
        label_from=None if options["no_labels"] else now,
    )


def _read(path: Path) -> bytes:
    """Read at most one byte more than is allowed, so that a huge file is refused without reading all of it."""
    try:
        if not path.is_file():
            raise InvalidInput("There is no such file.", "no_file")
        with path.open("rb") as file:
            return file.read(MAX_PICTURE_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"The file cannot be read: {error.strerror}.", "unreadable") from error


@contextmanager
def _stopping_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Let the present file finish after Ctrl-C; a second Ctrl-C ends at once, as it would without this."""
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False  # only the main thread hears signals
        return
    before = signal.getsignal(signal.SIGINT) or signal.SIG_DFL

    def _stop(number: int, frame: Any) -> None:
        asked.append(number)
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, _stop)
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, before)


def _write_refused(path: Path, refused: list[tuple[str, str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("file", "code", "reason"))
        writer.writerows(refused)


def _usage(message: str) -> CommandError:
    return CommandError(message, returncode=EXIT_USAGE)
