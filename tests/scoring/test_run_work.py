"""Runs that follow each other in one session: they overlap, and what happens to one is no other's matter (R29, R30)."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.db import OperationalError

from labeling.models import Image
from policy.numbers import Policy
from scoring import leases, run_work, runner, services
from scoring.arrays import Pixels, load_picture, read_arrays
from scoring.enums import Fault, RunState
from scoring.models import Defense, Prediction, Run, Trial
from scoring.plan import PlannedBatch, picture_batches
from scoring.reference import AtOnce
from scoring.runner import BatchAnswers, ReferenceRunner, ReferenceSession, RunnerFault, converse
from tests import factories
from tests.defense_kit.programs import ROWS, SIZE
from tests.defense_kit.test_shared_memory import opened
from tests.scoring import cast

pytestmark = pytest.mark.django_db
NO_ANSWERS = BatchAnswers(np.zeros(0, np.int8), np.zeros((0, 2), np.float32))
ONE_ROUND_WARM = Policy(image_size=cast.SIZE, batch_size=4, evaluation_runs=2)


def runs_of(pictures: int, now: datetime, monkeypatch: pytest.MonkeyPatch, count: int = 3) -> list[Run]:
    """So many runs of the first round, each with as many pictures; those of the last round wait for another day."""
    monkeypatch.setattr(services, "PICTURES_PER_RUN", pictures)
    (defense,) = cast.publish(now, "numpy-statistics")
    Trial.objects.create(
        **{"defense": defense, "kind": "smoke", "number": 1, "state": "finished", "seed": 1, "batch_size": 4},
        totals={"rounds": 1},
        created_at=now,
    )
    cast.valid_pictures(pictures * count)
    cast.plan(now, policy=ONE_ROUND_WARM)
    Run.objects.filter(fresh=True).update(not_before=now + timedelta(days=1))
    return list(Run.objects.filter(fresh=False).order_by("id"))


def states() -> str:
    """The states of the first round's runs, by their first letters."""
    return "".join(state[0] for state in Run.objects.filter(fresh=False).order_by("id").values_list("state", flat=True))


class Watched(ReferenceRunner):
    """A runner whose sessions call `sending` with a batch's number and the one for the batches not yet answered."""

    def __init__(self, sending: Callable[[np.ndarray], None], receiving: Callable[[list[np.ndarray]], None]) -> None:
        self.sending, self.receiving, self.opened = sending, receiving, 0

    def open(self, defense: Defense, **values: Any) -> Any:
        self.opened += 1
        return WatchedSession(super().open(defense, **values), self)


class WatchedSession(cast.SeeingSession):
    """Tells its runner what happens."""

    def __init__(self, session: Any, runner: Watched) -> None:
        super().__init__(session, lambda answers, _: answers, None)
        self.runner = runner

    def send(self, images: Any) -> None:
        self.runner.sending(images)
        super().send(images)

    def receive(self) -> Any:
        self.runner.receiving(self.begun)
        return super().receive()


class InThisThread(Executor):
    """Reads pictures when they are asked for, so that a test does not depend on how quick a thread is."""

    def submit(self, do: Any, *values: Any, **named: Any) -> Any:
        found: Future[Any] = Future()
        found.set_result(do(*values, **named))
        return found


def nothing(_: object) -> None:
    """Let it be."""


def watched(sending: Any = nothing, receiving: Any = nothing) -> Watched:
    return Watched(sending, receiving)


def in_batch(image: Image) -> Callable[[np.ndarray], bool]:
    picture = load_picture(image.pixels_sha256, image.width)
    return lambda images: any(np.array_equal(picture, each) for each in images)


def answered_once() -> int:
    """How many places are answered, each of them once."""
    places = Counter(Prediction.objects.values_list("image", "round"))
    assert set(places.values()) <= {1}
    return len(places)


