"""A run from claim to answers, with the shipped defenses and what may go wrong (R29, R30)."""

import time
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


@pytest.fixture(scope="class")
def images(class_world: Any) -> list[Image]:
    """Twenty pictures and two of another size, which all shipped defenses answered."""
    now = factories.NOW
    cast.publish(now)
    images = [*cast.valid_pictures(20), *cast.valid_pictures(2, size=299)]
    cast.plan(now)
    assert cast.work_all(now) == 3 * 3 * 2, "each size has runs of its own"
    return images


class TestShippedDefenses:
    """What all of them did with the pictures."""

    def test_every_picture_is_answered_in_every_round(self, images: list[Image]) -> None:
        given = list(Prediction.objects.values_list("defense", "image", "round"))
        pairs = {(d.pk, image.pk, number) for d in Defense.objects.all() for image in images for number in (1, 2, 3)}
        assert len(given) == len(pairs) and set(given) == pairs
        assert set(Run.objects.values_list("state", flat=True)) == {RunState.FINISHED}

    def test_a_prediction_records_what_made_it(self, images: list[Image]) -> None:
        run = Run.objects.filter(defense__name="demo-cnn").order_by("id")[0]
        rows = selectors.predictions_of_run(run)
        assert [(row.batch, row.row) for row in rows] == [divmod(place, 4) for place in range(20)]
        assert [row.item.position for row in rows] == list(range(20))
        for row in rows:
            assert row.pixels_sha256 == row.image.pixels_sha256
            made = (row.defense_digest, row.batch_size, row.seed, row.attempt, row.device, row.predicted_at)
            assert made == (run.defense.digest, 4, run.seed, 1, run.device, factories.NOW)
            assert row.latency_us > 0
        assert "torch" in run.device and run.device.startswith(f"{inference.choose_device('auto')}, ")

    def test_permuted_companions_change_no_answer(self, images: list[Image]) -> None:
        orders = {tuple(item.image_id for item in selectors.run_items(run)) for run in Run.objects.all()}
        assert len(orders) > 9, "the rounds really had other companions"
        kept = Prediction.objects.values_list("defense", "image", "answer", "score_bicycle", "score_bird").distinct()
        assert len(kept) == 3 * len(images)
        assert not any(map(selectors.is_randomised, Defense.objects.all()))

    def test_each_behaves_as_described(self, images: list[Image]) -> None:
        truth = {image.pk: (Outcome.BIRD, Outcome.BICYCLE)[number % 2] for number, image in enumerate(images)}
        for name in ("always-abstain", "numpy-statistics", "demo-cnn"):
            rows = Prediction.objects.filter(defense__name=name, round=1).exclude(answer=Outcome.ABSTAIN)
            right = sum(row.answer == truth[row.image_id] for row in rows)
            assert len(rows) == 0 if name == "always-abstain" else (len(rows) >= 14 and right >= len(rows) - 1), name


def test_answers_that_differ_between_rounds_mark_a_defense_as_randomised(now: datetime) -> None:
    asked: list[int] = []

    def alternating(answers: Answers) -> Answers:
        asked.append(1)
        return Answers(np.full_like(answers.labels, len(asked) % 2), answers.scores)

    (defense,) = cast.answered(now, "numpy-statistics", find_runner=cast.answering(alternating))
    assert selectors.is_randomised(defense) is True


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
    cast.queued(now, "always-abstain", pictures=1)
    cast.valid_pictures(3, seed=8)
    cast.plan(now, seed=2)
    finished: list[Run] = []
    with cast.scorer_at(now) as scorer:
        for _ in rounds:
            scorer.work_one()
            finished += Run.objects.filter(state=RunState.FINISHED).exclude(pk__in=[run.pk for run in finished])
    assert [run.round for run in finished] == rounds, why


CRASH = RunnerFault(Fault.CRASHED, "ended with status 1")


