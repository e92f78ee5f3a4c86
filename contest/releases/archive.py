"""Writes reproducible zip files: fixed times, permissions and order (R39).

Written here because the standard writer keeps every entry in memory until the end, which for a week of a hundred
thousand pictures is the largest thing in the process. The list of entries waits in a temporary file instead.
"""

import os
import shutil
import struct
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR64 = struct.Struct("<4sIQI")

_VERSION = 45  # the first that knows large files
_MADE_ON_UNIX = 3 << 8 | _VERSION
_UTF8_NAME = 1 << 11
_STORED, _DEFLATED = 0, 8
_TIME, _DATE = 0, 1 << 5 | 1  # 1980-01-01 00:00, the earliest a zip can say
_FILE_MODE = 0o100644 << 16
_LARGE = 0xFFFFFFFF
_MANY = 0xFFFF
# A higher level makes tables of outlines a few percent smaller and takes several times as long.
_LEVEL = 2
_CHUNK = 1 << 20


class PackedFile(NamedTuple):
    """A file as it will lie in the archive: where its bytes are, packed or not, and what the headers say of it."""

    path: Path
    deflated: bool
    crc: int
    packed: int
    size: int


class _Entry(NamedTuple):
    name: bytes
    content: PackedFile
    offset: int


def deflate(source: Path, into: Path) -> PackedFile:
    """Deflate `source` into the new file `into`. zlib works outside the interpreter's lock, so a thread may do it."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    crc = size = packed = 0
    with source.open("rb") as whole, into.open("xb") as file:
        while chunk := whole.read(_CHUNK):
            crc = zlib.crc32(chunk, crc)
            size += len(chunk)
            packed += file.write(packer.compress(chunk))
        packed += file.write(packer.flush())
    return PackedFile(into, True, crc, packed, size)


def stored_file(path: Path) -> PackedFile:
    """Take `path` as it is, for what is packed already."""
    crc = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            crc = zlib.crc32(chunk, crc)
        return PackedFile(path, False, crc, file.tell(), file.tell())


class Archive:
    """A zip file being written; entering opens it, leaving without an error completes it and syncs it to disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries = 0

    def __enter__(self) -> "Archive":
        self._file: BinaryIO = self._path.open("xb")
        self._directory = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file, self._directory:
            if kind is None:
                self._finish()
                self._file.flush()
                os.fsync(self._file.fileno())

    def add(self, name: str, content: PackedFile) -> None:
        """Add a file under `name`."""
        entry = _Entry(name.encode(), content, self._file.tell())
        self._file.write(_local_header(entry))
        with content.path.open("rb") as source:
            shutil.copyfileobj(source, self._file, _CHUNK)
        self._directory.write(_central_header(entry))
        self._entries += 1

    def _finish(self) -> None:
        start = self._file.tell()
        self._directory.seek(0)
        shutil.copyfileobj(self._directory, self._file, _CHUNK)
        end = self._file.tell()
        if self._entries >= _MANY or end >= _LARGE:
            record = (self._entries, self._entries, end - start, start)
            self._file.write(_END64.pack(b"PK\x06\x06", 44, _MADE_ON_UNIX, _VERSION, 0, 0, *record))
            self._file.write(_LOCATOR64.pack(b"PK\x06\x07", 0, end, 1))
        entries = min(self._entries, _MANY)
        sizes = (min(end - start, _LARGE), min(start, _LARGE))
        self._file.write(_END.pack(b"PK\x05\x06", 0, 0, entries, entries, *sizes, 0))


def _local_header(entry: _Entry) -> bytes:
    fields, large = _described(entry.content)
    extra = _extra64(large)
    return _LOCAL.pack(b"PK\x03\x04", *fields, len(entry.name), len(extra)) + entry.name + extra


def _central_header(entry: _Entry) -> bytes:
    fields, large = _described(entry.content)
    extra = _extra64([*large, entry.offset] if entry.offset >= _LARGE else large)
    rest = (len(entry.name), len(extra), 0, 0, 0, _FILE_MODE, min(entry.offset, _LARGE))
    return _CENTRAL.pack(b"PK\x01\x02", _MADE_ON_UNIX, *fields, *rest) + entry.name + extra


def _described(content: PackedFile) -> tuple[tuple[int, ...], list[int]]:
    """The fields both headers share, and the sizes (whole, packed) that do not fit there."""
    fields = (_VERSION, _UTF8_NAME, _DEFLATED if content.deflated else _STORED, _TIME, _DATE, content.crc)
    if max(content.size, content.packed) >= _LARGE:
        return (*fields, _LARGE, _LARGE), [content.size, content.packed]
    return (*fields, content.packed, content.size), []


def _extra64(values: Sequence[int]) -> bytes:
    if not values:
        return b""
    return struct.pack(f"<HH{len(values)}Q", 1, 8 * len(values), *values)
