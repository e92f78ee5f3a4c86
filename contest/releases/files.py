"""Writes release files: hashed while written, synced to disk before use."""

import csv
import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

# What is being written, how many rows or files of it are done, and how many there will be where that is known.
Progress: TypeAlias = Callable[[str, int, int | None], None]

_BUFFER = 1 << 18
_ROWS_PER_REPORT = 2_000


class HashingFile(io.RawIOBase):
    """A new file that knows the SHA-256 of what was written to it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb", buffering=0)
        self._digest = hashlib.sha256()

    def writable(self) -> bool:
        """Say that this is for writing."""
        return True

    def write(self, data: Any) -> int:
        """Write all of `data`."""
        view = memoryview(data)
        written = 0
        while written < len(view):
            written += self._file.write(view[written:]) or 0
        self._digest.update(view)
        return written

    def close(self) -> None:
        """Bring the bytes to the disk and close."""
        if not self.closed:
            os.fsync(self._file.fileno())
            self._file.close()
        super().close()

    def sha256(self) -> str:
        """Return the hash of everything written so far, in hexadecimal."""
        return self._digest.hexdigest()


class Lines:
    """Lines of a file being written, counted. `write` takes one line."""

    def __init__(self, write: Callable[[Any], Any], name: str, progress: Progress) -> None:
        self._write, self._name, self._progress = write, name, progress
        self.done = 0

    def write(self, line: Any) -> None:
        """Write the next line."""
        self._write(line)
        self.done += 1
        if self.done % _ROWS_PER_REPORT == 0:
            self._progress(self._name, self.done, None)


class ReleaseFolder:
    """A folder being filled, also from several threads. `hashes` is path -> SHA-256 of every file but the pictures."""

    def __init__(self, path: Path, progress: Progress = lambda *_: None) -> None:
        self.path = path
        self.hashes: dict[str, str] = {}
        self.progress = progress

    @contextmanager
    def file(self, name: str) -> Iterator[BinaryIO]:
        """Open a new file of lines; its hash is known when the block ends."""
        raw = HashingFile(self.path / name)
        with io.BufferedWriter(raw, _BUFFER) as file:
            yield file
        self.hashes[name] = raw.sha256()

    @contextmanager
    def text(self, name: str) -> Iterator[io.TextIOWrapper]:
        """Open a new UTF-8 file with LF line ends; its hash is known when the block ends."""
        with self.file(name) as file, io.TextIOWrapper(file, encoding="utf-8", newline="") as text:
            yield text

    def table(self, name: str, headings: Iterable[Sequence[str]], rows: Iterable[Sequence[str]]) -> int:
        """Write a CSV file (RFC 4180, LF) and return how many rows it has below its headings."""
        with self.text(name) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows(headings)
            lines = Lines(writer.writerow, name, self.progress)
            for row in rows:
                lines.write(row)
        self.progress(name, lines.done, lines.done)
        return lines.done

    def lines(self, name: str, headings: Iterable[Sequence[str]], write_lines: Callable[[Lines], None]) -> int:
        """Write a CSV file whose lines are written by `write_lines`, in bytes and one a call, and return how many there
        are below its headings."""
        with self.file(name) as file:
            file.writelines(f"{','.join(cells)}\n".encode() for cells in headings)
            lines = Lines(file.write, name, self.progress)
            write_lines(lines)
        self.progress(name, lines.done, lines.done)
        return lines.done

    def binary(self, name: str, data: bytes) -> str:
        """Write a new file and return its SHA-256; who asks keeps it (there may be a hundred thousand)."""
        with HashingFile(self.path / name) as file:
            file.write(data)
        return file.sha256()

    def add(self, name: str) -> None:
        """Hash a file that somebody else wrote, and bring it to the disk."""
        with (self.path / name).open("rb") as file:
            self.hashes[name] = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
