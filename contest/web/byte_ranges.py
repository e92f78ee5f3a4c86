"""Parses Range headers by RFC 9110: one range, or the whole file. Pure."""

import re
from dataclasses import dataclass

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes from `start` up to and not including `end`."""

    start: int
    end: int

    @property
    def size(self) -> int:
        """Return the number of bytes."""
        return self.end - self.start


class UnsatisfiableRange(Exception):
    """The requested range has no byte of the file: it begins at or behind the end, or is the last 0 bytes."""


def requested_range(header: str, size: int) -> ByteRange | None:
    """Return the part of `size` bytes that the Range header asks for; None where the whole is to be sent.

    The whole file is sent for a missing header, another unit, several ranges and an invalid header, as the standard
    allows.
    Raises UnsatisfiableRange for a range that begins behind the end.
    """
    found = _RANGE.fullmatch(header.replace(" ", ""))
    if found is None or not any(found.groups()):
        return None
    first, last = found.groups()
    if first and last and int(first) > int(last):
        return None  # no range at all
    start = int(first) if first else max(size - int(last), 0)
    end = min(int(last) + 1, size) if first and last else size
    if start >= size or not first and int(last) == 0:
        raise UnsatisfiableRange
    return ByteRange(start, end)
