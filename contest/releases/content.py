"""Writes the content of a release from one snapshot: tables, then pictures (R39)."""

import hashlib
import zlib
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from adjudication.schema import release_format as form
from adjudication.signatures.key_files import sync_to_disk
from contest.releases import tables
from contest.releases.archive import Archive, PackedFile, deflate, stored_file
from contest.releases.contest_tables import last_audit_number, write_contest_tables
from contest.releases.derived_files import write_derived_files
from contest.releases.files import Progress, ReleaseFolder
from contest.releases.manifest import manifest_text
from contest.releases.snapshot import Snapshot
from picture_files.store import PictureStore, picture_key, picture_store
from policy.calendar import Week

_PICTURES_AT_ONCE = 8
_PICTURES_AHEAD = 64


class _PictureFile(NamedTuple):
    """One line of the list of pictures."""

    path: str
    sha256: str
    crc: int
    size: int


@dataclass(frozen=True, slots=True)
class ReleaseContent:
    """A release without its manifest: files under `path`, hashes of all but the pictures, rows per table.

    `packed` are the text files as they will lie in the zip. `pictures` is a text file that lists the pictures in
    ascending order of their paths: a week can have a hundred thousand. `last_audit_number` is that of the last row of
    the audit trail, 0 without any.
    """

    path: Path
    hashes: dict[str, str]
    packed: dict[str, Future[PackedFile]]
    counts: dict[str, int]
    pictures: Path
    last_audit_number: int

    def _pictures(self) -> Iterator[_PictureFile]:
        with self.pictures.open(encoding="ascii") as lines:
            for line in lines:
                path, sha256, crc, size = line.split()
                yield _PictureFile(path, sha256, int(crc), int(size))

    def _manifest(self, head: dict[str, Any]) -> Iterator[str]:
        files = merge(sorted(self.hashes.items()), ((each.path, each.sha256) for each in self._pictures()))
        return manifest_text(head | {"counts": self.counts}, files)

    def manifest_sha256(self, head: dict[str, Any]) -> str:
        """Return the hash the manifest would have with this head."""
        digest = hashlib.sha256()
        for piece in self._manifest(head):
            digest.update(piece.encode())
        return digest.hexdigest()

    def write_manifest(self, head: dict[str, Any]) -> str:
        """Write `manifest.json` and return its hash."""
        folder = ReleaseFolder(self.path)
        with folder.text(form.MANIFEST) as file:
            file.writelines(self._manifest(head))
        sync_to_disk(self.path)
        return folder.hashes[form.MANIFEST]

    def write_archive(self, archive: Path, name: str, progress: Progress) -> None:
        """Write everything, the manifest included, as a zip whose one folder is `name`."""
        entries = merge(self._packed_files(archive.parent), self._packed_pictures(), key=lambda entry: entry[0])
        total = len(self.hashes) + 1 + self.counts["images"]
        with Archive(archive) as file:
            for done, (path, packed) in enumerate(entries, start=1):
                file.add(f"{name}/{path}", packed)
                progress(archive.name, done, total)

    def _packed_files(self, workplace: Path) -> Iterator[tuple[str, PackedFile]]:
        for path in sorted([*self.hashes, form.MANIFEST]):
            if path in self.packed:
                yield path, self.packed[path].result()
            elif path == form.MANIFEST:
                yield path, deflate(self.path / path, workplace / f"{path}.packed")
            else:
                yield path, stored_file(self.path / path)

    def _packed_pictures(self) -> Iterator[tuple[str, PackedFile]]:
        for each in self._pictures():
            yield each.path, PackedFile(self.path / each.path, False, each.crc, each.size, each.size)


def write_week(workplace: Path, week: Week, view: Snapshot, packer: Executor, progress: Progress) -> ReleaseContent:
    """Write the rows of `week` below `workplace`, as `view` has them; `packer` packs the files afterwards, while the
    pictures are copied."""
    path = workplace / "folder"
    (path / form.PICTURES).mkdir(parents=True)
    folder = ReleaseFolder(path, progress)
    counts: dict[str, int] = {}
    # The longest step comes first: the others run meanwhile.
    derived, responses, outcomes, contest, pictures = view.read(
        lambda: write_derived_files(folder, week),
        lambda: tables.write_responses(folder, week),
        lambda: tables.write_outcomes(folder, week),
        lambda: write_contest_tables(folder, week),
        lambda: _write_pictures(folder, workplace, week),
    )
    # The manifest lists the counts in this order: another one would change its bytes.
    for rows in (pictures, responses, outcomes, derived, contest):
        counts |= {name.partition(".")[0]: number for name, number in rows.items()}
    packed = {
        name: packer.submit(deflate, path / name, workplace / f"{name}.packed")
        for name in folder.hashes
        if name != form.PARQUET  # which is packed inside
    }
    return ReleaseContent(path, folder.hashes, packed, counts, workplace / "pictures", last_audit_number(week))


def _write_pictures(folder: ReleaseFolder, workplace: Path, week: Week) -> dict[str, int]:
    """Write the table of pictures, and the list of those that `copy_pictures` copies."""
    with (workplace / "wanted").open("w", encoding="ascii") as wanted:
        wanted.writelines(f"{sha256}\n" for sha256 in tables.pixel_hashes_of(week))
    return tables.write_pictures(folder, week)


def copy_pictures(workplace: Path, content: ReleaseContent, progress: Progress) -> None:
    """Copy the pictures of the tables out of the store; they never change, so this needs no snapshot."""
    store = picture_store()
    folder = ReleaseFolder(content.path, progress)
    done = 0
    with (
        ThreadPoolExecutor(_PICTURES_AT_ONCE) as pool,
        (workplace / "wanted").open(encoding="ascii") as wanted,
        content.pictures.open("w", encoding="ascii") as listed,
    ):
        while chunk := [line.strip() for line in islice(wanted, _PICTURES_AHEAD)]:
            for each in pool.map(lambda sha256: _copied(store, folder, sha256), chunk):
                listed.write(f"{each.path} {each.sha256} {each.crc} {each.size}\n")
            done += len(chunk)
            progress(form.PICTURES, done, content.counts["images"])
    sync_to_disk(content.path / form.PICTURES)


def _copied(store: PictureStore, folder: ReleaseFolder, sha256_pixels: str) -> _PictureFile:
    data = store.get(picture_key(sha256_pixels))
    path = form.picture_file(sha256_pixels)
    return _PictureFile(path, folder.binary(path, data), zlib.crc32(data), len(data))