def test_an_illegal_answer_ends_the_defenses_own_runs_alone(now: datetime) -> None:
    """Its fault is final, and nothing of that attempt is kept (R30); `test_runner` has every kind of answer."""
    cast.answered(
        now,
        *("demo-cnn", "always-abstain"),
        find_runner=cast.answering(lambda a: Answers(a.labels[:-1], a.scores), "demo-cnn"),
    )
    ended = set(Run.objects.values_list("defense__name", "state", "fault", "attempt"))
    assert ended == {
        ("demo-cnn", RunState.DEAD, Fault.PROTOCOL, 1),
        ("always-abstain", RunState.FINISHED, "", 1),
    }
    assert list(Prediction.objects.values_list("defense__name", flat=True)) == ["always-abstain"] * 2 * 3


def tried(defense: Defense) -> None:
    """It answered before it was published: what it fails on now may be one picture's doing."""
    Trial.objects.create(
        **{"defense": defense, "kind": "smoke", "number": 1, "state": "finished", "seed": 1, "batch_size": 4},
        totals={"rounds": 1},
        created_at=factories.NOW,
    )


UNBEARABLE = [
    (2, [1], False, "one of two"),
    (6, [2], False, "one of a few"),
    (12, [0, 1, 7, 11], False, "several"),
    (9, [5], True, "it shows while the next batch is sent: a defense without a reader of its own"),
]


@pytest.mark.parametrize(("pictures", "bad", "late", "why"), UNBEARABLE, ids=[row[3] for row in UNBEARABLE])
def test_pictures_that_a_defense_cannot_bear_stop_no_other(
    pictures: int, bad: list[int], late: bool, why: str, now: datetime
) -> None:
    """R30: they end as faults of their own, each alone in a run."""
    (defense,) = cast.publish(now, "always-abstain")
    tried(defense)
    images = cast.valid_pictures(pictures)
    cast.plan(now)
    poison = [images[number] for number in bad]
    cast.work_all(now, find_runner=cast.allergic_to(*poison, late=late))
    answered = set(Prediction.objects.values_list("image", "round"))
    assert answered == {(image.pk, number) for image in images if image not in poison for number in (1, 2, 3)}, why
    dead = Run.objects.filter(state=RunState.DEAD)
    assert sorted(dead.values_list("items__image", "fault")) == sorted((each.pk, Fault.CRASHED) for each in poison * 3)
    assert dead.count() == len(poison) * 3
    for run in Run.objects.all():
        positions = [item.position for item in selectors.run_items(run)]
        assert positions == list(range(len(positions))) != []


def test_a_defense_that_never_answered_fails_once_a_run(now: datetime) -> None:
    cast.queued(now, "always-abstain", pictures=13)
    assert cast.work_all(now, find_runner=cast.answering(cast.raising(ValueError()))) == 3


def test_who_fails_on_everything_is_not_asked_for_every_picture(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "FAILS_ALWAYS", 4)
    (defense,) = cast.queued(now, "always-abstain", pictures=20)
    tried(defense)
    asked = cast.work_all(now, find_runner=cast.answering(cast.raising(CRASH)))
    dead = Run.objects.filter(state=RunState.DEAD)
    assert 3 <= dead.count() < asked < 3 * 2 * rules.FAILS_ALWAYS
    assert not Run.objects.exclude(state=RunState.DEAD).exists() and not Prediction.objects.exists()


@pytest.mark.parametrize(
    "error",
    [RunnerFault(Fault.PLATFORM, "the engine: connection refused"), OSError(28, "No space left")],
    ids=["the engine is away", "an unknown exception around the defense"],
)
def test_a_fault_of_the_platform_parts_no_pictures_and_waits_for_another_try(error: Exception, now: datetime) -> None:
    cast.answered(now, "always-abstain", pictures=9, find_runner=cast.answering(cast.raising(error)))
    left = Run.objects.values_list("state", "fault", "tries", "splits")
    assert list(left) == [(RunState.QUEUED, Fault.PLATFORM, 1, 0)] * 3
    assert not Run.objects.filter(not_before__lte=now).exists()


