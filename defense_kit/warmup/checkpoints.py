"""Saves the state of each running attack, every minute and when the run ends early."""

import io
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from defense_kit.warmup.attacks import Attack, AttackedPicture, AttackResult, MadeRows, Query, Scores
from defense_kit.warmup.boundary import BoundaryState
from defense_kit.warmup.results import Results
from defense_kit.warmup.spsa import SpsaState

State = SpsaState | BoundaryState
StateType = type[SpsaState] | type[BoundaryState]
KEEP_SECONDS = 60.0
_REST = "rest"  # of the fields of a state, what are no arrays, as JSON
Begin = Callable[[AttackedPicture, Any, Callable[[Any], None]], Attack]  # from a state or None; keeps one each step


@dataclass(slots=True)
class UnderWay:
    """An attack on a picture: its rows that were not finite so far, and the newest state with how many there were then.

    `ahead` are the queries since then of which some rows may not count, which is known at the end of a step. `kept` is
    set as a whole: the attack works in another thread than what saves. `steps_before` were taken in earlier runs.
    """

    bad_rows: int = 0
    steps_before: int = 0
    ahead: list[tuple[MadeRows, Scores]] = field(default_factory=list)
    kept: tuple[State, int] | None = None

    @property
    def step(self) -> int:
        """Return the number of the newest step."""
        return self.kept[0].step if self.kept else self.steps_before

    def keep(self, state: State) -> None:
        self.count()
        self.kept = state, self.bad_rows

    def answer(self, query: Query, scores: Scores) -> None:
        """Count the rows that are not finite; later where some of them may not count."""
        if isinstance(query, MadeRows) and query.is_ahead:
            self.ahead.append((query, scores))
        else:
            self.bad_rows += _bad_rows(scores)

    def count(self) -> None:
        """Count the rows of queries ahead, as far as the attack made use of them."""
        self.bad_rows += sum(_bad_rows(scores[: query.used]) for query, scores in self.ahead)
        self.ahead.clear()


def _bad_rows(scores: Scores) -> int:
    return int((~np.isfinite(scores).all(axis=1)).sum())


class Checkpoints:
    """The states of one attack, by the key of the picture; `state_of` is their type, None for an attack without any.
    Results are kept under the name `kept_as`."""

    def __init__(self, results: Results, state_of: StateType | None, kept_as: str) -> None:
        self._results, self._kept_as, self._state_of = results, kept_as, state_of
        self._under_way: dict[bytes, UnderWay] = {}
        self._steps_ended = 0  # taken in this run for pictures that have their result
        self._saved = time.monotonic()

    def begin(self, of: AttackedPicture, begin: Begin) -> Attack:
        """Return the attack from where it was; its result counts the bad rows of earlier runs too."""
        kept = self._results.state(self._kept_as, of.key)
        state = unpacked(kept[0], self._state_of) if kept and self._state_of else None
        bad_rows, steps_before = kept[1] if kept else 0, state.step if state else 0
        under_way = self._under_way[of.key] = UnderWay(bad_rows, steps_before)
        return counted(begin(of, state, under_way.keep), under_way)

    def end(self, picture: bytes) -> None:
        """Forget a picture whose result is kept."""
        ended = self._under_way.pop(picture)
        self._steps_ended += ended.step - ended.steps_before

    def steps(self) -> tuple[int, int]:
        """Return how many steps were taken in this run, and how many the pictures under way have behind them."""
        steps = [(each.step, each.steps_before) for each in self._under_way.values()]
        taken = sum(step - steps_before for step, steps_before in steps)
        return self._steps_ended + taken, sum(step for step, _ in steps)

    def save_each_minute(self) -> None:
        """Save the states, where the last time was long ago."""
        if time.monotonic() - self._saved >= KEEP_SECONDS:
            self.save()

    def save(self) -> None:
        """Write the states to the disk."""
        kept = {picture: each.kept for picture, each in self._under_way.items()}
        states = {picture: (packed(each[0]), each[1]) for picture, each in kept.items() if each}
        self._results.keep_states(self._kept_as, states)
        self._saved = time.monotonic()


def counted(attack: Attack, under_way: UnderWay) -> Attack:
    """Run an attack, and count the answers that are not finite."""
    scores: Any = None  # what begins a generator
    while True:
        try:
            query = attack.send(scores)
        except StopIteration as ended:
            under_way.count()
            result: AttackResult = ended.value
            return replace(result, bad_rows=under_way.bad_rows)
        scores = yield query
        under_way.answer(query, scores)


def packed(state: State) -> bytes:
    """Return a state as the bytes of an .npz file."""
    values = {each.name: getattr(state, each.name) for each in fields(state)}
    members: dict[str, Any] = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    rest = json.dumps({name: value for name, value in values.items() if name not in members})
    members[_REST] = np.frombuffer(rest.encode(), np.uint8)
    file = io.BytesIO()
    np.savez(file, **members)
    return file.getvalue()


def unpacked(data: bytes, of: StateType) -> State:
    """Return the state that `packed` wrote."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        values: dict[str, Any] = {name: file[name] for name in file.files if name != _REST}
        rest = json.loads(file[_REST].tobytes())
    lists = {name: tuple(value) for name, value in rest.items() if isinstance(value, list)}
    return of(**values, **(rest | lists))
