"""Limits what the layers of an image unpack to, before an engine unpacks them.

A few megabytes that are compressed may unpack to terabytes, and no limit of a container counts them.
"""

import gzip
import io
import tarfile
import time
from typing import IO, Self

from defense_kit.faults import Fault, RunnerFault

MOST_BYTES = 64 << 30
MOST_FILES = 2_000_000
MOST_SECONDS = 600.0
MOST_LAYERS = 127  # what an engine can put on top of one another
FIRST_BYTES = 64 << 10  # of a layer, unpacked: its first headers
_LONGEST_HEADER = 1 << 16  # of a member's names and attributes, which are read into memory at once
_CHUNK_BYTES = 1 << 20
_HEADERS = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
)
_GZIP = b"\x1f\x8b"
_OTHERWISE_COMPRESSED = (b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")  # bzip2, xz, zstd


def refused_layer(text: str) -> RunnerFault:
    """Return what an archive that cannot be taken is met with."""
    return RunnerFault(Fault.IMAGE_PULL, text)


class Header(tarfile.TarInfo):
    """A header that is refused before what belongs to it is read into memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        header = super().frombuf(buf, encoding, errors)
        if header.type in _HEADERS and header.size > _LONGEST_HEADER:
            raise refused_layer(
                f"the archive holds a header of {header.size} bytes, expected at most {_LONGEST_HEADER}"
            )
        return header


class UnpackingBudget:
    """What all layers of an image may unpack to, taken together."""

    def __init__(
        self, most_bytes: int = MOST_BYTES, most_files: int = MOST_FILES, most_seconds: float = MOST_SECONDS
    ) -> None:
        self._most_bytes, self._most_files, self._most_seconds = most_bytes, most_files, most_seconds
        self._bytes = self._files = 0
        self._began = time.monotonic()

    def spend(self, layer: IO[bytes]) -> None:
        """Count a layer, a tar as it is or compressed with gzip; `image_pull` where it is too much or neither."""
        stream = _Counted(_unpacking(layer), self)
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=Header, bufsize=_CHUNK_BYTES) as members:
            for member in members:
                self._count(member)
        while stream.read(_CHUNK_BYTES):  # the engine reads on behind the end of a tar
            pass

    def take(self, count: int) -> None:
        """Count bytes that were unpacked; `image_pull` when they are too many."""
        self._bytes += count
        if self._bytes > self._most_bytes:
            raise refused_layer(f"the image unpacks to more than {self._most_bytes >> 20:,} MiB; make it smaller")
        if time.monotonic() - self._began > self._most_seconds:
            raise refused_layer(
                f"the image takes more than {self._most_seconds:,.0f} seconds to unpack; make it smaller"
            )

    def _count(self, member: tarfile.TarInfo) -> None:
        self._files += 1
        if self._files > self._most_files:
            raise refused_layer(f"the image unpacks to more than {self._most_files:,} files; make it smaller")
        if member.issparse() or member.type == tarfile.GNUTYPE_SPARSE:
            # An engine fills the holes with zeros, which nothing above has counted.
            raise refused_layer(f"a layer holds a sparse file, {member.name[:100]}; write it out in full")


def check_beginning(layer: IO[bytes]) -> None:
    """Refuse a layer by its first bytes: one that is no tar, or is compressed in another way than with gzip."""
    begin = io.BytesIO(_unpacking(layer).read(FIRST_BYTES))
    with tarfile.open(fileobj=begin, mode="r:", tarinfo=Header):
        pass


class _Counted(io.RawIOBase):
    """A stream whose bytes a budget counts as they are read."""

    def __init__(self, stream: IO[bytes], budget: UnpackingBudget) -> None:
        self._stream, self._budget = stream, budget

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._budget.take(len(data))
        return data


def _unpacking(layer: IO[bytes]) -> IO[bytes]:
    begin = layer.read(6)
    layer.seek(0)
    if begin.startswith(_OTHERWISE_COMPRESSED):
        raise refused_layer("a layer is compressed in another way than with gzip; save the image with docker save")
    if begin.startswith(_GZIP):
        return gzip.GzipFile(fileobj=layer)  # type: ignore[return-value]
    return layer
