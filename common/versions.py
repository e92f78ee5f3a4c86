"""Reads versioned rows, each valid from a moment on, and caches them briefly."""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Generic, TypeVar

_MEMORY_SECONDS = 5.0

Version = TypeVar("Version")


class Versions(Generic[Version]):
    """Immutable versions, newest first, with the moment each came into force; a process remembers them briefly."""

    def __init__(self, read: Callable[[], list[tuple[datetime, Version]]]) -> None:
        self._read = read
        self._remembered: tuple[float, list[tuple[datetime, Version]]] | None = None

    def at(self, moment: datetime) -> Version:
        """Return the newest version that was in force at `moment`."""
        return next(version for since, version in self.all() if since <= moment)

    def between(self, first: datetime, last: datetime) -> list[tuple[datetime, Version]]:
        """Return what was in force at any moment from `first` to `last`, newest first, and since when."""
        begun = [(since, version) for since, version in self.all() if since <= last]
        over_before = sum(since <= first for since, _ in begun) - 1
        return begun[: len(begun) - max(over_before, 0)]

    def all(self) -> list[tuple[datetime, Version]]:
        """Return every version with the moment it came into force, newest first."""
        if self._remembered is None or time.monotonic() - self._remembered[0] > _MEMORY_SECONDS:
            self._remembered = (time.monotonic(), self._read())
        return self._remembered[1]

    def forget(self) -> None:
        """Read the versions afresh next time."""
        self._remembered = None