def test_answers_outlast_a_database_that_is_away_for_a_moment(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    finish, failed = services.run_finish, []

    def away_once(*args: Any, **values: Any) -> None:
        if not failed:
            failed.append(1)
            raise OperationalError("server closed the connection unexpectedly")
        finish(*args, **values)

    monkeypatch.setattr(services, "run_finish", away_once)
    monkeypatch.setattr(persistence.connection, "close", lambda: None)  # the test's own transaction
    cast.answered(now, "always-abstain")
    assert Prediction.objects.count() == 2 * 3 and not Run.objects.filter(attempt__gt=1).exists()


def test_a_picture_that_is_missing_is_the_platforms_fault_and_stops_no_other(now: datetime) -> None:
    missing = factories.image(width=75, height=75)
    cast.ruled(missing)
    cast.answered(now, "always-abstain", pictures=5)
    waiting = list(Run.objects.filter(state=RunState.QUEUED).values_list("fault", "tries", "items__image"))
    assert waiting == [(Fault.PLATFORM, 1, missing.pk)] * 3 and Prediction.objects.count() == 5 * 3
    assert Run.objects.filter(fault_text__startswith="PictureMissing: ").count() == 3


def test_a_defense_is_loaded_once_a_round_and_anew_for_each_run_of_the_last(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds: list[int] = []

    class Counting(cast.Answering):
        def open(self, defense: Any, **values: Any) -> Any:
            seeds.append(values["seed"])
            return super().open(defense, **values)

    monkeypatch.setattr(services, "PICTURES_PER_RUN", 4)
    cast.queued(now, "always-abstain", "numpy-statistics", pictures=12)
    assert cast.work_all(now, find_runner=lambda _: Counting([], None)) == 2 * 3 * 3
    assert len(set(seeds)) == len(seeds) == 2 * (1 + 1 + 3)
    assert set(Prediction.objects.values_list("seed", flat=True)) == set(seeds)


def test_a_worker_that_lost_its_lease_writes_nothing_and_goes_on(now: datetime) -> None:
    cast.queued(now, "always-abstain")
    first = Run.objects.order_by("id")[0]

    def taken_over(answers: Answers) -> Answers:
        Run.objects.filter(pk=first.pk, attempt=1).update(attempt=2, worker="two")
        return answers

    assert cast.work_all(now, find_runner=cast.answering(taken_over)) == 3
    first.refresh_from_db()
    assert (first.state, first.attempt, first.worker) == (RunState.RUNNING, 2, "two")
    assert not Prediction.objects.filter(item__run=first).exists() and Prediction.objects.count() == 4


def test_a_device_that_is_not_there_is_said_before_anything_is_claimed(now: datetime) -> None:
    if inference.load_torch().cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    cast.queued(now, "demo-cnn", pictures=1)
    with pytest.raises(InvalidInput, match="SCORING_DEVICE is cuda.*no CUDA device"):
        cast.work_all(now, device="cuda")
    assert set(Run.objects.values_list("state", "attempt")) == {(RunState.QUEUED, 0)}


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres("a second connection writes beside the first")
def test_the_heartbeat_of_a_long_batch_keeps_the_lease_and_notices_a_lost_one(now: datetime) -> None:
    factories.policy_version()
    cast.queued(now, "always-abstain", pictures=1)
    run = services.run_claim(worker="one", now=now)
    assert run is not None
    times = iter(now + timedelta(seconds=second) for second in range(10, 10_000))
    scorer = engine.Scorer(name="one", clock=lambda: next(times), device="cpu", find_runner=cast.shipped)
    deadline = time.monotonic() + 10
    with engine.Heartbeat(run, scorer, until=now + timedelta(days=1), every=0.02) as heartbeat:
        while Run.objects.get(pk=run.pk).lease_until <= now + timedelta(seconds=70):
            assert time.monotonic() < deadline
        heartbeat.check()
        Run.objects.filter(pk=run.pk).update(attempt=2)
        with pytest.raises(leases.LeaseLost):
            while time.monotonic() < deadline:
                heartbeat.check()
