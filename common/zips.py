"""Checks the directory of a zip before anything is extracted.

Pure. The zipfile library reads the whole directory into memory and makes an object for every entry.
"""

import struct
import zipfile

_END, _END_64 = b"PK\x05\x06", b"PK\x06\x07"
_END_BYTES, _MAX_COMMENT_BYTES, _END_64_BYTES = 22, 1 << 16, 20
# The record with longer numbers; the library looks for it right before the 20 bytes that say where it is.
_RECORD_64, _RECORD_64_BYTES = b"PK\x06\x06", 56
_SEE_64, _SEE_64_BYTES = 0xFFFF, 0xFFFFFFFF  # what stands for a longer number
# This many last bytes of a zip hold everything that is checked here.
TAIL_BYTES = _END_BYTES + _MAX_COMMENT_BYTES + _END_64_BYTES + _RECORD_64_BYTES


class ZipRefused(ValueError):
    """A zip whose directory is too long, or that is split into several files; the message says which."""


def zip_size(tail: bytes, *, max_listed: int, max_list_bytes: int) -> None:
    """Refuse a zip by the last TAIL_BYTES of it: ZipRefused, and BadZipFile for what is no zip."""
    end = _end_of(tail)
    here, lists_from, listed_here, listed, list_bytes = struct.unpack_from("<HHHHI", tail, end + 4)
    numbers: list[tuple[int, ...]] = [(here, lists_from, listed_here, listed, list_bytes)]
    if tail[max(end - _END_64_BYTES, 0) : end].startswith(_END_64):
        longer = _numbers_64(tail, end - _END_64_BYTES - _RECORD_64_BYTES)
        # The library believes the longer ones; whoever reads the others must not read more.
        short = zip(numbers[0], (_SEE_64, _SEE_64, _SEE_64, _SEE_64, _SEE_64_BYTES), longer, strict=True)
        numbers = [tuple(number if number != see else long for number, see, long in short), longer]
    for here, lists_from, listed_here, listed, list_bytes in numbers:
        if here or lists_from or listed_here != listed:
            raise ZipRefused("This is a part of a zip in several files. Make one zip.")
        if listed > max_listed or list_bytes > max_list_bytes:
            raise ZipRefused("The zip lists too much.")


def _numbers_64(tail: bytes, at: int) -> tuple[int, ...]:
    if at < 0 or not tail.startswith(_RECORD_64, at):
        raise ZipRefused("The zip has a second list of its own.")
    return struct.unpack_from("<IIQQQ", tail, at + 16)


def _end_of(data: bytes) -> int:
    """Return where the record at the end begins: exactly where the library will look, so that both read the same."""
    at = len(data) - _END_BYTES
    if at >= 0 and data.startswith(_END, at) and data.endswith(b"\0\0"):
        return at
    at = data.rfind(_END, max(at - _MAX_COMMENT_BYTES, 0))
    if at < 0 or at + _END_BYTES > len(data):
        raise zipfile.BadZipFile
    return at
