"""Reads a defense's output continuously and keeps its end."""

import os
import threading
from collections import deque

CHUNK_BYTES = 1 << 16


def readable(text: str, longest: int) -> str:
    """Return at most `longest` characters of a stranger's `text`, without control characters other than newlines."""
    kept = (letter for letter in text[: 4 * longest] if letter == "\n" or letter.isprintable())
    return "".join(kept)[:longest]


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


class LogReader:
    """Reads a pipe to its end in a thread of its own."""

    def __init__(self, descriptor: int, ring: LogRing) -> None:
        self._descriptor, self._ring = descriptor, ring
        self._thread = threading.Thread(target=self._read, name="defense-log", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            while chunk := os.read(self._descriptor, CHUNK_BYTES):
                self._ring.append(chunk)
        finally:
            os.close(self._descriptor)

    def join(self, seconds: float) -> None:
        """Wait until the pipe has ended, `seconds` at most."""
        self._thread.join(seconds)
