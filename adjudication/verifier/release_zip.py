"""Unpacks a downloaded release zip safely: only files that a release has, within size limits, all or nothing (R39).

Pure: standard library only.
"""

import hashlib
import io
import os
import shutil
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from adjudication.schema import release_format as form
from adjudication.schema import release_tables
from adjudication.verifier.chain import ListedRelease
from adjudication.verifier.release_reader import read_manifest
from adjudication.verifier.terminal import printable
from adjudication.verifier.untrusted_files import MAX_MANIFEST_BYTES, NotARelease, is_regular

# A function that receives the progress: what is being done, in words, how much is done, and the total.
Progress: TypeAlias = Callable[[str, int, int], None]

# The size limit of a release, as a zip and unpacked: a hundred thousand pictures of two megabytes are less.
MAX_RELEASE_BYTES = 1 << 38
# The size limit of the zip's own directory, which is held in memory: 200,000 files fit.
MAX_HELD_BYTES = 1 << 26
MAX_ENTRIES = 200_000
_ENTRY = b"PK\x01\x02"
# The space that is always left free on the disk.
_SPARE_BYTES = 1 << 26
_PIECE = 1 << 20
# The library's messages repeat names, which can have up to 65,535 letters.
_SHOWN = 120
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
# The files of earlier releases that the check of a release reads.
_OF_EARLIER = frozenset({form.MANIFEST, *release_tables.TABLES})

_Entries: TypeAlias = Mapping[str, zipfile.ZipInfo]


class DamagedZip(Exception):
    """The zip does not hold the listed release; the text says what is wrong with it."""


def unpack_release(archive: Path, release: ListedRelease, folder: Path, progress: Progress) -> None:
    """Unpack `release` into its folder below `folder`: first into another folder, renamed when complete and as listed.

    Raises DamagedZip for a zip that should be fetched again, NotARelease for a manifest that this program cannot read,
    and OSError where the disk is full or fails.
    """
    partial = folder / f".{release.name}.partial"
    _remove(partial)
    try:
        (partial / form.PICTURES).mkdir(parents=True)
        with _open_zip(archive) as packed:
            _unpack_all(packed, release, partial, progress)
        os.rename(partial, folder / release.name)
    finally:
        _remove(partial)


def unpack_unlisted(archive: Path, folder: Path, progress: Progress, *, only: Collection[str] = ()) -> Path:
    """Unpack a release that is in no list into its own new folder below `folder`, and return that folder.

    The folder has the release's name from the zip. `only` names the files to unpack; if empty, all are. No hash is
    compared: the check of the release does that. Raises DamagedZip for a zip without a release, and OSError where the
    disk is full or fails.
    """
    with _open_zip(archive) as packed:
        name = next((entry.filename.partition("/")[0] for entry in packed.infolist()), "")
        if form.parse_release_name(name) is None:
            raise DamagedZip("it holds no release")
        entries = {path: entry for path, entry in _checked(packed, name).items() if not only or path in only}
        into = folder / name
        (into / form.PICTURES).mkdir(parents=True)
        need_room(into, sum(entry.file_size for entry in entries.values()))
        for number, (path, entry) in enumerate(entries.items(), start=1):
            _unpack_one(packed, entry, into / path)
            progress(f"{name} unpacked", number, len(entries))
    return into


@contextmanager
def release_folders(release: Path, previous: Path | None, progress: Progress) -> Iterator[tuple[Path, Path | None]]:
    """Yield the folder of `release` and that of the one before it; each may be given as a folder or as a zip.

    A zip is unpacked to a temporary folder. Zips of earlier releases are looked for beside a zip; beside a folder, the
    verifier itself looks for folders. Raises NotARelease for a file that is not the zip of a release, and where there
    is no room to unpack it.
    """
    if not release.is_file() and not (previous is not None and previous.is_file()):
        yield release, previous
        return
    with TemporaryDirectory(prefix="unanimous-") as temporary:
        folder = _folder_of(release, Path(temporary, "release"), progress)
        before = Path(temporary, "before")
        if previous is not None:
            newest = _folder_of(previous, before, progress, _OF_EARLIER)
            if newest.parent == before:
                _chain_beside(previous, read_manifest(newest).previous_name, before, progress)
            yield folder, newest
        else:
            yield folder, _chain_beside(release, read_manifest(folder).previous_name, before, progress)


def _folder_of(release: Path, into: Path, progress: Progress, only: Collection[str] = ()) -> Path:
    if not release.is_file():
        return release
    try:
        return unpack_unlisted(release, into, progress, only=only)
    except (DamagedZip, OSError) as error:
        raise NotARelease(f"{release}: cannot be unpacked: {error}") from error


def _chain_beside(archive: Path, name: str, into: Path, progress: Progress) -> Path | None:
    """Unpack the zips of earlier releases beside a zip, each into its folder below `into`, until one is missing.
    Returns the folder of the newest, called `name`; None where it is missing or cannot be read."""
    newest: Path | None = None
    while name and not (into / name).exists():
        folder = _beside(archive, name, into, progress)
        if folder is None:
            break
        newest = newest or folder
        name = read_manifest(folder).previous_name if folder.parent == into else ""
    return newest


