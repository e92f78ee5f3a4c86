"""The virtual clock of a simulation, with what is to happen on it. Pure."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from heapq import heappop, heappush
from itertools import count


class VirtualClock:
    """`now` is the time of the simulation. Of two things at one moment, the one that was added first comes first."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self._due: list[tuple[datetime, int, Callable[[], object]]] = []
        self._numbers = count()

    def at(self, moment: datetime, action: Callable[..., object], *given: object) -> None:
        """Let `action` happen at a moment, with what is given to it."""
        due: tuple[datetime, int, Callable[[], object]] = (moment, next(self._numbers), partial(action, *given))
        heappush(self._due, due)

    def play(self, until: datetime) -> None:
        """Do everything before `until` in its order; `now` is the moment of each."""
        while self._due and self._due[0][0] < until:
            self.now, _, action = heappop(self._due)
            action()
