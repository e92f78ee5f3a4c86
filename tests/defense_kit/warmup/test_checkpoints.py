"""A run that is killed at any moment goes on, and finds the same (R40)."""

import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from defense_kit.warmup import boundary, checkpoints, measure, spsa
from defense_kit.warmup.attacks import Attack, AttackedPicture, Rows, Scores, clean
from defense_kit.warmup.boundary import BoundaryState
from defense_kit.warmup.checkpoints import Checkpoints, packed, unpacked
from defense_kit.warmup.pictures import LabelledPicture
from defense_kit.warmup.report import Measured
from defense_kit.warmup.results import UnusableResults, open_results
from defense_kit.warmup.spsa import SpsaState
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

    def send(self, images: Rows) -> None:
        if self.batches == self._batches:
            os.kill(os.getpid(), signal.SIGKILL)
        super().send(images)


def mostly_finite(rows: Rows) -> Scores:
    """Scores that the attacks move, but nothing for one row in twenty; by the row alone."""
    scores = linear(scale=0.02)(rows)
    scores[(rows[:, 0, 0, 0] * 2**20).astype(int) % 20 == 7] = np.nan
    return scores


def measured(path: Path, batches: int | None = None) -> Measured:
    """Measure, or be killed."""
    session: Any = Session(batches)
    with open_results(path, "d", resume=True) as results:
        measurement = measure.Measurement(session, PICTURES, results, batch=16, folder=path.parent)
        return measurement.run(("spsa", "boundary"), defense="d", digest="d", device=None)


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
    while killed(tmp_path / "killed", int(rng.integers(17, 32))):  # 16 are of the checks
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


def test_what_the_checks_found_in_an_earlier_run_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spsa, "STEPS", 1)
    monkeypatch.setattr(boundary, "STEPS", 1)
    assert not measured(tmp_path / "results").checks.changed
    with open_results(tmp_path / "results", "other", resume=True) as results:
        results.add_flag("changed")
    assert not measured(tmp_path / "results").checks.changed, "that is another defense"
    with open_results(tmp_path / "results", "d", resume=True) as results:
        for _ in range(2):
            results.add_flag("changed")
    checks = measured(tmp_path / "results").checks
    assert checks.changed and not checks.randomised


class Clock:
    """The module `time` with a clock that is set by hand."""

    strftime, localtime = staticmethod(time.strftime), staticmethod(time.localtime)
    seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def time(self) -> float:
        return 1_000_000 + self.seconds


def test_the_expected_end_counts_the_steps_of_this_run_and_those_that_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three pictures of 10 steps: one ended after 4, one was kept at its third and is at its sixth, one is to begin."""
    state = SpsaState(3, ONE, ONE, ONE, -0.5, ONE, SCORES, -0.75, 2, 196, 1)
    keeps: list[Any] = []

    def begin(of: AttackedPicture, kept: Any, keep: Any) -> Attack:
        keeps.append(keep)
        return clean(of)

    with open_results(tmp_path / "results", "d", resume=True) as results:
        results.keep_states("spsa", {PICTURES[1].picture.key: (packed(state), 0)})
        checkpoints = Checkpoints(results, SpsaState, "spsa")
        for each in PICTURES[:2]:
            checkpoints.begin(each.picture, begin)
    keeps[0](replace(state, step=4))
    keeps[1](replace(state, step=6))
    checkpoints.end(PICTURES[0].picture.key)
    assert checkpoints.steps() == (4 + 3, 6)

    clock = Clock()
    monkeypatch.setattr(measure, "time", clock)
    progress = measure._Progress("spsa", 3, 10, lambda: 700, checkpoints.steps)
    progress.done, clock.seconds = 1, 14
    progress.print_sometimes()
    ends = time.strftime("%Y-%m-%d %H:%M", time.localtime(clock.time() + 14 * (2 * 10 - 6) / 7))
    assert capsys.readouterr().err == f"spsa: 1 of 3 pictures, 50 queries/s, done about {ends}\n"


def test_an_attack_without_steps_expects_its_end_by_pictures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr(measure, "time", clock)
    progress = measure._Progress("clean", 4, None, lambda: 24, lambda: (0, 0))
    clock.seconds = 12
    progress.print_sometimes()
    progress.done, clock.seconds = 1, 24
    progress.print_sometimes()
    ends = time.strftime("%Y-%m-%d %H:%M", time.localtime(clock.time() + 3 * 24))
    assert capsys.readouterr().err.splitlines() == [
        "clean: 0 of 4 pictures, 2 queries/s",
        f"clean: 1 of 4 pictures, 1 queries/s, done about {ends}",
    ]
