"""Reads the pictures of an upload, single files or archives, one at a time and within limits.

An archive is not trusted: its list of entries is measured before it is read, nothing in it is unpacked to disk, and
an archive inside it is refused.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from common.errors import DomainError, InvalidInput
from common.zips import TAIL_BYTES, ZipRefused, zip_size
from picture_files.decoding import MAX_PICTURE_BYTES
from picture_files.refusals import refused

MAX_ZIP_BYTES = 32 * 1024 * 1024
MAX_ENTRIES = 200
NO_PICTURE = (
    "The zip has no picture to take: folders are looked into, and a name that begins with a dot, as hidden files and "
    "paths out of the zip (../) do, is left out. Put the pictures themselves into one zip."
)
TOO_MANY_PICTURES = "The zip has {count} pictures. Put at most {most} into one."
_ARCHIVE = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
# An entry of the list has 46 bytes, and a name and notes, which are short in an honest archive.
_MAX_LIST_BYTES = MAX_ENTRIES * 1024
# Folders and what systems add are listed too.
_MAX_LISTED = MAX_ENTRIES * 8
_KNOWN_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1


class Uploaded(Protocol):
    """A file as it was sent."""

    name: str | None

    def read(self, num_bytes: int = ...) -> bytes:
        """Return at most so many bytes."""


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """One picture of an upload: its bytes, or why it cannot be read."""

    name: str
    data: bytes = b""
    refused: DomainError | None = None


def read_uploaded_files(files: Iterable[Uploaded]) -> Iterator[UploadedFile]:
    """Yield the pictures of an upload in order: of an archive each, of anything else the file itself."""
    for file in files:
        name, data = file.name or "", file.read(MAX_ZIP_BYTES + 1)
        if data.startswith(_ARCHIVE):
            yield from _archive(name, data)
        else:
            yield _checked(name, data)


def _checked(name: str, data: bytes) -> UploadedFile:
    if len(data) > MAX_PICTURE_BYTES:
        return UploadedFile(name, refused=refused("too_many_bytes", most=MAX_PICTURE_BYTES // 1024**2))
    return UploadedFile(name, data)


def _archive(name: str, data: bytes) -> Iterator[UploadedFile]:
    try:
        _measure(data)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [each for each in archive.infolist() if _is_picture_entry(each)]
            if not entries:
                raise _wrong(NO_PICTURE, "wrong_zip")
            if len(entries) > MAX_ENTRIES:
                raise _wrong(TOO_MANY_PICTURES.format(count=len(entries), most=MAX_ENTRIES), "wrong_zip")
            yield from _entries(archive, entries)
    except InvalidInput as error:
        yield UploadedFile(name, refused=error)
    # NotImplementedError is how the library refuses a zip of a later version of the format than it reads.
    except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError, UnicodeError):
        yield UploadedFile(
            name, refused=_wrong("The zip is damaged: its list cannot be read. Make it again.", "damaged_zip")
        )


def _measure(data: bytes) -> None:
    """Refuse a list of entries too long to be read into memory: its stated length is checked first."""
    if len(data) > MAX_ZIP_BYTES:
        raise _wrong(
            f"The zip has more than {MAX_ZIP_BYTES // 1024**2} MiB. Send several smaller ones.", "too_many_bytes"
        )
    try:
        zip_size(data[-TAIL_BYTES:], max_listed=_MAX_LISTED, max_list_bytes=_MAX_LIST_BYTES)
    except ZipRefused as error:
        raise _wrong(f"{error} Put at most {MAX_ENTRIES} pictures into one.", "wrong_zip") from None


def _is_picture_entry(entry: zipfile.ZipInfo) -> bool:
    """Say whether an entry is a picture somebody put there: no folder, and none of the files that systems add."""
    if not entry.filename:  # which the library cannot tell a folder from
        return False
    parts = entry.filename.split("/")
    hidden = any(each.startswith((".", "__MACOSX")) for each in parts)
    return not entry.is_dir() and not hidden and parts[-1].lower() not in ("thumbs.db", "desktop.ini")


def _entries(archive: zipfile.ZipFile, entries: Iterable[zipfile.ZipInfo]) -> Iterator[UploadedFile]:
    room = MAX_ZIP_BYTES
    for entry in entries:
        try:
            data = _read(archive, entry, room)
            room -= len(data)
            yield _checked(entry.filename, data)
        except InvalidInput as error:
            yield UploadedFile(entry.filename, refused=error)


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, room: int) -> bytes:
    if entry.flag_bits & _ENCRYPTED:
        raise _wrong("This picture is encrypted in the zip. Make the zip without a password.", "encrypted")
    if entry.compress_type not in _KNOWN_METHODS:
        raise _wrong("This picture is packed in a way that is not read here. Use plain zip (deflate).", "wrong_zip")
    try:
        with archive.open(entry) as packed:
            data = packed.read(min(MAX_PICTURE_BYTES, room) + 1)
    # NotImplementedError is how the library refuses a way of compressing that it does not read.
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError):
        raise _wrong("This picture is damaged in the zip. Make the zip again.", "damaged_zip") from None
    if len(data) > room:
        raise _wrong(f"The zip unpacks to more than {MAX_ZIP_BYTES // 1024**2} MiB. Send several.", "too_many_bytes")
    if data.startswith(_ARCHIVE):
        raise _wrong("This is a zip inside the zip. Put the pictures themselves into one zip.", "zip_in_zip")
    return data


def _wrong(message: str, code: str) -> InvalidInput:
    return InvalidInput(message, code, field="image")
