"""A run from claim to answers, with the shipped defenses and what may go wrong (R29, R30)."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.db import OperationalError

from common.errors import InvalidInput
from labeling.models import Image
from scoring import engine, inference, leases, persistence, rules, selectors, services, warm
from scoring.enums import Fault, Outcome, RunState
from scoring.models import Defense, Prediction, Run, Trial
from scoring.runner import Answers, RunnerFault
from tests import factories
from tests.scoring import cast

pytestmark = pytest.mark.django_db


def test_every_picture_is_answered_by_every_defense_in_every_round(now: datetime) -> None:
    defenses = cast.publish(now)
    images = cast.valid_pictures(6)
    cast.plan(now)
    assert cast.work_all(now) == 9
    given = set(Prediction.objects.values_list("defense", "image", "round"))
    assert given == {(d.pk, image.pk, number) for d in defenses for image in images for number in (1, 2, 3)}
    assert Prediction.objects.count() == len(given)
    assert Run.objects.filter(state=RunState.FINISHED).count() == 9


def test_a_prediction_records_what_made_it(now: datetime) -> None:
    (defense,) = cast.publish(now, "demo-cnn")
    cast.valid_pictures(6)
    cast.plan(now)
    cast.work_all(now)
    run = Run.objects.order_by("id").first()
    assert run is not None
    rows = selectors.predictions_of_run(run)
    assert [(row.batch, row.row) for row in rows] == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)]
    assert [row.item.position for row in rows] == list(range(6))
    for row in rows:
        assert row.pixels_sha256 == row.image.pixels_sha256
        assert (row.defense_digest, row.batch_size, row.seed, row.attempt) == (defense.digest, 4, run.seed, 1)
        assert (
            row.device == run.device
            and "torch" in row.device
            and row.device.startswith(f"{inference.choose_device('auto')}, ")
        )
        assert row.latency_us > 0 and row.predicted_at == now


def test_permuted_companions_change_no_answer_of_a_shipped_defense(now: datetime) -> None:
    defenses = cast.publish(now)
    images = cast.valid_pictures(9)
    cast.plan(now)
    cast.work_all(now)
    orders = {tuple(item.image_id for item in selectors.run_items(run)) for run in Run.objects.all()}
    assert len(orders) == 9  # the rounds really had other companions
    for defense in defenses:
        for image in images:
            answers = Prediction.objects.filter(defense=defense, image=image)
            assert len(set(answers.values_list("answer", "score_bicycle", "score_bird"))) == 1
        assert selectors.is_randomised(defense) is False


def test_answers_that_differ_between_rounds_mark_a_defense_as_randomised(now: datetime) -> None:
    (defense,) = cast.publish(now, "numpy-statistics")
    cast.valid_pictures(2)
    cast.plan(now)
    asked: list[int] = []

    def alternating(answers: Answers) -> Answers:
        asked.append(1)
        return Answers(np.full_like(answers.labels, len(asked) % 2), answers.scores)

    cast.work_all(now, find_runner=lambda _: cast.Answering(["numpy-statistics"], alternating))
    assert selectors.is_randomised(defense) is True


def test_nothing_waiting_is_no_work_and_loads_nothing(now: datetime) -> None:
    assert cast.work_all(now) == 0


@pytest.mark.parametrize(
    ("most", "rounds", "why"),
    [
        (2, [1, 1, 2, 2, 3], "new runs for what is loaded keep nobody waiting for long"),
        (9, [1, 1, 1, 1, 2], "it is loaded once for all of them"),
    ],
)
def test_what_is_loaded_goes_on_for_a_while(
    most: int, rounds: list[int], why: str, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "PICTURES_PER_RUN", 1)
    monkeypatch.setattr(warm, "MOST_IN_A_ROW", most)
    cast.publish(now, "always-abstain")
    cast.valid_pictures(1)
    cast.plan(now)
    cast.valid_pictures(3, seed=8)
    cast.plan(now, seed=2)
    finished: list[Run] = []
    with cast.scorer_at(now) as scorer:
        for _ in rounds:
            scorer.work_one()
            finished += Run.objects.filter(state=RunState.FINISHED).exclude(pk__in=[run.pk for run in finished])
    assert [run.round for run in finished] == rounds, why


def raising(error: BaseException) -> Callable[[Answers], Answers]:
    def misbehave(_: Answers) -> Answers:
        raise error

    return misbehave


POISON: list[tuple[Any, Fault, str]] = [
    (lambda a: Answers(a.labels[:-1], a.scores), Fault.PROTOCOL, "an answer is missing"),
    (lambda a: Answers(a.labels + 5, a.scores), Fault.PROTOCOL, "no such label"),
    (lambda a: "bird", Fault.PROTOCOL, "no answers at all"),
    (lambda a: Answers(a.labels, a.scores * np.nan), Fault.NONFINITE, "NaN"),
]


@pytest.mark.parametrize(("misbehave", "fault", "why"), POISON, ids=[why for _, _, why in POISON])
def test_a_poisoned_defense_ends_its_own_runs_alone(misbehave: Any, fault: Fault, why: str, now: datetime) -> None:
    cast.publish(now)
    cast.valid_pictures(3)
    cast.plan(now)
    assert cast.work_all(now, find_runner=lambda _: cast.Answering(["demo-cnn"], misbehave)) == 9, why
    poisoned = Run.objects.filter(defense__name="demo-cnn")
    assert set(poisoned.values_list("state", "fault", "attempt")) == {(RunState.DEAD, fault, 1)}
    assert not Prediction.objects.filter(defense__name="demo-cnn").exists()
    assert Prediction.objects.count() == 2 * 3 * 3  # the two others answered everything


def test_a_fault_in_the_last_batch_keeps_nothing_of_that_attempt(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    cast.valid_pictures(6)
    cast.plan(now)
    run = services.run_claim(worker="one", now=now)
    assert run is not None
    last = Image.objects.get(pk=selectors.run_items(run)[-1].image_id)
    leases.end(run, RunState.QUEUED)
    with cast.scorer_at(now, find_runner=cast.allergic_to(last)) as scorer:
        scorer.work_one()
    assert not Prediction.objects.exists()


@pytest.mark.parametrize("pictures", [2, 6, 13])
def test_a_picture_that_a_defense_cannot_bear_stops_no_other(pictures: int, now: datetime) -> None:
    (defense,) = cast.publish(now, "always-abstain")
    images = cast.valid_pictures(1)
    cast.plan(now)
    cast.work_all(now)  # it answered before: what it fails on now may be one picture's doing
    images += cast.valid_pictures(pictures, seed=8)
    cast.plan(now, seed=2)
    poison = images[2]
    cast.work_all(now, find_runner=cast.allergic_to(poison))
    dead = Run.objects.filter(state=RunState.DEAD)
    with_it = {run.pk: [item.image_id for item in selectors.run_items(run)] for run in dead}
    assert len(with_it) == 3 and all(poison.pk in its for its in with_it.values())
    assert {len(its) for its in with_it.values()} == {1}
    answered = set(Prediction.objects.values_list("image", "round"))
    assert answered == {(image.pk, number) for image in images if image != poison for number in (1, 2, 3)}
    assert set(dead.values_list("fault", flat=True)) == {Fault.CRASHED}
    for run in Run.objects.all():
        positions = [item.position for item in selectors.run_items(run)]
        assert positions == list(range(len(positions))) != []


def test_a_defense_that_fails_on_everything_fails_once_a_run(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    cast.valid_pictures(13)
    cast.plan(now)
    assert cast.work_all(now, find_runner=lambda _: cast.Answering(["always-abstain"], raising(ValueError()))) == 3


def test_who_fails_on_everything_is_not_asked_for_every_picture(now: datetime) -> None:
    (defense,) = cast.publish(now, "always-abstain")
    _tried(defense, now)
    cast.valid_pictures(120)
    cast.plan(now)
    crash = raising(RunnerFault(Fault.CRASHED, "ended with status 1"))
    asked = cast.work_all(now, find_runner=lambda _: cast.Answering(["always-abstain"], crash))
    dead = Run.objects.filter(state=RunState.DEAD)
    assert 3 <= dead.count() < asked < 3 * rules.FAILS_ALWAYS
    assert not Run.objects.exclude(state=RunState.DEAD).exists() and not Prediction.objects.exists()


def _tried(defense: Defense, now: datetime) -> None:
    """It answered before it was published."""
    totals = {"rounds": 1}
    Trial.objects.create(
        defense=defense,
        kind="smoke",
        number=1,
        state="finished",
        seed=1,
        batch_size=4,
        totals=totals,
        created_at=now,
    )


def test_several_pictures_that_a_defense_cannot_bear_are_all_found(now: datetime) -> None:
    (defense,) = cast.publish(now, "always-abstain")
    _tried(defense, now)
    images = cast.valid_pictures(40)
    cast.plan(now)
    bad = [images[number] for number in (0, 1, 7, 20, 39)]
    cast.work_all(now, find_runner=cast.allergic_to(*bad))
    answered = set(Prediction.objects.values_list("image", "round"))
    assert answered == {(image.pk, number) for image in images if image not in bad for number in (1, 2, 3)}


def test_a_fault_that_shows_while_the_next_batch_is_sent_finds_its_picture(now: datetime) -> None:
    """A defense without a reader of its own fails on a batch while the one after it is on its way."""
    (defense,) = cast.publish(now, "always-abstain")
    _tried(defense, now)
    images = cast.valid_pictures(20)
    cast.plan(now)
    cast.work_all(now, find_runner=cast.allergic_to(images[5], late=True))
    answered = set(Prediction.objects.values_list("image", "round"))
    assert answered == {(image.pk, number) for image in images if image != images[5] for number in (1, 2, 3)}


def test_an_engine_that_is_away_in_the_middle_parts_no_pictures(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    cast.valid_pictures(9)
    cast.plan(now)
    away = RunnerFault(Fault.PLATFORM, "the container engine: connection refused")
    cast.work_all(now, find_runner=lambda _: cast.Answering(["always-abstain"], raising(away)))
    assert set(Run.objects.values_list("state", "fault", "tries", "splits")) == {
        (RunState.QUEUED, Fault.PLATFORM, 1, 0)
    }
    assert Run.objects.count() == 3 and not Run.objects.filter(not_before__lte=now).exists()


def test_answers_outlast_a_database_that_is_away_for_a_moment(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    cast.publish(now, "always-abstain")
    cast.valid_pictures(2)
    cast.plan(now)
    finish, failed = services.run_finish, []

    def away_once(*args: Any, **values: Any) -> None:
        if not failed:
            failed.append(1)
            raise OperationalError("server closed the connection unexpectedly")
        finish(*args, **values)

    monkeypatch.setattr(services, "run_finish", away_once)
    monkeypatch.setattr(persistence.connection, "close", lambda: None)  # the test's own transaction
    cast.work_all(now)
    assert Prediction.objects.count() == 2 * 3 and not Run.objects.filter(attempt__gt=1).exists()


def test_a_picture_that_is_missing_is_the_platforms_fault_and_stops_no_other(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    missing = factories.image(width=75, height=75)
    cast.ruled(missing)
    cast.valid_pictures(5)
    cast.plan(now)
    cast.work_all(now)
    waiting = Run.objects.filter(state=RunState.QUEUED)
    assert set(waiting.values_list("fault", "tries", "items__image")) == {(Fault.PLATFORM, 1, missing.pk)}
    assert waiting.count() == 3 and Prediction.objects.count() == 5 * 3
    text = waiting.values_list("fault_text", flat=True)[0]
    assert text.startswith("PictureMissing: ")


class Counting(cast.Answering):
    """Counts what is opened and with which seed."""

    def __init__(self) -> None:
        super().__init__([], None)
        self.seeds: list[int] = []

    def open(self, defense: Any, **values: Any) -> Any:
        self.seeds.append(values["seed"])
        return super().open(defense, **values)


def test_a_defense_is_loaded_once_a_round_and_anew_for_each_run_of_the_last(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "PICTURES_PER_RUN", 4)
    cast.publish(now, "always-abstain", "numpy-statistics")
    cast.valid_pictures(12)
    cast.plan(now)
    counting = Counting()
    assert cast.work_all(now, find_runner=lambda _: counting) == 2 * 3 * 3
    assert len(counting.seeds) == 2 * (1 + 1 + 3)
    assert len(set(counting.seeds)) == len(counting.seeds)
    assert set(Prediction.objects.values_list("seed", flat=True)) == set(counting.seeds)


def test_an_unknown_exception_around_a_defense_is_the_platforms_fault(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    cast.valid_pictures(1)
    cast.plan(now)
    cast.work_all(now, find_runner=lambda _: cast.Answering(["always-abstain"], raising(OSError(28, "No space left"))))
    assert set(Run.objects.values_list("state", "fault")) == {(RunState.QUEUED, Fault.PLATFORM)}


def test_a_worker_that_lost_its_lease_writes_nothing_and_goes_on(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    cast.valid_pictures(2)
    cast.plan(now)
    first = Run.objects.order_by("id")[0]

    def taken_over(answers: Answers) -> Answers:
        Run.objects.filter(pk=first.pk, attempt=1).update(attempt=2, worker="two")
        return answers

    assert cast.work_all(now, find_runner=lambda _: cast.Answering(["always-abstain"], taken_over)) == 3
    first.refresh_from_db()
    assert (first.state, first.attempt, first.worker) == (RunState.RUNNING, 2, "two")
    assert not Prediction.objects.filter(item__run=first).exists()
    assert Prediction.objects.count() == 4


def test_a_device_that_is_not_there_is_said_before_anything_is_claimed(now: datetime) -> None:
    if inference.load_torch().cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    cast.publish(now, "demo-cnn")
    cast.valid_pictures(1)
    cast.plan(now)
    with pytest.raises(InvalidInput, match="no CUDA device"):
        cast.work_all(now, device="cuda")
    assert set(Run.objects.values_list("state", "attempt")) == {(RunState.QUEUED, 0)}


def test_pictures_of_every_policy_size_are_answered(now: datetime) -> None:
    cast.publish(now)
    cast.valid_pictures(2, size=64)
    cast.valid_pictures(2, size=299)
    cast.plan(now)
    assert cast.work_all(now) == 18
    assert Prediction.objects.count() == 4 * 3 * 3


def test_each_shipped_defense_behaves_as_described(now: datetime) -> None:
    cast.publish(now)
    images = cast.valid_pictures(20)
    cast.plan(now)
    cast.work_all(now)
    truth = {image.pk: (Outcome.BIRD, Outcome.BICYCLE)[number % 2] for number, image in enumerate(images)}

    def counts(name: str) -> tuple[int, int]:
        rows = Prediction.objects.filter(defense__name=name, round=1)
        answered = [row for row in rows if row.answer != Outcome.ABSTAIN]
        return len(answered), sum(row.answer == truth[row.image_id] for row in answered)

    assert counts("always-abstain") == (0, 0)
    for name in ("numpy-statistics", "demo-cnn"):
        answered, right = counts(name)
        assert answered >= 14 and right >= answered - 1, name


class TestHeartbeat:
    """The thread that keeps a lease while a batch takes long."""

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.postgres("a second connection writes beside the first")
    def test_it_beats_and_notices_a_lost_lease(self, now: datetime) -> None:
        factories.policy_version()
        cast.publish(now, "always-abstain")
        cast.valid_pictures(1)
        cast.plan(now)
        run = services.run_claim(worker="one", now=now)
        assert run is not None
        times = iter(now + timedelta(seconds=second) for second in range(10, 10_000))
        scorer = engine.Scorer(name="one", clock=lambda: next(times), device="cpu", find_runner=cast.shipped)
        with engine.Heartbeat(run, scorer, until=now + timedelta(days=1), every=0.02) as heartbeat:
            self._until(lambda: Run.objects.get(pk=run.pk).lease_until > now + timedelta(seconds=70))
            heartbeat.check()
            Run.objects.filter(pk=run.pk).update(attempt=2)
            with pytest.raises(leases.LeaseLost):
                self._until(lambda: heartbeat.check() is not None)

    def _until(self, happened: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 10
        while not happened():
            assert time.monotonic() < deadline
            time.sleep(0.02)
