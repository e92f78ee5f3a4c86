"""A run that is killed at any moment goes on, and finds the same (R40)."""

import json
import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from defense_kit.protocol import BatchAnswers
from defense_kit.warmup import boundary, checkpoints, measure, spsa
from defense_kit.warmup.attacks import Rows, Scores
from defense_kit.warmup.boundary import BoundaryState
from defense_kit.warmup.pictures import LabelledPicture
from defense_kit.warmup.results import UnusableResults, open_results
from defense_kit.warmup.spsa import SpsaState
from defense_kit.warmup.states import packed, unpacked
from tests.defense_kit.warmup.defenses import InProcess, linear, picture

RIGHT = {14: True, 19: True, 0: False, 15: False}  # birds and bicycles that the defense below is right about
PICTURES = [LabelledPicture(f"{number}.png", picture(number, is_bird=bird)) for number, bird in RIGHT.items()]
ONE = np.full((1, 1, 3), 0.25, np.float32)
SCORES = np.array([0.75, 0.25], np.float32)


class Session(InProcess):
    """A defense in this process, which ends it without a word after so many batches."""

    name = "linear"

    def __init__(self, batches: int | None = None) -> None:
        super().__init__(mostly_finite)
        self._batches = batches

    def send(self, rows: Rows) -> None:
        if self.batches == self._batches:
            os.kill(os.getpid(), signal.SIGKILL)
        super().send(rows)

    def receive(self) -> Any:
        scores = super().receive()
        return BatchAnswers(np.zeros(len(scores), np.int8), scores)


def mostly_finite(rows: Rows) -> Scores:
    """Scores that the attacks move, but nothing for one row in twenty; by the row alone."""
    scores = linear(scale=0.02)(rows)
    scores[(rows[:, 0, 0, 0] * 2**20).astype(int) % 20 == 7] = np.nan
    return scores


def measured(path: Path, batches: int | None = None) -> None:
    """Measure, or be killed."""
    session: Any = Session(batches)
    with open_results(path, "d", resume=True) as results:
        measurement = measure.Measurement(session, PICTURES, results, batch=16, folder=path.parent)
        measurement.run(("spsa", "boundary"), defense="d", digest="d")


def killed(path: Path, batches: int) -> bool:
    """Measure in a process of its own that is killed after so many batches; return whether it was."""
    child = os.fork()
    if child == 0:
        try:
            measured(path, batches)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def found(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM states").fetchone() == (0,), "a result takes the state's place"
        return list(connection.execute("SELECT * FROM results ORDER BY attack, picture"))


@pytest.mark.long("some twenty processes that are killed")
def test_a_run_that_is_killed_again_and_again_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spsa, "STEPS", 4)
    monkeypatch.setattr(boundary, "STEPS", 12)
    monkeypatch.setattr(checkpoints, "KEEP_SECONDS", 0)
    measured(tmp_path / "whole")
    rng, times = np.random.default_rng(7), 0
    while killed(tmp_path / "killed", int(rng.integers(15, 30))):
        times += 1
    assert times >= 5
    whole = found(tmp_path / "whole")
    assert found(tmp_path / "killed") == whole
    chosen = [json.loads(row[-1]) for row in whole]
    assert max(each["steps"] for each in chosen[:4]) == 12 and min(each["steps"] for each in chosen[4:]) == 4
    assert max(row[-2] for row in whole) > 0, "bad rows are counted over all runs"


def test_what_is_under_way_is_kept_when_a_run_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also within the first minute."""
    monkeypatch.setattr(spsa, "STEPS", 4)
    monkeypatch.setattr(Session, "send", stopped_after(40, Session.send))
    with pytest.raises(KeyboardInterrupt):
        measured(tmp_path / "results")
    with closing(sqlite3.connect(tmp_path / "results")) as connection:
        states = [unpacked(state, SpsaState) for (state,) in connection.execute("SELECT state FROM states")]
    with (
        pytest.raises(UnusableResults, match="go on with --resume"),
        open_results(tmp_path / "results", "d", resume=False),
    ):
        pass
    assert len(states) == 3 and all(1 <= state.step <= 4 for state in states)


def stopped_after(batches: int, send: Callable[..., None]) -> Callable[..., None]:
    def stopping(self: Session, rows: Rows) -> None:
        if self.batches == batches:
            raise KeyboardInterrupt
        send(self, rows)

    return stopping


@pytest.mark.parametrize(
    "state",
    [
        SpsaState(3, ONE, ONE * 2, ONE * 3, -0.5, ONE * 4, SCORES, -0.75, 2, 196, 1),
        BoundaryState(7, ONE, SCORES, 30, 0.01, 0.015, (True, False), ()),
    ],
    ids=["spsa", "boundary"],
)
def test_a_state_comes_back_as_it_was(state: SpsaState | BoundaryState) -> None:
    again = unpacked(packed(state), type(state))
    assert repr(again) == repr(state) and packed(again) == packed(state)
