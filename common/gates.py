"""Limits how many threads of a process do heavy work at the same time."""

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from types import TracebackType

from common.errors import ServerBusy


class ConcurrencyGate:
    """A context that `at_once` threads may be in; `waiting` more wait, each at most `seconds`.

    Raises ServerBusy for the rest. The limit is per process. A thread must not enter it twice. With
    `waiting=0` nobody waits.
    """

    def __init__(self, *, at_once: int, waiting: int, seconds: float) -> None:
        self.at_once, self.waiting, self.seconds = at_once, waiting, seconds
        self._admitted = threading.BoundedSemaphore(at_once + waiting)
        self._inside = threading.BoundedSemaphore(at_once)

    def __enter__(self) -> None:
        """Wait for a turn."""
        if not self._admitted.acquire(blocking=False):
            raise self._busy()
        try:
            if not self._inside.acquire(timeout=self.seconds if self.waiting else 0):
                raise self._busy()
        except BaseException:
            self._admitted.release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the next one in."""
        self._inside.release()
        self._admitted.release()

    def _busy(self) -> ServerBusy:
        seconds = max(1, round(self.seconds))
        words = f"The server is busy with other uploads. Nothing was kept; send this again in {seconds} seconds."
        return ServerBusy(words, "busy", retry_after=seconds)


class HolderLimit:
    """Lets `at_once` threads in per holder, so that none fills a ConcurrencyGate; raises ServerBusy for more.

    It holds for one process.
    """

    def __init__(self, *, at_once: int, seconds: float) -> None:
        self.at_once, self.seconds = at_once, seconds
        self._lock = threading.Lock()
        self._held: Counter[Hashable] = Counter()

    @contextmanager
    def of(self, holder: Hashable) -> Iterator[None]:
        """Hold one of the places of `holder`."""
        with self._lock:
            if self._held[holder] >= self.at_once:
                seconds = max(1, round(self.seconds))
                words = f"Your account is sending {self.at_once} uploads already. Nothing was kept; send this again "
                raise ServerBusy(f"{words}in {seconds} seconds.", "busy", retry_after=seconds)
            self._held[holder] += 1
        try:
            yield
        finally:
            with self._lock:
                self._held[holder] -= 1
                if not self._held[holder]:
                    del self._held[holder]
