"""Measures the list of a zip before it is read: what it says of itself is checked before it is believed.

Pure. The library reads the whole list into memory, and every entry of it becomes an object.
"""

import struct
import zipfile

_END, _END_64 = b"PK\x05\x06", b"PK\x06\x07"
_END_BYTES, _LONGEST_COMMENT, _END_64_BYTES = 22, 1 << 16, 20
# So many of a zip's last bytes hold all that is looked at here.
TAIL_BYTES = _END_BYTES + _LONGEST_COMMENT + _END_64_BYTES


class ZipRefused(ValueError):
    """A zip whose list is longer than it may be, or in several files; the message says which."""


def measure(tail: bytes, *, most_listed: int, most_list_bytes: int) -> None:
    """Refuse a zip by the last TAIL_BYTES of it: ZipRefused, and BadZipFile for what is no zip."""
    end = _end_of(tail)
    here, lists_from, listed_here, listed, list_bytes = struct.unpack_from("<HHHHI", tail, end + 4)
    if here or lists_from or listed_here != listed:
        raise ZipRefused("This is a part of a zip in several files. Make one zip.")
    is_64 = tail[max(end - _END_64_BYTES, 0) : end].startswith(_END_64)
    if listed > most_listed or list_bytes > most_list_bytes or is_64:
        raise ZipRefused("The zip lists too much.")


def _end_of(data: bytes) -> int:
    """Return where the record at the end begins: exactly where the library will look, so that both read the same."""
    at = len(data) - _END_BYTES
    if at >= 0 and data.startswith(_END, at) and data.endswith(b"\0\0"):
        return at
    at = data.rfind(_END, max(at - _LONGEST_COMMENT, 0))
    if at < 0 or at + _END_BYTES > len(data):
        raise zipfile.BadZipFile
    return at
