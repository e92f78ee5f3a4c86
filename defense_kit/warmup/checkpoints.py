"""Keeps how far each attack under way is: every minute, and when the run ends early."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from defense_kit.warmup.attacks import Attack, AttackedPicture, AttackResult
from defense_kit.warmup.boundary import BoundaryState
from defense_kit.warmup.results import Results
from defense_kit.warmup.spsa import SpsaState
from defense_kit.warmup.states import State, StateType, packed, unpacked

KEEP_SECONDS = 60.0
_STATES: dict[str, StateType] = {"spsa": SpsaState, "boundary": BoundaryState}
Begin = Callable[[AttackedPicture, Any, Callable[[Any], None]], Attack]  # from a state or None; keeps one each step


@dataclass(slots=True)
class _UnderWay:
    """An attack on a picture: rows that were not finite so far, and what a run that goes on begins from."""

    bad_rows: int = 0
    state: State | None = None
    bad_rows_at_state: int = 0

    def keep(self, state: State) -> None:
        self.state, self.bad_rows_at_state = state, self.bad_rows


class Checkpoints:
    """The states of one attack, by the SHA-256 of the picture. Results are kept under the name `kept_as`."""

    def __init__(self, results: Results, attack: str, kept_as: str) -> None:
        self._results, self._kept_as, self._state_of = results, kept_as, _STATES.get(attack)
        self._under_way: dict[bytes, _UnderWay] = {}
        self._saved = time.monotonic()

    def begin(self, of: AttackedPicture, begin: Begin) -> Attack:
        """Return the attack from where it was; its result counts the bad rows of earlier runs too."""
        under_way = _UnderWay()
        kept = self._results.state(self._kept_as, of.sha256) if self._state_of else None
        if kept is not None and self._state_of:
            under_way.state, under_way.bad_rows = unpacked(kept[0], self._state_of), kept[1]
        self._under_way[of.sha256] = under_way
        return _counted(begin(of, under_way.state, under_way.keep), under_way)

    def end(self, picture: bytes) -> None:
        """Forget a picture whose result is kept."""
        del self._under_way[picture]

    def save_each_minute(self) -> None:
        """Save the states, where the last time was long ago."""
        if time.monotonic() - self._saved >= KEEP_SECONDS:
            self.save()

    def save(self) -> None:
        """Write the states to the disk."""
        states = {
            picture: (packed(each.state), each.bad_rows_at_state)
            for picture, each in self._under_way.items()
            if each.state is not None
        }
        self._results.keep_states(self._kept_as, states)
        self._saved = time.monotonic()


def _counted(attack: Attack, under_way: _UnderWay) -> Attack:
    """Run an attack, and count the answers that are not finite."""
    scores: Any = None  # what begins a generator
    while True:
        try:
            rows = attack.send(scores)
        except StopIteration as ended:
            result: AttackResult = ended.value
            return replace(result, bad_rows=under_way.bad_rows)
        scores = yield rows
        under_way.bad_rows += int((~np.isfinite(scores).all(axis=1)).sum())
