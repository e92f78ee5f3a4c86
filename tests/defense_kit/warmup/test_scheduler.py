"""The scheduler: batches of one shape, each attack its own answers, and whoever ends makes room."""

import threading
from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defense_kit.protocol import BatchAnswers
from defense_kit.warmup import scheduler as module
from defense_kit.warmup.attacks import Attack, AttackResult, MadeRows, Rows
from defense_kit.warmup.measure import attacks_at_once, rows_of_batch
from defense_kit.warmup.scheduler import MAX_IN_FLIGHT, Scheduler

SHAPE = (2, 2, 3)
MAX_ROWS = 512


class Recorder:
    """Answers each row with its own value when the answer is needed, and keeps how full the batches were."""

    def __init__(self) -> None:
        self.full: list[int] = []
        self.shapes: set[tuple[int, ...]] = set()
        self.under_way: list[int] = []
        self._begun = deque[Rows]()

    @property
    def places(self) -> list[Rows]:
        return [np.empty((MAX_ROWS, *SHAPE), np.float32)]

    def send(self, images: Rows) -> None:
        self.shapes.add(images.shape)
        value = images[:, 0, 0, 0]
        self.full.append(int((value > 0).sum()))
        self._begun.append(images)
        self.under_way.append(len(self._begun))

    def receive(self) -> BatchAnswers:
        value = self._begun.popleft()[:, 0, 0, 0]
        return BatchAnswers(np.zeros(len(value), np.int8), np.stack([value, -value], axis=1))


def asking(number: int, sizes: list[int]) -> Attack:
    """Ask questions of these sizes with values of its own, and check that the answers are to them."""
    total, scores = 0, np.zeros((1, 2), np.float32)
    for turn, size in enumerate(sizes):
        values = (np.arange(size, dtype=np.float32) + 1000 * number + 100 * turn + 1) / 2**20
        scores = yield np.broadcast_to(values[:, None, None, None], (size, *SHAPE)).copy()
        assert np.array_equal(scores, np.stack([values, -values], axis=1))
        total += size
    return AttackResult(np.zeros(SHAPE, np.float32), scores[0], total)


ATTACKS = st.lists(st.lists(st.integers(1, 9), max_size=4), max_size=8)


@given(ATTACKS, st.integers(1, 11), st.integers(1, 5))
def test_each_attack_gets_the_answers_to_its_own_rows(attacks: list[list[int]], batch: int, running: int) -> None:
    defense = Recorder()
    scheduler = Scheduler[int](defense, batch=batch, max_running=running)
    found = dict(scheduler.run((number, asking(number, sizes)) for number, sizes in enumerate(attacks)))
    assert {number: result.queries for number, result in found.items()} == dict(enumerate(map(sum, attacks)))
    assert defense.shapes <= {(batch, *SHAPE)}
    assert scheduler.rows_wanted == sum(map(sum, attacks)) == sum(defense.full)
    assert scheduler.rows_sent == batch * len(defense.full)
    assert max(defense.under_way, default=0) <= MAX_IN_FLIGHT


@pytest.mark.parametrize("batch", [4, 16])
def test_batches_are_full_while_enough_attacks_run(batch: int) -> None:
    defense = Recorder()
    scheduler = Scheduler[int](defense, batch=batch, max_running=3 * batch)
    list(scheduler.run((number, asking(number, [1] * 6)) for number in range(20 * batch)))
    assert defense.full[: 20 * 6 - 3 * 6] == [batch] * (20 * 6 - 3 * 6), "but for the last attacks"
    assert set(defense.under_way[1 : 20 * 6 - 3 * 6]) == {MAX_IN_FLIGHT}, "one is answered while the next is made"


@pytest.mark.parametrize("batch", [16, 64, 256, 512])
def test_batches_are_full_where_attacks_ask_for_many_rows_and_for_one_in_turn(batch: int) -> None:
    scheduler = Scheduler[int](Recorder(), batch=batch, max_running=attacks_at_once("spsa", batch))
    list(scheduler.run((number, asking(number, [1, *[64, 1] * 9])) for number in range(150)))
    assert scheduler.rows_wanted / scheduler.rows_sent > 0.95


@pytest.mark.parametrize(
    ("running", "full", "why"),
    [
        (40, 16, "two batches are full, and some wait"),
        (32, 16, "two batches are full"),
        (20, 10, "half of them wait while the others are answered"),
        (17, 8, "one waits for the next batch"),
    ],
)
def test_two_batches_are_under_way_also_where_they_are_not_full(running: int, full: int, why: str) -> None:
    defense = Recorder()
    scheduler = Scheduler[int](defense, batch=16, max_running=running)
    list(scheduler.run((number, asking(number, [1] * 20)) for number in range(running)))
    settled = slice(6, -12)
    assert max(defense.full[settled]) == full, why
    assert set(defense.under_way[settled]) == {MAX_IN_FLIGHT}, why


