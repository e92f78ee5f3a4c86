"""Finds and removes files of the picture store that no row names, such as after a crash.

Every column that names a file is in `NAMED_BY`. A file whose key belongs to none of them is kept.
Decision 25 says why nothing is lost while others store files.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from django.db.models import Model

from common.audit.trail import audit
from common.errors import Conflict
from contest.core.models import Attack
from contest.defenses.models import DefenseEntry
from labeling.models import Image
from picture_files.store import StoredFile, original_key, picture_key, picture_store
from picture_files.store_transactions import removing_files
from scoring.models import Defense, PrivatePicture
from scoring.sealed import archive_key
from scoring.trials.private_set import private_key
from scoring.trials.submitted_files import source_key, weights_key

_LOOKED_UP_AT_ONCE = 500
_REMOVED_AT_ONCE = 50  # uploads wait meanwhile
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column that holds a SHA-256, and the function that makes the key of a file of it."""

    model: type[Model]
    column: str
    key: Callable[[str], str]

    def hashes(self, keys: Iterable[str]) -> Iterator[str]:
        """Yield the hashes in those keys that this column may name."""
        for key in keys:
            found = _SHA256.search(key)
            if found is not None and self.key(found[0]) == key:
                yield found[0]

    def named(self, keys: Iterable[str]) -> set[str]:
        """Return those of the keys that a row names."""
        rows = self.model._default_manager.filter(**{f"{self.column}__in": list(self.hashes(keys))})
        return {self.key(sha256) for sha256 in rows.values_list(self.column, flat=True)}


NAMED_BY = (
    FileColumn(Image, "pixels_sha256", picture_key),
    FileColumn(Image, "original_sha256", original_key),
    # A team's own file, which is not the picture's where another team sent the same pixels first (R2).
    FileColumn(Attack, "original_sha256", original_key),
    FileColumn(PrivatePicture, "pixels_sha256", private_key),
    FileColumn(Defense, "archive", archive_key),
    FileColumn(Defense, "source", source_key),
    FileColumn(DefenseEntry, "training_code", source_key),
    FileColumn(Defense, "weights", weights_key),
)


@dataclass(slots=True)
class UnusedFiles:
    """The files that no row names, and how many others are kept: named, new, or not the contest's."""

    unused: list[StoredFile] = field(default_factory=list)
    named: int = 0
    new: int = 0
    unknown: int = 0

    @property
    def looked_at(self) -> int:
        """Return how many files were found so far."""
        return len(self.unused) + self.named + self.new + self.unknown


def find_unused_files(*, before: datetime, progress: Callable[[str], object] = lambda _: None) -> UnusedFiles:
    """Return the files that were written before that time and that no row names now. Locks nothing."""
    found = UnusedFiles()
    stored = picture_store().files()
    while files := list(islice(stored, _LOOKED_UP_AT_ONCE)):
        known = [file for file in files if _is_known(file.key)]
        unnamed = _files_without_row(known)
        unused = [file for file in unnamed if file.written_at < before]
        found.unused += unused
        found.named += len(known) - len(unnamed)
        found.new += len(unnamed) - len(unused)
        found.unknown += len(files) - len(known)
        progress(f"{found.looked_at:,} files looked at, {len(found.unused):,} unused")
    return found


def refuse_most(found: UnusedFiles) -> None:
    """Raise Conflict (`mostly_unused`) where more files are without a row than with one: the database then probably
    belongs to another store, or is an old backup."""
    if len(found.unused) > found.named:
        words = (
            f"Rows name {found.named:,} files of this store and do not name {len(found.unused):,}. Check that "
            "DATABASE_URL and IMAGE_STORE_URL are of one contest, and that no backup of the database was restored. "
            "To remove these files all the same, add --even-most."
        )
        raise Conflict(words, "mostly_unused")


def remove_unused_files(
    files: Sequence[StoredFile], *, now: datetime, progress: Callable[[str], object] = lambda _: None
) -> list[StoredFile]:
    """Remove those of the files that still no row names, and return them. Raises ServerBusy as `removing_files` does.

    Each batch is a transaction with a row of the audit trail, which names its files even where the store then fails.
    """
    removed: list[StoredFile] = []
    for start in range(0, len(files), _REMOVED_AT_ONCE):
        removed += _remove_batch(files[start : start + _REMOVED_AT_ONCE], now)
        progress(f"{len(removed):,} of {len(files):,} removed")
    return removed


def _remove_batch(files: Sequence[StoredFile], now: datetime) -> list[StoredFile]:
    store, failure = picture_store(), None
    with removing_files():
        unnamed = _files_without_row(files)
        if unnamed:
            # Before the first is gone: a database that takes no row may be a copy, which locks out nobody.
            told = {"files": [file.key for file in unnamed], "bytes": sum(file.size for file in unnamed)}
            audit("unused_file.remove", by=None, subject={}, now=now, private=told)
        try:
            for file in unnamed:
                store.remove(file.key)
        except Exception as error:  # each kind of store has errors of its own; the row above is to be committed
            failure = error
    if failure is not None:
        raise failure
    return unnamed


def _is_known(key: str) -> bool:
    return any(True for naming in NAMED_BY for _ in naming.hashes([key]))


def _files_without_row(files: Iterable[StoredFile]) -> list[StoredFile]:
    """Return those of the files that no row names; a column is asked only for what those before it do not name."""
    left = {file.key: file for file in files}
    for naming in NAMED_BY:
        for key in naming.named(left):
            left.pop(key, None)
    return list(left.values())
