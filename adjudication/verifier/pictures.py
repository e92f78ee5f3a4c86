"""Checks the pictures of a release: each file decodes, and its pixels match its name (R2).

Pure: standard library only.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from sys import intern
from typing import NamedTuple, TypeAlias

from adjudication.schema import release_format as form
from adjudication.verifier.findings import Findings
from adjudication.verifier.release_reader import Manifest
from adjudication.verifier.rows import Row
from adjudication.verifier.untrusted_files import (
    MAX_PICTURE_BYTES,
    UnreadableFile,
    is_regular,
    read_bytes,
    sizes_in,
)
from picture_files.png import PictureDamaged, png_identity

# For fewer pictures than this, starting processes takes longer than checking.
_FEW = 100
_AT_ONCE = 64
# Limit of the bytes of files that all processes together hold.
_MAX_HELD_BYTES = 1 << 26
# The checks of tables take longest and have priority; this is added to the niceness of processes for pictures.
_NICER = 5


class PictureFile(NamedTuple):
    """The contents of one file. `sha256` is empty where it cannot be read. `pixels` is empty and `problem` says why
    where it is not a canonical picture."""

    sha256: str
    pixels: str
    size: str
    problem: str


class ListedPicture(NamedTuple):
    """A file as listed in a release: its hash, the number of its row in `images.csv`, and its size there; the last two
    are None where it has no row."""

    path: str
    sha256: str
    row: int | None
    size: str | None

    @property
    def pixels(self) -> str:
        """Return the hash of its pixels, taken from its file name."""
        return self.path.removeprefix(f"{form.PICTURES}/").removesuffix(".png")


# The result for some pictures: those that are not as listed, and how many are regular files.
Looked: TypeAlias = tuple[list[tuple[ListedPicture, PictureFile]], int]


class CheckProcesses(NamedTuple):
    """The worker processes that check pictures, and the one that checks tables beside the main process."""

    pictures: Executor
    tables: Executor


@contextmanager
def processes_for(folder: Path) -> Iterator[CheckProcesses | None]:
    """Start the processes that check a release early, because they copy this process's memory. Yields None where there
    are few pictures, or one core."""
    sizes = list(sizes_in(folder / form.PICTURES))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cores = min(cores, _MAX_HELD_BYTES // max(min(max(sizes, default=0), MAX_PICTURE_BYTES), 1 << 20))
    if len(sizes) < _FEW or cores == 1:
        yield None
        return
    nice = partial(os.nice, _NICER) if hasattr(os, "nice") else None
    with ProcessPoolExecutor(cores, initializer=nice) as pictures, ProcessPoolExecutor(1) as tables:
        found = CheckProcesses(pictures, tables)
        for each in found:
            each.submit(os.getpid)  # the first job starts the processes
        try:
            yield found
        finally:
            for each in found:
                each.shutdown(cancel_futures=True)


class PictureCheck:
    """Checks that every image has its picture and every picture its image; hashes, pixels and sizes as recorded."""

    def __init__(
        self, folder: Path, manifest: Manifest, images: Sequence[Row], processes: CheckProcesses | None
    ) -> None:
        """Begin to check the pictures, if there are processes for it."""
        self._images, self._findings = images, Findings()
        pictures = self._listed(manifest)
        self._total = len(pictures)
        parts = (pictures[at : at + _AT_ONCE] for at in range(0, self._total, _AT_ONCE))
        look = partial(look_at, folder)
        self._looked = map(look, parts) if processes is None else processes.pictures.map(look, parts)

    def _listed(self, manifest: Manifest) -> list[ListedPicture]:
        rows = {row["file"]: number for number, row in enumerate(self._images)}
        sizes = [intern(f"{row['width']} x {row['height']}") for row in self._images]
        listed = {path: sha for path, sha in manifest.files.items() if path.startswith(f"{form.PICTURES}/")}
        for path in sorted(listed.keys() - rows.keys()):
            self._findings.add(form.IMAGES, path, "no row", "a row for every picture")
        for path in sorted(rows.keys() - listed.keys()):
            self._findings.add(form.IMAGES, self._images[rows[path]], path, "no such picture")
        found = []
        for path, sha in listed.items():
            if form.is_picture(path):
                number = rows.get(path)
                found.append(ListedPicture(path, sha, number, None if number is None else sizes[number]))
        return found

    def finish(self, findings: Findings, progress: Callable[[str, int, int], None]) -> None:
        """Wait until every picture is checked, and report the findings."""
        decoded = 0
        for number, (odd, regular) in enumerate(self._looked, start=1):
            for listed, seen in odd:
                _check_picture(listed, seen, self._images, self._findings)
            decoded += regular
            progress("pictures", min(number * _AT_ONCE, self._total), self._total)
        findings.extend(self._findings)
        findings.figures.append(f"pictures: {decoded:,} decoded")


def look_at(folder: Path, pictures: Sequence[ListedPicture]) -> Looked:
    """Check some pictures; anything but a regular file is left out."""
    odd, regular = [], 0
    for listed in pictures:
        seen = inspect_picture(folder, listed.path)
        if seen != (listed.sha256, listed.pixels, listed.size or seen.size, ""):
            if not seen.sha256 and not is_regular(folder, listed.path):
                continue
            odd.append((listed, seen))
        regular += 1
    return odd, regular


def inspect_picture(folder: Path, path: str) -> PictureFile:
    """Read one picture."""
    try:
        data = read_bytes(folder, path, MAX_PICTURE_BYTES)
    except UnreadableFile as error:
        return PictureFile("", "", "", str(error))
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        width, height, pixels = png_identity(data)
    except PictureDamaged as error:
        return PictureFile(sha256, "", "", str(error))
    return PictureFile(sha256, pixels, f"{width} x {height}", "")


def _check_picture(listed: ListedPicture, seen: PictureFile, images: Sequence[Row], findings: Findings) -> None:
    if seen.sha256:
        findings.compare(listed.path, "SHA-256", listed.sha256, seen.sha256)
    if seen.problem:
        findings.add(listed.path, "picture", seen.problem, "a canonical picture")
    elif seen.pixels != listed.pixels:
        findings.add(listed.path, "pixels", listed.pixels, seen.pixels)
    elif listed.row is not None:
        findings.compare(form.IMAGES, images[listed.row], listed.size, seen.size)


def check_images(images: Iterable[Row], manifest: Manifest, findings: Findings) -> None:
    """Check that every image is of the week, listed once, and named by the hash of its pixels."""
    seen: set[str] = set()
    for row in images:
        if row["week"] != manifest.values["week"]:
            findings.add(form.IMAGES, row, f"week {row['week']}", manifest.values["week"])
        findings.compare(form.IMAGES, row, row["file"], form.picture_file(row["sha256_pixels"]))
        if row["file"] in seen:
            findings.add(form.IMAGES, row, f"{row['file']} a second time", "each picture once")
        seen.add(row["file"])