def _beside(archive: Path, name: str, into: Path, progress: Progress) -> Path | None:
    for place in (archive.parent / name, archive.parent / f"{name}.zip"):
        try:
            folder = _folder_of(place, into, progress, _OF_EARLIER)
            read_manifest(folder)
        except NotARelease:
            continue  # the check of that release reports what is wrong with it
        return folder
    return None


def need_room(folder: Path, size: int) -> None:
    """Raise OSError, with a message for people, where the disk has no room for so many more bytes."""
    free = max(shutil.disk_usage(folder).free - _SPARE_BYTES, 0)
    if size > free:
        raise OSError(f"{size:,} bytes are needed and {free:,} can be taken on this disk")


def _remove(partial: Path) -> None:
    if partial.exists():
        shutil.rmtree(partial)


class _Archive(io.FileIO):
    """A zip file that refuses a directory too long for memory."""

    def read(self, size: int | None = -1) -> bytes:
        """Return at most `size` bytes, all remaining ones if it is negative; raises OSError for too many bytes or too
        many entries of the directory."""
        wanted = size if size is not None and size >= 0 else os.fstat(self.fileno()).st_size - self.tell()
        if wanted > MAX_HELD_BYTES:
            raise OSError(f"{wanted:,} bytes at once, and {MAX_HELD_BYTES:,} are the most that is held")
        data = super().read(wanted)
        if data.count(_ENTRY) > MAX_ENTRIES:
            raise OSError(f"more than {MAX_ENTRIES:,} files")
        return data


@contextmanager
def _open_zip(archive: Path) -> Iterator[zipfile.ZipFile]:
    if not is_regular(archive.parent, archive.name):
        raise DamagedZip("no regular file")
    with _Archive(archive) as file:
        try:
            packed = zipfile.ZipFile(file)
        except Exception as error:  # the library raises many kinds of errors for malformed zips
            raise DamagedZip(printable(repr(error), _SHOWN)) from error
        yield packed


def _unpack_all(packed: zipfile.ZipFile, release: ListedRelease, into: Path, progress: Progress) -> None:
    entries = _checked(packed, release.name)
    need_room(into, sum(entry.file_size for entry in entries.values()))
    manifest = _unpack_one(packed, entries[form.MANIFEST], into / form.MANIFEST)
    if manifest != release.manifest_sha256:
        raise DamagedZip(f"its manifest has SHA-256 {manifest}, listed is {release.manifest_sha256}")
    listed = read_manifest(into).files
    if odd := sorted(entries.keys() - {form.MANIFEST} ^ listed.keys()):
        raise DamagedZip(
            f"{odd[0]!r} is {'listed in its manifest and not in it' if odd[0] in listed else 'not listed'}"
        )
    for number, (path, sha256) in enumerate(listed.items(), start=2):
        if _unpack_one(packed, entries[path], into / path) != sha256:
            raise DamagedZip(f"{path} has another SHA-256 than its manifest says")
        progress(f"{release.name} unpacked", number, len(entries))


def _checked(packed: zipfile.ZipFile, name: str) -> _Entries:
    """Return path -> entry; checks that all are files that a release can have, and the sum of their sizes."""
    entries: dict[str, zipfile.ZipInfo] = {}
    for entry in packed.infolist():
        top, _, path = entry.filename.partition("/")
        if top != name or not release_tables.is_file(path):
            raise DamagedZip(f"it holds {entry.filename[:_SHOWN]!r}, which no release has")
        if path in entries:
            raise DamagedZip(f"it holds {path} twice")
        if entry.compress_type not in _METHODS or entry.flag_bits & _ENCRYPTED:
            raise DamagedZip(f"{path} is packed in a way that no release is")
        entries[path] = entry
    if form.MANIFEST not in entries:
        raise DamagedZip(f"it holds no {form.MANIFEST}")
    _check_size("it", sum(entry.file_size for entry in entries.values()), MAX_RELEASE_BYTES)
    _check_size(form.MANIFEST, entries[form.MANIFEST].file_size, MAX_MANIFEST_BYTES)
    return entries


def _check_size(what: str, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise DamagedZip(f"{what} unpacks to {size:,} bytes, and {max_bytes:,} are the most that is taken")


def _unpack_one(packed: zipfile.ZipFile, entry: zipfile.ZipInfo, place: Path) -> str:
    """Write one file and return its SHA-256."""
    digest = hashlib.sha256()
    with place.open("xb") as file:
        for piece in _pieces(packed, entry):
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()


def _pieces(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield an entry's unpacked bytes: the library never yields more bytes than the entry declares."""
    try:
        with packed.open(entry) as source:
            while piece := source.read(_PIECE):
                yield piece
    except Exception as error:  # errors of writing are raised elsewhere, so this is an error of the zip
        raise DamagedZip(f"{entry.filename[:_SHOWN]!r}: {printable(repr(error), _SHOWN)}") from error
