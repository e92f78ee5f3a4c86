"""The secret order of a trial's pictures (R31). Pure.

A defense gets a seed, and people who know how a set was imported know the order of its numbers. The order of a trial
must not follow from either, because a picture's place would reveal its class.
"""

import hmac
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TrialOrder:
    """The order of one trial, the `number`-th of its kind and defense: the same one whenever it is repeated."""

    secret: str = field(repr=False)
    kind: str
    defense: int
    number: int

    def of(self, things: Iterable[T], name: Callable[[T], str]) -> list[T]:
        """Return `things`, of which `name` tells one from the other, in this trial's order."""
        return sorted(things, key=lambda thing: self._place(name(thing)))

    def _place(self, name: str) -> bytes:
        told = f"order of trials/{self.kind}/{self.defense}/{self.number}/{name}"
        return hmac.digest(self.secret.encode(), told.encode(), "sha256")
