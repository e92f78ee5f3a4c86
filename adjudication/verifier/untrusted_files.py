"""Reads untrusted files safely, for the verifier and the mirror: regular files only, within size limits.

Pure: standard library only.
"""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

# Size limit of a manifest: a list of 200,000 pictures fits.
MAX_MANIFEST_BYTES = 1 << 25
# Size limit of the list of all releases: 50,000 of them fit.
MAX_LIST_BYTES = 1 << 24
# Size limits of a table and of one of its lines: an outline of ten thousand corners fits.
MAX_FILE_BYTES = 1 << 30
MAX_LINE_BYTES = 1 << 20
# The largest picture that a release can hold has 48 MiB of pixels, and packing adds at most a thousandth.
MAX_PICTURE_BYTES = 49 << 20
# Limits of the names in a folder, in number and in characters; further names are ignored.
MAX_NAMES = 1 << 19
_MAX_NAMES_CHARACTERS = 1 << 26
# Small JSON values take many times as much memory as their text: limits of commas and of opening brackets in it.
_MAX_VALUES = 1_000_000
_MAX_NESTED = 100_000
_MAX_DEPTH = 40
_MAX_DIGITS = 19
_PIECE = 1 << 20
# Opening neither follows a link nor waits for the writer of a pipe. Some systems lack some of these flags.
_FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)


class NotARelease(Exception):
    """The folder holds no release that can be read."""


class UnreadableFile(Exception):
    """The path is not a file that can be read; the text says why."""


class NotThere(UnreadableFile):
    """There is no file of this name."""


def open_regular(folder: Path, name: str, max_bytes: int = MAX_FILE_BYTES) -> BinaryIO:
    """Open a regular file of at most `max_bytes` below `folder`, without following links; raises UnreadableFile."""
    # Paths as str: pathlib takes as long as all the rest, and a release has a hundred thousand pictures.
    *parents, last = name.split("/")
    if not {"", ".", ".."}.isdisjoint((*parents, last)):
        raise UnreadableFile("no plain path")
    path = str(folder)
    try:
        for parent in parents:
            path = f"{path}/{parent}"
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                raise UnreadableFile(f"{parent} is no folder")
        return _checked(os.open(f"{path}/{last}", _FLAGS), max_bytes)
    except FileNotFoundError as error:
        raise NotThere("no such file") from error
    except (OSError, ValueError) as error:
        raise UnreadableFile(_why(folder / name, error)) from error


def _checked(descriptor: int, max_bytes: int) -> BinaryIO:
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) and found.st_size <= max_bytes:
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise UnreadableFile("no regular file")
    raise UnreadableFile(f"{found.st_size:,} bytes, and {max_bytes:,} are the most that is read")


def _why(path: Path, error: Exception) -> str:
    """Return what is wrong with a path that cannot be opened. The error itself would repeat the path."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return "no regular file"
    except (OSError, ValueError):
        return "a name that no file can have"
    return getattr(error, "strerror", None) or type(error).__name__


def is_regular(folder: Path, name: str) -> bool:
    """Say whether `open_regular` would open a file, whatever its size."""
    try:
        open_regular(folder, name, max_bytes=1 << 62).close()
    except UnreadableFile:
        return False
    return True


def file_size(folder: Path, name: str) -> int:
    """Return the size of a regular file in bytes; 0 for anything else, or a file that would not be read."""
    try:
        with open_regular(folder, name) as file:
            return os.fstat(file.fileno()).st_size
    except UnreadableFile:
        return 0


def read_bytes(folder: Path, name: str, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Return a file's bytes, at most `max_bytes`; raises UnreadableFile."""
    with open_regular(folder, name, max_bytes) as file:
        try:
            # A read allocates as many bytes as it is called with.
            size = os.fstat(file.fileno()).st_size
            data = file.read(size + 1)
            if size < len(data) <= max_bytes:  # the file grows while it is read
                data += file.read(max_bytes + 1 - len(data))
        except OSError as error:
            raise UnreadableFile(_why(folder / name, error)) from error
    if len(data) > max_bytes:
        raise UnreadableFile(f"more than {max_bytes:,} bytes")
    return data


def pieces(folder: Path, name: str) -> Iterator[bytes]:
    """Yield a file's bytes; raises UnreadableFile."""
    with open_regular(folder, name) as file:
        try:
            while piece := file.read(_PIECE):
                yield piece
        except OSError as error:
            raise UnreadableFile(_why(folder / name, error)) from error


def read_lines(folder: Path, name: str) -> Iterator[str]:
    """Yield a file's lines with their ends, as UTF-8; raises UnreadableFile, also for a line that is too long."""
    with open_regular(folder, name) as file:
        number = 0
        try:
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise UnreadableFile(f"line {number} has more than {MAX_LINE_BYTES:,} bytes")
                yield line.decode()
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableFile(f"line {number}: {type(error).__name__}") from error


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder, sorted, at most `MAX_NAMES`; none where it is no folder or a link to one."""
    return sorted(entry.name for entry in _entries(folder))


def files_in(folder: Path) -> dict[str, bool]:
    """Return the names in a folder, each with whether `open_regular` would open it; at most as many as `names_in`."""
    return {
        entry.name: entry.is_file(follow_symlinks=False) and os.access(entry.path, os.R_OK)
        for entry in _entries(folder)
    }


def sizes_in(folder: Path) -> Iterator[int]:
    """Yield the size of each file in a folder, at most of as many as `names_in`."""
    for entry in _entries(folder):
        with suppress(OSError):  # it is gone
            yield entry.stat(follow_symlinks=False).st_size


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    characters = 0
    try:
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            return
        with os.scandir(folder) as entries:
            for entry in islice(entries, MAX_NAMES):
                characters += len(entry.name)
                if characters > _MAX_NAMES_CHARACTERS:
                    return
                yield entry
    except (OSError, ValueError):
        return  # not a folder that can be read


def read_json(data: bytes) -> Any:
    """Return the value of a JSON text; raises ValueError for values that programs read differently or cannot read.

    These are NaN and infinities, numbers of many digits, halves of a surrogate pair, values nested too deeply, and too
    many values.
    """
    if data.count(b",") > _MAX_VALUES or data.count(b"[") + data.count(b"{") > _MAX_NESTED:
        raise ValueError("too many values")
    try:
        value = json.loads(data.decode(), parse_constant=_no_number, parse_int=_whole, parse_float=_fraction)
    except RecursionError as error:
        raise ValueError("values that are nested too deeply") from error
    _check_values(value)
    return value


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _whole(text: str) -> int:
    if len(text) > _MAX_DIGITS + text.startswith("-"):
        raise ValueError(f"a number of {len(text):,} digits")
    return int(text)


def _fraction(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text[:_MAX_DIGITS]} is too large a number")
    return number


def _check_values(value: Any) -> None:
    """Check every value, without recursion, because values may be nested deeply."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        if not level:
            return
        for each in level:
            for text in each if isinstance(each, dict) else (each,):
                if isinstance(text, str):
                    text.encode()  # raises UnicodeEncodeError, a ValueError
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    raise ValueError(f"values that are nested more than {_MAX_DEPTH} deep")