def test_the_next_run_is_begun_before_the_one_before_is_kept(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    runs_of(16, now, monkeypatch)
    monkeypatch.setattr(runner, "ThreadPoolExecutor", lambda *_, **__: InThisThread())
    seen: list[str] = []
    watching = watched(lambda _: seen.append(states()))
    with cast.scorer_at(now, find_runner=lambda _: watching) as scorer:
        assert scorer.work() == 3
    assert seen == ["rqq"] * 3 + ["rrq"] * 3 + ["frq"] + ["frr"] * 3 + ["ffr"] * 2, "three batches early, two late"
    assert (states(), answered_once(), watching.opened) == ("fff", 48, 1)
    assert set(Run.objects.filter(fresh=False).values_list("attempt", "lease_until")) == {(1, None)}


@pytest.mark.parametrize(
    ("reading", "patience", "under_way", "why"),
    [
        (0.01, 5, [2, 2], "a second batch that is almost there is waited for: alone, the first would leave cores idle"),
        (
            0.2,
            0.05,
            [1, 1],
            "an answer does not wait for pictures that take long to read, neither the first nor later",
        ),
    ],
)
def test_how_many_batches_are_under_way_when_an_answer_is_waited_for(
    reading: float, patience: float, under_way: list[int], why: str, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answer, and the second. It takes a tenth of a second to answer a batch."""
    runs_of(16, now, monkeypatch)
    monkeypatch.setattr(runner, "SECOND_BATCH_SECONDS", patience)

    def read(*asked: Any) -> None:
        time.sleep(reading)
        read_arrays(*asked)

    seen: list[int] = []

    def receiving(begun: list[np.ndarray]) -> None:
        seen.append(len(begun))
        time.sleep(0.1)

    monkeypatch.setattr("scoring.run_work.read_arrays", read)
    with cast.scorer_at(now, find_runner=lambda _: watched(receiving=receiving)) as scorer:
        scorer.work()
    assert seen[:2] == under_way, why


class Slow(AtOnce):
    """A defense that takes its time, and answers with the first value of each picture as its score."""

    device = "cpu"

    def predict(self, images: Pixels) -> Any:
        time.sleep(0.005)
        first = images[:, 0, 0, 0].astype(np.float32)
        return np.zeros(len(images), np.int8), np.stack([first, first], axis=1)


@contextmanager
def slow_session(_: Path) -> Iterator[ReferenceSession]:
    yield ReferenceSession(Slow(), image_size=SIZE, batch_size=ROWS)


SESSIONS = [
    pytest.param(slow_session, id="in this process"),
    pytest.param(opened, id="in shared memory"),
    pytest.param(partial(opened, can_share=False), id="through the socket"),
]


def read_numbers(batch: PlannedBatch[int], out: Pixels) -> None:
    for picture, number in zip(out, batch.rows, strict=True):
        picture[:] = number


@pytest.mark.parametrize("session", SESSIONS)
def test_reading_is_quicker_than_answering_and_never_overtakes_it(session: Any, tmp_path: Path) -> None:
    with session(tmp_path) as running:
        lay_in, send = list[Any](), running.send
        running.send = lambda images: (lay_in.append(images), send(images))
        places = list(running.places)
        for turn in range(2):  # the second one goes on where the first has ended
            batches = picture_batches(range(16 * ROWS + 1), batch_size=ROWS)
            found = list(converse(running, batches, read_numbers, lambda: None))
            scores = [answers.scores[:, 0].tolist() for _, answers, _ in found]
            assert scores == [list(batch.rows) for batch, _, _ in found] and len(found) == 17, turn
    assert list(map(id, lay_in)) == list(map(id, islice(cycle(places), 2 * 17)))


def test_after_a_picture_that_cannot_be_read_nothing_is_read(tmp_path: Path) -> None:
    read = list[int]()

    def load(batch: PlannedBatch[int], out: Pixels) -> None:
        read.append(batch.number)
        if batch.number == 5:
            raise ValueError("no such picture")
        read_numbers(batch, out)

    found = list[int]()
    with slow_session(tmp_path) as session, pytest.raises(ValueError, match="no such picture"):
        for batch, _, _ in converse(session, picture_batches(range(99), batch_size=ROWS), load, lambda: None):
            found.append(batch.number)
    assert found == [0, 1, 2, 3, 4], "all before it are answered"
    assert read == list(range(max(read) + 1)) and max(read) <= 7


def test_a_batch_that_does_not_lie_where_the_session_looks_is_not_sent(tmp_path: Path) -> None:
    with slow_session(tmp_path) as session, pytest.raises(RuntimeError, match="does not lie"):
        for _ in converse(session, picture_batches(range(99), batch_size=ROWS), read_numbers, lambda: None):
            session.places.rotate()


def test_pictures_are_read_with_a_lower_priority_than_a_network_has(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_of(16, now, monkeypatch)
    reading, working = set[int](), set[int]()

    def read(*asked: Any) -> None:
        reading.add(os.nice(0))
        read_arrays(*asked)

    monkeypatch.setattr("scoring.run_work.read_arrays", read)
    with cast.scorer_at(now, find_runner=lambda _: watched(lambda _: working.add(os.nice(0)))) as scorer:
        scorer.work()
    assert working == {os.nice(0)}
    assert reading == {min(19, os.nice(0) + 10)}, "there is no lower one than 19"


@pytest.mark.parametrize("why", ["a trial waits", "it is time", "another seed", "the database is away"])
def test_runs_that_do_not_follow_wait_for_their_turn(why: str, now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, _ = runs_of(4, now, monkeypatch)
    with monkeypatch.context() as patch:
        if why == "a trial waits":
            patch.setattr(run_work, "trial_waits_longest", lambda **_: True)
        elif why == "it is time":
            patch.setattr(run_work, "JOIN_SECONDS", 0.0)
        elif why == "another seed":
            Run.objects.filter(pk=second.pk).update(seed=first.seed + 1)
        else:
            patch.setattr(run_work.connection, "close", lambda: None)
            patch.setattr(services, "run_claim_alike", lambda **_: cast.raising(OperationalError("away"))(NO_ANSWERS))
        watching = watched()
        with cast.scorer_at(now, find_runner=lambda _: watching) as scorer:
            done, left = scorer.work(), states()
    assert (done, left, watching.opened) == ((3, "fff", 3) if why == "another seed" else (1, "fqq", 1))
    cast.work_all(now)
    assert answered_once() == 12


@pytest.mark.parametrize("late", [False, True], ids=["while it works", "while it reads the next"])
def test_who_fails_between_two_runs_is_asked_again_about_each_alone(
    late: bool, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R30: the first run's only picture is no reason for what the next run's picture does."""
    runs = runs_of(1, now, monkeypatch, count=4)
    poison = Image.objects.get(run_items__run=runs[1])
    is_bad = in_batch(poison)

    def fail(images: np.ndarray) -> None:
        if is_bad(images):
            raise RunnerFault(Fault.CRASHED, "ended with status 1")

    reading = watched(receiving=lambda begun: [fail(each) for each in begun])
    failing = watched(sending=fail) if late else reading
    assert cast.work_all(now, find_runner=lambda _: failing) == 4
    assert (states(), answered_once()) == ("fdff", 3)
    assert list(Run.objects.filter(state=RunState.DEAD).values_list("pk", "fault")) == [(runs[1].pk, Fault.CRASHED)]
    runs[0].refresh_from_db()
    assert runs[0].attempt == 1, "its lease was kept meanwhile"


def test_a_missing_picture_of_the_next_run_is_the_next_runs(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = runs_of(1, now, monkeypatch)
    Image.objects.filter(run_items__run=runs[1]).update(pixels_sha256="0" * 64)
    cast.work_all(now)
    found = Run.objects.filter(fresh=False).order_by("id").values_list("state", "tries")
    assert list(found) == [(RunState.FINISHED, 0), (RunState.QUEUED, 1), (RunState.FINISHED, 0)]


def test_a_lost_lease_costs_the_next_run_nothing(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _, _ = runs_of(1, now, monkeypatch)
    monkeypatch.setattr(leases.Heartbeat, "check", lambda beat: lost(beat._work))

    def lost(work: Run) -> None:
        if work.pk == first.pk:
            Run.objects.filter(pk=first.pk).update(attempt=7, worker="two")
            raise leases.LeaseLost(work)

    assert cast.work_all(now) == 3
    assert (states(), answered_once()) == ("rff", 2)
    found = Run.objects.filter(fresh=False).order_by("id").values_list("attempt", "tries", "fault")
    assert list(found) == [(7, 0, ""), (2, 0, ""), (2, 0, "")], "the others were given back, which is no fault"


def test_taken_over_while_it_is_kept_it_is_lost_alone(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _, _ = runs_of(1, now, monkeypatch)
    taken = watched(lambda _: Run.objects.filter(pk=first.pk).update(attempt=7))
    assert cast.work_all(now, find_runner=lambda _: taken) == 3
    assert (states(), answered_once(), taken.opened) == ("rff", 2, 1)


@pytest.mark.parametrize("error", [ValueError("a bug"), KeyboardInterrupt()], ids=["an error", "an interruption"])
def test_an_error_around_it_gives_back_what_was_not_answered(
    error: BaseException, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_of(1, now, monkeypatch)
    monkeypatch.setattr(services, "run_finish", lambda *_, **__: cast.raising(error)(NO_ANSWERS))
    beats: list[leases.Heartbeat] = []
    begin = leases.Heartbeat.__enter__
    monkeypatch.setattr(leases.Heartbeat, "__enter__", lambda beat: beats.append(beat) or begin(beat))
    with cast.scorer_at(now) as scorer, pytest.raises(type(error)):
        scorer.work()
    assert states() == "rqq" and not Run.objects.filter(state=RunState.QUEUED, lease_until__isnull=False).exists()
    assert len(beats) == 3 and not any(beat._thread.is_alive() for beat in beats)
    monkeypatch.undo()
    leases.reclaim(Run, now=now + timedelta(seconds=61))
    cast.work_all(now)
    assert answered_once() == 3


def test_what_was_under_way_when_keeping_failed_is_no_answer_to_the_next_run(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_of(16, now, monkeypatch)
    runner = watched()
    with cast.scorer_at(now, find_runner=lambda _: runner) as scorer:
        with monkeypatch.context() as patch, pytest.raises(ValueError, match="a bug"):
            patch.setattr(services, "run_finish", lambda *_, **__: cast.raising(ValueError("a bug"))(NO_ANSWERS))
            scorer.work()
        leases.reclaim(Run, now=now + timedelta(seconds=61))
        scorer.work()
    assert (states(), answered_once(), runner.opened) == ("fff", 48, 2)


class Stuck(Watched):
    """A runner whose sessions do not go away the first time, as when the engine of containers is away."""

    closes = 0

    def open(self, defense: Defense, **values: Any) -> Any:
        session = super().open(defense, **values)
        close = session.close

        def closing() -> None:
            self.closes += 1
            if self.closes == 1:
                raise RunnerFault(Fault.PLATFORM, "the engine is away")
            close()

        session.close = closing
        return session


def test_a_session_that_does_not_go_away_is_used_by_no_other_run(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_of(4, now, monkeypatch)
    faults = [RunnerFault(Fault.PLATFORM, "the engine is away")]
    runner = Stuck(nothing, lambda _: cast.raising(faults.pop())(NO_ANSWERS) if faults else None)
    with cast.scorer_at(now, find_runner=lambda _: runner) as scorer:
        scorer.work()
        scorer.work()
        assert (states(), runner.opened) == ("qff", 2)
        assert runner.closes == 2, "it was closed before another was opened"


def test_what_somebody_else_has_is_not_given_back(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    runs_of(1, now, monkeypatch)
    mine, other = (services.run_claim(worker=name, now=now) for name in ("one", "two"))
    assert mine is not None and other is not None
    leases.give_back(mine)
    again = services.run_claim(worker="two", now=now)
    assert again is not None and (again.pk, again.attempt, again.tries) == (mine.pk, 2, 0)
    leases.give_back(mine)
    assert states() == "rrq" and Run.objects.get(pk=mine.pk).lease_until == now + leases.LEASE


def test_a_held_run_has_time_for_the_batches_of_the_one_before(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    run, *_ = runs_of(8, now, monkeypatch)
    factories.policy_version()
    with cast.scorer_at(now) as scorer:
        held = run_work.HeldRun(run, scorer)
        held.close()
    most = leases.longest(Policy(), batch_size=4, batches=2 + 4)
    assert held.heartbeat._until == now + most