@pytest.mark.parametrize(
    ("running", "room", "why"),
    [
        (1, 32, "all of two batches"),
        (5, 6, "a fifth of two batches"),
        (32, 1, "two batches are full with a row each"),
        (40, 1, "more wait: at least a row"),
    ],
)
def test_there_is_room_for_rows_ahead_while_two_batches_are_not_full(running: int, room: int, why: str) -> None:
    scheduler, found = Scheduler[int](Recorder(), batch=16, max_running=running), list[int]()

    def looking(number: int) -> Attack:
        yield from asking(number, [1])
        found.append(scheduler.room())
        result = yield from asking(number, [1])
        return result

    list(scheduler.run((number, looking(number)) for number in range(running)))
    assert found[0] == room, why


@pytest.mark.parametrize(
    ("attack", "most", "pictures", "rows", "why"),
    [
        ("boundary", 64, 100, 50, "half of them is answered while the other half is made"),
        ("boundary", 64, 99, 50, "one half has one more"),
        ("boundary", 64, 400, 64, "there are enough for two whole batches"),
        ("boundary", 256, 10, 8, "a card takes as long for fewer"),
        ("boundary", 4, 10, 4, "no more than was asked for"),
        ("spsa", 64, 10, 64, "each picture fills a batch"),
    ],
)
def test_the_boundary_attack_has_batches_of_half_of_its_pictures(
    attack: str, most: int, pictures: int, rows: int, why: str
) -> None:
    assert rows_of_batch(attack, most, pictures) == rows, why


def test_no_more_attacks_run_than_allowed() -> None:
    begun: set[int] = set()

    def counted(number: int) -> Attack:
        begun.add(number)
        scores = yield np.ones((1, *SHAPE), np.float32)
        return AttackResult(np.zeros(SHAPE, np.float32), scores[0], 1)

    results = Scheduler[int](Recorder(), batch=8, max_running=2).run((n, counted(n)) for n in range(6))
    next(results)
    assert begun == {0, 1}
    assert len(list(results)) == 5


def test_an_attack_that_asks_nothing_is_over_at_once() -> None:
    found = dict(Scheduler[int](Recorder(), batch=4, max_running=1).run([(1, asking(1, [])), (2, asking(2, [3]))]))
    assert (found[1].queries, found[2].queries) == (0, 3)


def test_attacks_that_were_answered_together_work_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "THREADS", 2)
    met = threading.Barrier(2, timeout=10)

    def meeting(number: int) -> Attack:
        scores = yield np.ones((1, *SHAPE), np.float32)
        met.wait()  # BrokenBarrierError where the other one waits for this one to end
        return AttackResult(np.zeros(SHAPE, np.float32), scores[0], 1)

    assert len(dict(Scheduler[int](Recorder(), batch=2, max_running=2).run((n, meeting(n)) for n in range(2)))) == 2


def test_an_attack_begins_while_two_batches_of_others_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "THREADS", 1)  # those that go on need no thread of those that begin
    monkeypatch.setattr(module, "BEGINNERS", 2)
    answered = threading.Event()

    def slow() -> Attack:
        assert answered.wait(10), "the others wait for this one"
        return (yield from asking(0, [1]))

    def other(number: int) -> Attack:
        yield from asking(number, [1])
        answered.set()
        return (yield from asking(number, [1]))

    attacks = [(1, other(1)), (0, slow()), (2, other(2))]
    assert len(dict(Scheduler[int](Recorder(), batch=1, max_running=3).run(attacks))) == 3


def test_the_next_batch_is_filled_while_two_are_under_way() -> None:
    filled = threading.Event()
    written = list[int]()

    class Counted(MadeRows):
        def write(self, first: int, out: Rows) -> None:
            out[:] = 1
            written.append(first)
            if len(written) > MAX_IN_FLIGHT:
                filled.set()

    class Patient(Recorder):
        def receive(self) -> BatchAnswers:
            assert filled.wait(10), "it is filled only after an answer"
            return super().receive()

    def attack() -> Attack:
        scores = yield Counted((MAX_IN_FLIGHT + 1, *SHAPE))
        return AttackResult(np.zeros(SHAPE, np.float32), scores[0], MAX_IN_FLIGHT + 1)

    assert len(dict(Scheduler[int](Patient(), batch=1, max_running=1).run([(1, attack())]))) == 1


class Unreadable(MadeRows):
    def write(self, first: int, out: Rows) -> None:
        raise ValueError("no such picture")


@pytest.mark.parametrize("when", ["before it asks", "while its rows are written", "with its answers"])
def test_what_an_attack_raises_ends_the_run(when: str) -> None:
    def broken() -> Attack:
        if when == "before it asks":
            raise ValueError("no such picture")
        yield Unreadable((1, *SHAPE)) if when == "while its rows are written" else np.ones((1, *SHAPE), np.float32)
        raise ValueError("no such picture")

    with pytest.raises(ValueError, match="no such picture"):
        list(Scheduler[int](Recorder(), batch=2, max_running=2).run([(1, broken()), (2, asking(2, [1, 1]))]))
