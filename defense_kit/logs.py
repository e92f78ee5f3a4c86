"""Reads a defense's output continuously and keeps its end."""

import os
import threading
from collections import deque
from typing import IO

CHUNK_BYTES = 1 << 16


def readable(text: str, max_characters: int) -> str:
    """Return at most `max_characters` of a stranger's `text`, without control characters other than newlines."""
    kept = (letter for letter in text[: 4 * max_characters] if letter == "\n" or letter.isprintable())
    return "".join(kept)[:max_characters]


class LogRing:
    """The last bytes of a log, bounded however much is written."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit, self._held = limit_bytes, 0
        self._chunks: deque[bytes] = deque()
        self._lock = threading.Lock()

    def append(self, chunk: bytes) -> None:
        """Add bytes; the oldest go when there are too many."""
        with self._lock:
            self._chunks.append(chunk)
            self._held += len(chunk)
            while self._chunks and self._held - len(self._chunks[0]) >= self._limit:
                self._held -= len(self._chunks.popleft())

    def text(self) -> str:
        """Return what is kept, as text that is safe to show in a terminal or a page."""
        with self._lock:
            kept = b"".join(self._chunks)[-self._limit :]
        return readable(kept.decode("utf-8", "replace").replace("\t", "    "), self._limit)


def read_log(pipe: IO[bytes], ring: LogRing) -> None:
    """Read a pipe to its end, and close it."""
    with pipe:
        while chunk := os.read(pipe.fileno(), CHUNK_BYTES):
            ring.append(chunk)
