"""A run from claim to answers, with the shipped defenses and what may go wrong (R29, R30)."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest

from common.errors import InvalidInput
from scoring import engine, inference, selectors, services
from scoring.enums import Fault, Outcome, RunState
from scoring.models import Prediction, Run
from scoring.runner import Answers
from tests import factories
from tests.scoring import cast

pytestmark = pytest.mark.django_db


def work_all(now: datetime, **values: Any) -> int:
    """Work until nothing waits; return how many runs were done."""
    done = 0
    while engine.work_one(worker="one", clock=lambda: now, device="cpu", **values):
        done += 1
    return done


def test_every_picture_is_answered_by_every_defense_in_every_round(now: datetime) -> None:
    defenses = cast.publish(now)
    images = cast.valid_pictures(6)
    cast.plan(now)
    assert work_all(now) == 9
    given = set(Prediction.objects.values_list("defense", "image", "round"))
    assert given == {(d.pk, image.pk, number) for d in defenses for image in images for number in (1, 2, 3)}
    assert Prediction.objects.count() == len(given)
    assert Run.objects.filter(state=RunState.FINISHED).count() == 9


def test_a_prediction_records_what_made_it(now: datetime) -> None:
    (defense,) = cast.publish(now, "demo-cnn")
    cast.valid_pictures(6)
    cast.plan(now)
    work_all(now)
    run = Run.objects.order_by("id").first()
    assert run is not None
    rows = selectors.predictions_of_run(run)
    assert [(row.batch, row.row) for row in rows] == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)]
    assert [row.item.position for row in rows] == list(range(6))
    for row in rows:
        assert row.pixels_sha256 == row.image.pixels_sha256
        assert (row.defense_digest, row.batch_size, row.seed, row.attempt) == (defense.digest, 4, run.seed, 1)
        assert row.device == run.device and "torch" in row.device and row.device.startswith("cpu, ")
        assert row.latency_us > 0 and row.predicted_at == now


def test_permuted_companions_change_no_answer_of_a_shipped_defense(now: datetime) -> None:
    defenses = cast.publish(now)
    images = cast.valid_pictures(9)
    cast.plan(now)
    work_all(now)
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

    work_all(now, find_runner=lambda _: cast.Answering(["numpy-statistics"], alternating))
    assert selectors.is_randomised(defense) is True


def test_nothing_waiting_is_no_work_and_loads_nothing(now: datetime) -> None:
    assert work_all(now) == 0


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
    assert work_all(now, find_runner=lambda _: cast.Answering(["demo-cnn"], misbehave)) == 9, why
    poisoned = Run.objects.filter(defense__name="demo-cnn")
    assert set(poisoned.values_list("state", "fault", "attempt")) == {(RunState.DEAD, fault, 1)}
    assert not Prediction.objects.filter(defense__name="demo-cnn").exists()
    assert Prediction.objects.count() == 2 * 3 * 3  # the two others answered everything


def test_a_fault_in_the_last_batch_keeps_nothing_of_the_run(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    cast.valid_pictures(6)
    cast.plan(now)
    asked: list[int] = []

    def second_time(answers: Answers) -> Answers:
        asked.append(1)
        return answers if len(asked) % 2 else Answers(answers.labels, answers.scores + np.inf)

    work_all(now, find_runner=lambda _: cast.Answering(["always-abstain"], second_time))
    assert not Prediction.objects.exists()


def test_a_picture_that_is_missing_is_the_platforms_fault_and_tried_again(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    cast.ruled(factories.image(width=75, height=75))
    cast.valid_pictures(1)
    cast.plan(now)
    assert work_all(now) == 3
    assert set(Run.objects.values_list("state", "fault")) == {(RunState.QUEUED, Fault.PLATFORM)}
    text = Run.objects.values_list("fault_text", flat=True)[0]
    assert text.startswith("PictureMissing: ")


def test_an_unknown_exception_around_a_defense_is_the_platforms_fault(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    cast.valid_pictures(1)
    cast.plan(now)
    work_all(now, find_runner=lambda _: cast.Answering(["always-abstain"], raising(OSError(28, "No space left"))))
    assert set(Run.objects.values_list("state", "fault")) == {(RunState.QUEUED, Fault.PLATFORM)}


def test_a_worker_that_lost_its_lease_writes_nothing_and_goes_on(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    cast.valid_pictures(2)
    cast.plan(now)
    first = Run.objects.order_by("id")[0]

    def taken_over(answers: Answers) -> Answers:
        Run.objects.filter(pk=first.pk, attempt=1).update(attempt=2, worker="two")
        return answers

    assert work_all(now, find_runner=lambda _: cast.Answering(["always-abstain"], taken_over)) == 3
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
        engine.work_one(worker="one", clock=lambda: now, device="cuda")
    assert set(Run.objects.values_list("state", "attempt")) == {(RunState.QUEUED, 0)}


def test_pictures_of_every_policy_size_are_answered(now: datetime) -> None:
    cast.publish(now)
    cast.valid_pictures(2, size=64)
    cast.valid_pictures(2, size=299)
    cast.plan(now)
    assert work_all(now) == 18
    assert Prediction.objects.count() == 4 * 3 * 3


def test_each_shipped_defense_behaves_as_described(now: datetime) -> None:
    cast.publish(now)
    images = cast.valid_pictures(20)
    cast.plan(now)
    work_all(now)
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
    @pytest.mark.postgres
    def test_it_beats_and_notices_a_lost_lease(self, now: datetime) -> None:
        factories.policy_version()
        cast.publish(now, "always-abstain")
        cast.valid_pictures(1)
        cast.plan(now)
        run = services.run_claim(worker="one", now=now)
        assert run is not None
        times = iter(now + timedelta(seconds=second) for second in range(10, 10_000))
        with engine.Heartbeat(run, lambda: next(times), every=0.02) as heartbeat:
            self._until(lambda: Run.objects.get(pk=run.pk).lease_until > now + timedelta(seconds=70))
            heartbeat.check()
            Run.objects.filter(pk=run.pk).update(attempt=2)
            with pytest.raises(services.LeaseLost):
                self._until(lambda: heartbeat.check() is not None)

    def _until(self, happened: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 10
        while not happened():
            assert time.monotonic() < deadline
            time.sleep(0.02)
