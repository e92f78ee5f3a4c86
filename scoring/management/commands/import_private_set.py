"""`import_private_set PATH`: imports the private pictures on which defenses are tried before publication (R31)."""

import csv
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError

from common.audit.origin import RecordedCommand
from common.domain_clock import domain_now
from common.errors import DomainError, InvalidInput
from common.progress import every_few_seconds
from labeling.enums import Label
from labeling.pictures.manifest import ManifestEntry, Provenance, folder_entries
from picture_files.decoding import MAX_PICTURE_BYTES
from policy.selectors import policy_in_force
from scoring.models import PrivateSet
from scoring.trials import private_set as private

EXIT_REFUSED, EXIT_USAGE = 1, 2
LINE_EVERY = 100
COLUMNS = ("file", "label")
ImportEntry = tuple[ManifestEntry, str]  # a file to import, and its class


class Command(RecordedCommand):
    """Exit status 0: the set is complete and in force; 1: files were refused, and it is not; 2: nothing was tried."""

    help = (
        "Take in a private set from a folder with the folders bird and bicycle, or from a .csv with the columns file "
        "and label. The set is in force when every picture is in. Run the same command again to go on after an "
        "interruption; another folder needs --start-over."
    )
    example = './unanimous import_private_set /srv/private --note "Our own photographs"'

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("path", type=Path, help="the folder, or a manifest (.csv)")
        parser.add_argument("--note", default="", help="where the pictures come from, for organizers")
        parser.add_argument("--by", default="", metavar="USERNAME", help="the organizer who imports them")
        parser.add_argument("--leave-out-refused", action="store_true", help="complete the set without refused files")
        parser.add_argument("--start-over", action="store_true", help="drop an unfinished set first")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import every file in a transaction of its own, then put the set in force at once."""
        try:
            entries = _entries(options["path"])
            private_set = self._begin(options)
        except DomainError as error:
            raise CommandError(error.message, returncode=EXIT_USAGE) from error
        self._work(private_set, entries, options)

    def _begin(self, options: dict[str, Any]) -> PrivateSet:
        given = {"note": options["note"], "path": str(options["path"].resolve()), "by": _by(options)}
        if options["start_over"]:
            private_set, dropped = private.private_set_start_over(**given, now=domain_now())
            self.stdout.write(f"{dropped} pictures of an earlier import dropped.")
            new = True
        else:
            private_set, new = private.private_set_begin(**given, now=domain_now())
        self.stdout.write(f"{'New' if new else 'Going on with'} set {private_set.number}.")
        return private_set

    def _work(self, private_set: PrivateSet, entries: list[ImportEntry], options: dict[str, Any]) -> None:
        size = policy_in_force(domain_now()).policy.image_size
        taken: dict[str, bool] = {}
        refused, line = 0, every_few_seconds(self.stdout.write)
        for number, (entry, label) in enumerate(entries, start=1):
            try:
                sha, new = _take_in(private_set, entry, label, size)
                taken[sha] = taken.get(sha, False) or new
            except DomainError as error:
                refused += 1
                self.stdout.write(f"refused {entry.file}: {error.message}")
            (self.stdout.write if number % LINE_EVERY == 0 else line)(f"{number} of {len(entries)}")
        added = sum(taken.values())
        self.stdout.write(f"{len(entries)} files: {added} added, {len(taken) - added} known, {refused} refused.")
        if refused and not options["leave_out_refused"]:
            message = "The set is not complete. Mend or remove the refused files, or use --leave-out-refused."
            raise CommandError(message, returncode=EXIT_REFUSED)
        self._complete(private_set, taken, _by(options))

    def _complete(self, private_set: PrivateSet, taken: dict[str, bool], by: User | None) -> None:
        try:
            private.private_set_complete(private_set, meant=taken, by=by, now=domain_now())
        except DomainError as error:
            raise CommandError(error.message, returncode=EXIT_REFUSED) from error
        self.stdout.write(f"Set {private_set.number} is complete and in force with {len(taken)} pictures.")


def _by(options: dict[str, Any]) -> User | None:
    user = User.objects.filter(username=options["by"]).first()
    if options["by"] and user is None:
        raise InvalidInput(f"There is no account {options['by']}.", "no_user")
    return user


def _entries(path: Path) -> list[ImportEntry]:
    """Return the files to import; InvalidInput when there are none."""
    if path.is_dir():
        found = [entry for label in Label for entry in _of_folder(path, label)]
    elif path.is_file() and path.suffix.lower() == ".csv":
        found = list(_of_manifest(path))
    else:
        raise InvalidInput(f"{path} is neither a folder nor a manifest (.csv).", "no_path")
    if not found:
        raise InvalidInput(f"There are no pictures in {path}: put them into the folders bird and bicycle.", "empty")
    return found


def _of_folder(path: Path, label: Label) -> list[ImportEntry]:
    listed, _ = folder_entries(path / label.value, Provenance())
    return [(replace(each, file=f"{label.value}/{each.file}"), label.value) for each in listed]


def _of_manifest(path: Path) -> Iterator[ImportEntry]:
    with path.open(encoding="utf-8-sig", newline="", errors="replace") as file:
        reader = csv.DictReader(file, restval="")
        if reader.fieldnames is None or tuple(sorted(reader.fieldnames)) != COLUMNS:
            raise InvalidInput(f"{path} has to have exactly the columns {' and '.join(COLUMNS)}.", "bad_manifest")
        for row in reader:
            yield ManifestEntry(row["file"], path.parent / row["file"], Provenance()), row["label"]


def _take_in(private_set: PrivateSet, entry: ManifestEntry, label: str, size: int) -> tuple[str, bool]:
    """Import one file; return the hash of its pixels and whether it is new to the set."""
    if entry.problem is not None:
        raise entry.problem
    if label not in set(Label):
        raise InvalidInput(f"The label is one of {', '.join(Label)}.", "bad_label")
    row, new = private.private_picture_add(
        private_set, _read(entry.path), label=Label(label), source=entry.file, size=size
    )
    return row.pixels_sha256, new


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_PICTURE_BYTES + 1)  # one byte too many is enough to be refused
    except OSError as error:
        raise InvalidInput(f"The file cannot be read: {error.strerror}.", "unreadable") from error
