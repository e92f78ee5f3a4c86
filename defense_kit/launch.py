"""The result of starting a defense, whichever way."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from defense_kit.faults import Fault

Over = Callable[[], tuple[Fault, str] | None]


class LaunchedDefense(Protocol):
    """A running defense. `uid` is who must be at the other end of the socket, None where any user may be."""

    uid: int | None

    def ended(self) -> tuple[Fault, str] | None:
        """Return None while it runs, then why it is over: `out_of_memory`, `disk` or `crashed`, and a text."""

    def log(self) -> str:
        """Return the end of what it printed."""

    def stop(self) -> None:
        """Kill it with all its children, reap them and remove what it left; safe to call twice."""


Launch = Callable[[Path], LaunchedDefense]
"""Starts a defense that shall connect to the socket at this path; RunnerFault when it cannot be started."""
