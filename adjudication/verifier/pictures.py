"""Checks the pictures of a release: each file decodes, and its pixels match its name (R2).

Pure: standard library only.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from adjudication.schema import release_format as form
from adjudication.verifier.findings import Findings
from adjudication.verifier.release_reader import Manifest, check_hash
from adjudication.verifier.rows import Row
from adjudication.verifier.untrusted_files import MOST_PICTURE_BYTES, UnreadableFile, is_regular, read_bytes
from picture_files.png import PictureDamaged, png_identity

# Below this many, starting processes takes longer than looking.
_FEW = 100
_AT_ONCE = 16
# All processes together hold files of so many bytes.
_MOST_HELD_BYTES = 1 << 26


class PictureFile(NamedTuple):
    """What one file is. `sha256` is empty where it cannot be read. `pixels` is empty and `problem` says why where it
    is no canonical picture."""

    path: str
    sha256: str
    pixels: str
    size: str
    problem: str


def check_pictures(
    folder: Path, manifest: Manifest, images: list[Row], findings: Findings, progress: Callable[[str, int, int], None]
) -> None:
    """Every image has its picture and every picture its image; hashes, pixels and sizes are as recorded."""
    rows = {row["file"]: row for row in images}
    listed = {path: sha for path, sha in manifest.files.items() if path.startswith(f"{form.PICTURES}/")}
    for path in sorted(listed.keys() - rows.keys()):
        findings.add(form.IMAGES, path, "no row", "a row for every picture")
    for path in sorted(rows.keys() - listed.keys()):
        findings.add(form.IMAGES, rows[path], path, "no such picture")
    there = [path for path in listed if form.is_picture(path) and is_regular(folder, path)]
    for number, seen in enumerate(_look_at_all(folder, there), start=1):
        if seen.sha256:
            check_hash(seen.path, listed[seen.path], seen.sha256, findings)
        _check_picture(seen, rows, findings)
        progress("pictures", number, len(there))
    findings.figures.append(f"pictures: {len(there):,} decoded")


def _look_at_all(folder: Path, paths: list[str]) -> Iterator[PictureFile]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    largest = max((os.lstat(folder / path).st_size for path in paths), default=0)
    cores = min(cores, _MOST_HELD_BYTES // max(min(largest, MOST_PICTURE_BYTES), 1 << 20))
    if len(paths) < _FEW or cores == 1:
        yield from map(partial(inspect_picture, folder), paths)
        return
    with ProcessPoolExecutor(cores) as pool:
        yield from pool.map(partial(inspect_picture, folder), paths, chunksize=_AT_ONCE)


def inspect_picture(folder: Path, path: str) -> PictureFile:
    """Read one picture."""
    try:
        data = read_bytes(folder, path, MOST_PICTURE_BYTES)
    except UnreadableFile as error:
        return PictureFile(path, "", "", "", str(error))
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        width, height, pixels = png_identity(data)
    except PictureDamaged as error:
        return PictureFile(path, sha256, "", "", str(error))
    return PictureFile(path, sha256, pixels, f"{width} x {height}", "")


def _check_picture(seen: PictureFile, rows: Mapping[str, Row], findings: Findings) -> None:
    name = seen.path.removeprefix(f"{form.PICTURES}/").removesuffix(".png")
    if seen.problem:
        findings.add(seen.path, "picture", seen.problem, "a canonical picture")
    elif seen.pixels != name:
        findings.add(seen.path, "pixels", name, seen.pixels)
    elif seen.path in rows:
        recorded = f"{rows[seen.path]['width']} x {rows[seen.path]['height']}"
        findings.compare(form.IMAGES, rows[seen.path], recorded, seen.size)


def check_images(images: Iterable[Row], manifest: Manifest, findings: Findings) -> None:
    """Every image is of the week, once, under the name of its pixels."""
    start, end = manifest.values["week_start"], manifest.values["week_end"]
    seen: set[str] = set()
    for row in images:
        if row["week"] != manifest.values["week"]:
            findings.add(form.IMAGES, row, f"week {row['week']}", manifest.values["week"])
        # The fixed width makes the order of the texts the order of the times.
        if not start <= row["received_at"] < end:
            findings.add(form.IMAGES, row, f"received_at {row['received_at']}", f"from {start}, before {end}")
        findings.compare(form.IMAGES, row, row["file"], form.picture_file(row["sha256_pixels"]))
        if row["file"] in seen:
            findings.add(form.IMAGES, row, f"{row['file']} a second time", "each picture once")
        seen.add(row["file"])
