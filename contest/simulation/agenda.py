"""The event queue and virtual clock of a simulation. Pure."""

import heapq
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime

Action = Callable[[datetime], None]
TOGETHER = 200


@dataclass(order=True, slots=True)
class _Due:
    at: datetime
    number: int
    action: Action = field(compare=False)
    alone: bool = field(compare=False)


class EventQueue:
    """Actions by their moments; of two at the same moment, the one that was added first comes first."""

    def __init__(self) -> None:
        self._due: list[_Due] = []
        self._added = 0

    def add(self, at: datetime, action: Action, *, alone: bool = False) -> None:
        """Let `action` happen at a moment; one that is not `alone` may share a transaction with those beside it."""
        self._added += 1
        heapq.heappush(self._due, _Due(at, self._added, action, alone))

    def play(self, until: datetime, together: Callable[[], AbstractContextManager[object]]) -> None:
        """Do everything before `until` in its order, small things in bunches inside of `together`."""
        while self._due and self._due[0].at < until:
            if self._due[0].alone:
                self._next()
                continue
            with together():
                for _ in range(TOGETHER):
                    if not self._due or self._due[0].at >= until or self._due[0].alone:
                        break
                    self._next()

    def _next(self) -> None:
        due = heapq.heappop(self._due)
        due.action(due.at)
