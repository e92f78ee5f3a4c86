"""The virtual clock of a simulation, with a queue of scheduled events. Pure."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from heapq import heappop, heappush
from itertools import count


class VirtualClock:
    """`now` is the time of the simulation. Events at the same moment run in the order in which they were added."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self._due: list[tuple[datetime, int, Callable[[], object]]] = []
        self._numbers = count()

    def at(self, moment: datetime, action: Callable[..., object], *given: object) -> None:
        """Schedule `action` for a moment, with its arguments."""
        due: tuple[datetime, int, Callable[[], object]] = (moment, next(self._numbers), partial(action, *given))
        heappush(self._due, due)

    def play(self, until: datetime) -> None:
        """Run all events before `until` in order; `now` is the moment of each."""
        while self._due and self._due[0][0] < until:
            self.now, _, action = heappop(self._due)
            action()
