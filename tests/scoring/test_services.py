"""The life of a run: planned, leased, fenced, answered by the shipped defenses, and what may go wrong; as services and
as the worker's tasks (R29, R30)."""

import time
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import IntegrityError, OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from adjudication.models import Ruling
from common.errors import InvalidInput
from labeling.models import Image
from policy.numbers import Policy
from scoring import (
    engine,
    inference,
    leases,
    plan,
    reruns,
    rules,
    selectors,
    services,
    tasks,
    warm_session,
)
from scoring.enums import DefenseAnswer, Fault, RerunState, RunState
from scoring.models import Defense, PlanningProgress, Prediction, Rerun, Run, RunItem, Trial
from scoring.reference import REFERENCES
from scoring.rerun_scope import Scope
from scoring.runner import BatchAnswers, ReferenceRunner, RunnerFault
from tests import factories, tables
from tests.scoring import cast

pytestmark = pytest.mark.django_db


def rulings(count: int) -> list[int]:
    """The ids of `count` pictures that are ruled valid and are in no store."""
    return [cast.ruled(factories.image(width=75, height=75)).image_id for _ in range(count)]


def queued(now: datetime, *keys: str, pictures: int = 2) -> list[Defense]:
    """Defenses in force, and runs planned on so many pictures."""
    defenses = cast.publish(now, *keys)
    rulings(pictures)
    cast.plan(now)
    return defenses


def planned() -> Counter[tuple[int, int, int]]:
    return Counter(RunItem.objects.values_list("defense_id", "image_id", "round"))


def everything(defenses: list[Defense], images: list[int]) -> Counter[tuple[int, int, int]]:
    """Each picture once for each defense in each round."""
    return Counter((each.pk, image, number) for each in defenses for image in images for number in (1, 2, 3))


def claim(now: datetime, worker: str = "one") -> Run:
    run = services.run_claim(worker=worker, now=now)
    assert run is not None
    return run


def claimed(now: datetime, pictures: int = 2) -> Run:
    queued(now, "always-abstain", pictures=pictures)
    return claim(now)


def all_claimed(now: datetime) -> list[Run]:
    """All that waits, in the order in which it is claimed."""
    return list(iter(lambda: services.run_claim(worker="one", now=now), None))


def finish(run: Run, now: datetime) -> None:
    """With the same answer to everything."""
    items = selectors.run_items(run)
    answers = [
        services.DefensePrediction(i.pk, i.image_id, -1, 0.0, 0.0, i.pixels_sha256, 0, i.position, 1, now)
        for i in items
    ]
    services.run_finish(run, answers, device="cpu", now=now)


def test_a_new_digest_is_a_new_version_and_retires_the_one_before(now: datetime) -> None:
    (old,) = cast.publish(now, "always-abstain")
    declared = next(each for each in REFERENCES if each.key == "always-abstain")
    newer = replace(declared, module="picture_statistics")
    new, changed = services.reference_publish(newer, now=now + timedelta(days=1))
    assert changed and new.pk != old.pk and new.digest != old.digest
    assert selectors.defenses_in_force() == [new]
    assert services.reference_publish(declared, now=now + timedelta(days=2)) == (old, True)
    assert selectors.defenses_in_force() == [old]


@pytest.mark.both("a partial unique index refuses")
def test_the_database_refuses_two_versions_of_a_name_in_force(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    with pytest.raises(IntegrityError), transaction.atomic():
        Defense.objects.create(name="always-abstain", digest="other", created_at=now, published_at=now)


def test_each_valid_picture_meets_each_defense_in_each_round_once(now: datetime) -> None:
    """R29; later sweeps plan nothing again."""
    defenses, ids = cast.publish(now), rulings(3)
    assert [cast.plan(now + timedelta(hours=hours), seed=1 + hours) for hours in range(4)] == [9, 0, 0, 0]
    assert planned() == everything(defenses, ids)
    assert len(set(Run.objects.values_list("seed", flat=True))) == 9


@pytest.mark.postgres("it numbers the transactions that write")
@pytest.mark.django_db(transaction=True)
def test_a_sweep_with_nothing_to_plan_writes_nothing(now: datetime) -> None:
    """A write would wake the other workers, whose sweeps would wake this one."""
    assert queued(now, "always-abstain") and Run.objects.exists()
    with transaction.atomic(), connection.cursor() as cursor:
        assert cast.plan(now + timedelta(seconds=1)) == 0
        cursor.execute("SELECT pg_current_xact_id_if_assigned()")
        assert cursor.fetchone() == (None,)


def test_rulings_are_read_in_chunks_and_none_is_passed_over(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors, "RULINGS_AT_ONCE", 2)
    defenses, early = cast.publish(now, "always-abstain"), rulings(3)
    cast.plan(now)
    images = rulings(6)
    cast.ruled(Image.objects.get(pk=images[2]), verdict="rejected", number=2)
    cast.ruled(Image.objects.get(pk=images[3]), label="bicycle", number=2)
    cast.plan(now + timedelta(seconds=1), seed=2)
    assert planned() == everything(defenses, [*early, *images[:2], *images[3:]])


def test_a_seed_serves_a_round_for_a_day_and_tells_nothing_of_the_order(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    for hours, seed in ((0, 1), (20, 2), (50, 3)):
        rulings(12)
        cast.plan(now + timedelta(hours=hours), seed=seed)
    seeds = [list(Run.objects.filter(round=each).order_by("id").values_list("seed", flat=True)) for each in (1, 2, 3)]
    for first, within_a_day, later in seeds[:2]:
        assert first == within_a_day != later
    assert len(set(seeds[2])) == 3 and not set(seeds[0]) & set(seeds[1])
    for run in Run.objects.all():
        order = [item.image_id for item in selectors.run_items(run)]
        assert order != plan.permuted(sorted(order), seed=run.seed)


@pytest.mark.parametrize(
    ("verdicts", "runs", "why"),
    [
        (["valid"], 1, "valid"),
        (["rejected"], 0, "a rejected picture breaks nothing"),
        (["rejected", "valid"], 1, "the newest ruling holds"),
        (["valid", "rejected"], 0, "the newest ruling holds"),
    ],
)
def test_only_what_is_valid_now_is_run_and_only_by_what_is_published(
    verdicts: list[str], runs: int, why: str, now: datetime
) -> None:
    cast.publish(now, "always-abstain")
    Defense.objects.create(name="unpublished", digest="d", created_at=now)
    image = factories.image()
    for number, verdict in enumerate(verdicts, start=1):
        cast.ruled(image, verdict=verdict, number=number)
    assert cast.plan(now, policy=Policy(evaluation_runs=1)) == runs, why


def test_what_comes_later_is_planned_by_the_next_sweep(now: datetime) -> None:
    queued(now, "always-abstain")
    for hours in (1, 2, 3):  # long enough for the mark to move
        rulings(1)
        assert cast.plan(now + timedelta(hours=hours), seed=hours) == 3
    cast.publish(now, "demo-cnn")
    assert cast.plan(now + timedelta(hours=4)) == 3, "the five pictures so far fit into one run a round"
    assert set(planned().values()) == {1} and len(planned()) == 2 * 5 * 3


def test_more_rounds_in_a_new_policy_are_added_to_old_pictures(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    rulings(2)
    for hours, rounds in enumerate((1, 1, 1, 3)):
        cast.plan(now + timedelta(hours=hours), policy=Policy(evaluation_runs=rounds))
    assert sorted(number for _, _, number in planned()) == [1, 1, 2, 2, 3, 3]


def test_a_ruling_that_is_committed_late_under_a_low_number_is_found(now: datetime) -> None:
    """Two transactions may take the numbers 1 and 2 and commit 2 first; the mark must wait for 1."""
    cast.publish(now, "always-abstain")
    first, late = cast.ruled(factories.image()).pk, factories.image()
    cast.ruled(factories.image(), pk=first + 2)
    for minutes in (0, 9):
        cast.plan(now + timedelta(minutes=minutes))
    cast.ruled(late, pk=first + 1)
    cast.plan(now + timedelta(minutes=11))
    assert RunItem.objects.filter(image=late).count() == 3


def test_a_sweep_with_nothing_to_do_costs_the_same_at_any_size(now: datetime) -> None:
    """The mark moves, so that settled rulings are not looked at again."""
    cast.publish(now)
    costs = []
    for count in (2, 40):
        newest = rulings(count)[-1]
        for hours in (1, 2, 3):
            cast.plan(now + timedelta(hours=hours + count))
        with CaptureQueriesContext(connection) as queries:
            assert cast.plan(now + timedelta(hours=4 + count)) == 0
        costs.append([query["sql"].split(" WHERE ")[0] for query in queries])
        assert set(PlanningProgress.objects.values_list("through_ruling", flat=True)) == {
            Ruling.objects.get(image=newest).pk
        }
    assert costs[0] == costs[1]
    assert len(costs[0]) == 2 + len(REFERENCES)  # the newest ruling, the defenses, a mark each


def test_a_run_holds_at_most_256_pictures_of_one_size(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "PICTURES_PER_RUN", 4)
    cast.publish(now, "always-abstain")
    for size in (75, 75, 75, 75, 75, 299, 75):
        cast.ruled(factories.image(width=size, height=size))
    cast.plan(now, policy=Policy(evaluation_runs=1))
    held = [[item.width for item in selectors.run_items(run)] for run in Run.objects.order_by("id")]
    assert held == [[75, 75, 75, 75], [75], [299], [75]]


def test_a_planner_that_fails_half_way_loses_nothing(now: datetime) -> None:
    defenses, ids = cast.publish(now, "always-abstain"), rulings(5)
    gone = cast.server_gone_at('INSERT INTO "scoring_runitem"', 2)
    with connection.execute_wrapper(gone), pytest.raises(Exception, match="went away"), transaction.atomic():
        cast.plan(now)
    cast.plan(now)
    assert planned() == everything(defenses, ids)
    assert all(run.items.exists() for run in Run.objects.all())


def test_a_claim_leases_the_run_and_a_heartbeat_keeps_the_lease(now: datetime) -> None:
    queued(now, "always-abstain")
    run, second = claim(now, "w" * 81), timedelta(seconds=1)
    assert (run.state, run.attempt, run.worker, run.lease_until) == (RunState.RUNNING, 1, "w" * 80, now + 60 * second)
    leases.renew(run, now=now + 50 * second)
    assert [leases.reclaim(Run, now=now + each * second) for each in (61, 111)] == [0, 1]


def test_runs_of_one_defense_are_done_before_the_next(now: datetime) -> None:
    queued(now, pictures=1)
    assert [run.defense.name for run in all_claimed(now)] == [each.name for each in REFERENCES for _ in range(3)]


def test_runs_for_what_is_loaded_come_first(now: datetime) -> None:
    first, second = queued(now, "always-abstain", "numpy-statistics")
    for number, expected, why in (
        (2, (second, 2), "it is loaded"),
        (3, (first, 1), "the last round is opened anew all the same"),
    ):
        run = services.run_claim(worker="one", now=now, preferred=services.PreferredRuns(second.pk, number, None))
        assert run is not None and (run.defense, run.round) == expected, why


def test_answers_given_again_wait_behind_those_never_given(now: datetime) -> None:
    (defense,) = queued(now, "always-abstain")
    again, *others = Run.objects.order_by("id").values_list("pk", flat=True)
    rerun = Rerun.objects.create(defense=defense, reason="a new driver", asked_at=now)
    Run.objects.filter(pk=again).update(rerun=rerun)
    assert [run.pk for run in all_claimed(now)] == [*others, again]


@pytest.mark.both("the answers of a run are written with SQL of their own")
def test_every_column_of_an_answer_is_kept_to_the_last_bit(now: datetime) -> None:
    """R29; a run is not finished with an answer missing, and not twice."""
    run = claimed(now, pictures=120)  # SQLite takes 99 in one statement
    answers = [
        services.DefensePrediction(
            item_id=item.pk,
            image_id=item.image_id,
            answer=number % 3 - 1,
            score_bicycle=(number - 60) / 7,
            score_bird=10.0 ** (number - 60) / 3,
            pixels_sha256=item.pixels_sha256,
            batch=number // 16,
            row=number % 16,
            latency_us=number,
            predicted_at=now + timedelta(microseconds=number),
        )
        for number, item in enumerate(selectors.run_items(run))
    ]
    with pytest.raises(ValueError, match="120 pictures"):
        services.run_finish(run, answers[1:], device="cpu", now=now)
    assert (Run.objects.get(pk=run.pk).state, Prediction.objects.exists()) == (RunState.RUNNING, False)
    device = 'cpu, "Ä\\N\t\r\n' + "d" * 120
    services.run_finish(run, answers, device=device, now=now)
    kept = Prediction.objects.order_by("batch", "row")
    assert [
        services.DefensePrediction(*row) for row in kept.values_list(*services.DefensePrediction._fields)
    ] == answers
    of_run = ("defense", "rerun", "round", "defense_digest", "device", "batch_size", "seed", "attempt")
    assert set(kept.values_list(*of_run)) == {
        (run.defense_id, None, 1, run.defense.digest, device[:120], run.batch_size, run.seed, 1)
    }
    with pytest.raises(leases.LeaseLost):
        services.run_finish(run, answers, device="cpu", now=now)
    run.refresh_from_db()
    assert (run.state, run.finished_at, run.lease_until) == (RunState.FINISHED, now, None)


@pytest.mark.both("an attempt is fenced off by the rows that a statement finds")
def test_a_stale_attempt_can_write_nothing(now: datetime) -> None:
    stale, later = claimed(now), now + timedelta(seconds=61)
    leases.reclaim(Run, now=later)
    current = claim(later, "two")
    assert (current.pk, current.attempt) == (stale.pk, 2)
    for write in (
        lambda: leases.renew(stale, now=later),
        lambda: finish(stale, later),
        lambda: leases.record_fault(stale, Fault.CRASHED, "late", now=later),
    ):
        with pytest.raises(leases.LeaseLost):
            write()
    current.refresh_from_db()
    assert (current.state, current.worker, current.fault) == (RunState.RUNNING, "two", "")
    assert not Prediction.objects.exists()
    finish(current, later)
    assert set(Prediction.objects.values_list("attempt", flat=True)) == {2}


def test_a_worker_that_falls_silent_three_times_ends_the_run(now: datetime) -> None:
    run = claimed(now)
    Run.objects.exclude(pk=run.pk).update(not_before=now + timedelta(days=1))
    for attempt in (1, 2, 3):
        now += timedelta(seconds=61)
        assert leases.reclaim(Run, now=now) == 1
        assert (services.run_claim(worker="next", now=now) is None) == (attempt == 3)
    run.refresh_from_db()
    assert (run.state, run.fault, run.attempt, run.finished_at) == (RunState.DEAD, Fault.PLATFORM, 3, now)


def test_a_fault_of_the_defense_is_final_and_one_of_the_platform_is_tried_three_times_and_once_more_when_asked(
    now: datetime,
) -> None:
    run = claimed(now)
    others = Run.objects.exclude(pk=run.pk)
    for other in all_claimed(now):
        assert leases.record_fault(other, Fault.NONFINITE, "NaN in row 3", now=now) == RunState.DEAD
    ended = set(others.values_list("fault", "fault_text", "finished_at"))
    assert (ended, services.runs_retry(now=now)) == ({(Fault.NONFINITE, "NaN in row 3", now)}, 0)
    for rest in (30, 120):
        assert leases.record_fault(run, Fault.PLATFORM, "store away", now=now) == RunState.QUEUED
        assert services.run_claim(worker="two", now=now + timedelta(seconds=rest - 1)) is None
        now += timedelta(seconds=rest)
        run = claim(now, "two")
        assert (run.not_before, run.started_at) == (None, now)
    assert leases.record_fault(run, Fault.IMAGE_PULL, "registry away", now=now) == RunState.DEAD
    assert services.runs_retry(now=now) == 1
    again = claim(now, "two")
    assert (again.pk, again.attempt, again.fault) == (run.pk, 4, "")


def test_a_run_is_assessed_once(now: datetime) -> None:
    run = claimed(now)
    assert services.run_assessed(run) is False  # not finished yet
    finish(run, now)
    assert list(selectors.runs_without_assessment()) == [run]
    assert [services.run_assessed(run), services.run_assessed(run)] == [True, False]
    assert not selectors.runs_without_assessment().exists()


def test_a_valid_picture_is_scored_and_a_rerun_prepared_by_the_tasks_alone(olga: User) -> None:
    now = timezone.now()
    factories.policy_version()
    (defense,) = cast.publish(now, "always-abstain")
    cast.valid_pictures(2)
    tasks.plan_runs.task()
    lost, past = Run.objects.order_by("id")[:1], now - timedelta(seconds=1)
    Run.objects.filter(pk=lost[0].pk).update(state=RunState.RUNNING, attempt=1, lease_until=past)
    tasks.reclaim_runs.task()
    tasks.work_runs.task()
    assert [(run.state, run.attempt) for run in lost.all()] == [(RunState.FINISHED, 2)]
    assert Prediction.objects.count() == 2 * 3
    rerun = reruns.rerun_start(defense=defense, scope=Scope("All answers."), reason="why", by=olga, now=now)
    tasks.prepare_reruns.task()
    rerun.refresh_from_db()
    assert (rerun.state, Run.objects.filter(rerun=rerun, state=RunState.QUEUED).count()) == (RerunState.RUNNING, 3)


def test_dead_runs_are_queued_again_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    cast.queued(timezone.now(), "always-abstain", pictures=1)
    Run.objects.update(state=RunState.DEAD, fault=Fault.PLATFORM)
    call_command("retry_dead_runs")
    assert "3 runs queued again" in capsys.readouterr().out
    assert set(Run.objects.values_list("state", flat=True)) == {RunState.QUEUED}


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
        assert [(row.batch, row.row, row.item.position) for row in rows] == [(*divmod(at, 4), at) for at in range(20)]
        assert all(row.pixels_sha256 == row.image.pixels_sha256 and row.latency_us > 0 for row in rows)
        made = (run.defense.digest, 4, run.seed, 1, run.device, factories.NOW)
        columns = ("defense_digest", "batch_size", "seed", "attempt", "device", "predicted_at")
        assert set(Prediction.objects.filter(item__run=run).values_list(*columns)) == {made}
        assert "torch" in run.device and run.device.startswith(f"{inference.choose_device('auto')}, ")

    def test_permuted_companions_change_no_answer(self, images: list[Image]) -> None:
        orders = {tuple(item.image_id for item in selectors.run_items(run)) for run in Run.objects.all()}
        assert len(orders) > 9, "the rounds really had other companions"
        kept = Prediction.objects.values_list("defense", "image", "answer", "score_bicycle", "score_bird").distinct()
        assert len(kept) == 3 * len(images) and not any(map(selectors.is_randomised, Defense.objects.all()))

    def test_each_behaves_as_described(self, images: list[Image]) -> None:
        truth = {
            image.pk: (DefenseAnswer.BIRD, DefenseAnswer.BICYCLE)[number % 2] for number, image in enumerate(images)
        }
        for name, least in (("always-abstain", 0), ("numpy-statistics", 14), ("demo-cnn", 14)):
            rows = Prediction.objects.filter(defense__name=name, round=1).exclude(answer=DefenseAnswer.ABSTAIN)
            right = sum(row.answer == truth[row.image_id] for row in rows)
            assert bool(least) is bool(rows) and len(rows) >= least and right >= len(rows) - bool(least), name


def test_answers_that_differ_between_rounds_mark_a_defense_as_randomised(now: datetime) -> None:
    asked: list[int] = []

    def alternating(answers: BatchAnswers) -> BatchAnswers:
        asked.append(1)
        return BatchAnswers(np.full_like(answers.labels, len(asked) % 2), answers.scores)

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
    monkeypatch.setattr(warm_session, "MAX_RUNS_IN_A_ROW", most)
    cast.queued(now, "always-abstain", pictures=1)
    cast.valid_pictures(3, seed=8)
    cast.plan(now, seed=2)
    cast.work_all(now)
    answered = Prediction.objects.order_by("pk").values_list("round", flat=True)
    assert list(answered[: len(rounds)]) == rounds, why


def test_an_illegal_answer_ends_the_defenses_own_runs_alone(now: datetime) -> None:
    """Its fault is final, and nothing of that attempt is kept (R30); `test_reference` has every kind of answer."""
    one_short = cast.answering(lambda a: BatchAnswers(a.labels[:-1], a.scores), "demo-cnn")
    cast.answered(now, "demo-cnn", "always-abstain", find_runner=one_short)
    assert set(Run.objects.values_list("defense__name", "state", "fault", "attempt")) == {
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
    tried(cast.publish(now, "always-abstain")[0])
    images = cast.valid_pictures(pictures)
    cast.plan(now)
    poison = [images[number] for number in bad]
    cast.work_all(now, find_runner=cast.allergic_to(*poison, late=late))
    answered = set(Prediction.objects.values_list("image", "round"))
    assert answered == {(image.pk, number) for image in images if image not in poison for number in (1, 2, 3)}, why
    dead = Run.objects.filter(state=RunState.DEAD)
    assert sorted(dead.values_list("items__image", "fault")) == sorted((each.pk, Fault.CRASHED) for each in poison * 3)
    for run in Run.objects.all():
        positions = [item.position for item in selectors.run_items(run)]
        assert positions == list(range(len(positions))) != []


def test_a_picture_on_which_it_is_killed_at_every_try_stops_no_other_and_is_not_waited_for(now: datetime) -> None:
    """R30: a program may kill itself, which nobody can tell from a kill by the machine but by its repetition."""
    tried(cast.publish(now, "always-abstain")[0])
    images = cast.valid_pictures(9)
    cast.plan(now)
    for minutes in (0, 1, 4):
        assert set(Run.objects.values_list("state", "splits")) == {(RunState.QUEUED, 0)}, "the platform's, until then"
        find = cast.allergic_to(images[5], fault=cast.killed)
        cast.work_all(now + timedelta(minutes=minutes), find_runner=find)
    answered = set(Prediction.objects.values_list("image", "round"))
    assert answered == {(image.pk, number) for image in images if image != images[5] for number in (1, 2, 3)}
    dead = Run.objects.filter(state=RunState.DEAD)
    assert list(dead.values_list("items__image", "fault", "kills")) == [(images[5].pk, Fault.CRASHED, 3)] * 3
    assert set(selectors.settled_items().values_list("run", flat=True)) == set(dead.values_list("pk", flat=True))
    assert services.runs_retry(now=now) == 0


@tables.cases(
    "faults state fault why",
    ("kkk", RunState.DEAD, Fault.CRASHED, "it is killed at every try: nothing else can be the reason"),
    ("kk-", RunState.FINISHED, "", "the machine was restarted twice"),
    ("akk", RunState.DEAD, Fault.PLATFORM, "once the engine was away, so the machine may be the reason"),
    ("kak", RunState.DEAD, Fault.PLATFORM, "in between too"),
    ("kkak", RunState.DEAD, Fault.CRASHED, "an organizer had it tried again, and it was killed a third time"),
)
def test_only_a_kill_at_every_try_is_held_against_a_defense(
    faults: str, state: RunState, fault: str, why: str, now: datetime
) -> None:
    """k: killed, a: the engine is away."""
    away = RunnerFault(Fault.PLATFORM, "the engine: connection refused")
    ends = {"k": cast.answering(cast.raising(cast.killed())), "a": cast.answering(cast.raising(away))}
    cast.publish(now, "always-abstain")
    cast.valid_pictures(1)
    cast.plan(now, policy=replace(cast.POLICY, evaluation_runs=1))
    for letter in faults:
        services.runs_retry(now=now)
        cast.work_all(now, find_runner=ends.get(letter, cast.shipped))
        now += timedelta(hours=1)
    run = Run.objects.get()
    assert (run.state, run.fault, run.attempt) == (state, fault, len(faults)), why


@pytest.mark.parametrize("has_answered", [False, True], ids=["it never answered: once a run", "it answered before"])
def test_who_fails_on_everything_is_not_asked_for_every_picture(
    has_answered: bool, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "FAILS_ALWAYS", 4)
    (defense,) = cast.queued(now, "always-abstain", pictures=20)
    if has_answered:
        tried(defense)
    crash = cast.answering(cast.raising(RunnerFault(Fault.CRASHED, "ended with status 1")))
    asked, states = cast.work_all(now, find_runner=crash), list(Run.objects.values_list("state", flat=True))
    assert set(states) == {RunState.DEAD} and not Prediction.objects.exists()
    assert 3 <= len(states) < asked < 3 * 2 * rules.FAILS_ALWAYS if has_answered else asked == len(states) == 3


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
    cast.away(monkeypatch, services, "run_finish", [OperationalError("server closed the connection unexpectedly")])
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

    class Counting(ReferenceRunner):
        def open(self, defense: Any, **values: Any) -> Any:
            seeds.append(values["seed"])
            return super().open(defense, **values)

    monkeypatch.setattr(services, "PICTURES_PER_RUN", 4)
    cast.queued(now, "always-abstain", "numpy-statistics", pictures=12)
    assert cast.work_all(now, find_runner=lambda _: Counting()) == 2 * 3 * 3
    assert len(set(seeds)) == len(seeds) == 2 * (1 + 1 + 3)
    assert set(Prediction.objects.values_list("seed", flat=True)) == set(seeds)


def test_a_worker_that_lost_its_lease_writes_nothing_and_goes_on(now: datetime) -> None:
    cast.queued(now, "always-abstain")
    first = Run.objects.order_by("id")[0]

    def taken_over(answers: BatchAnswers) -> BatchAnswers:
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


def test_a_heartbeat_renews_up_to_its_end_and_knows_that_its_lease_is_lost(now: datetime) -> None:
    factories.policy_version()
    cast.queued(now, "always-abstain", pictures=1)
    run = services.run_claim(worker="one", now=now)
    assert run is not None
    end, instant = now + timedelta(minutes=1), timedelta(microseconds=1)
    with cast.scorer_at(now) as scorer:
        heartbeat = leases.Heartbeat(run, scorer, until=end)
        for at in (end, end + instant):  # the second renews nothing
            heartbeat._renew(at)
            assert Run.objects.get(pk=run.pk).lease_until == end + leases.LEASE
        assert not heartbeat.is_lost()
        Run.objects.filter(pk=run.pk).update(attempt=2)
        heartbeat._renew(end)
        assert heartbeat.is_lost()
        with pytest.raises(leases.LeaseLost):
            heartbeat.check()


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres("a second connection writes beside the first")
def test_the_heartbeat_of_a_long_batch_keeps_the_lease_and_notices_a_lost_one(now: datetime) -> None:
    factories.policy_version()
    cast.queued(now, "always-abstain", pictures=1)
    run = services.run_claim(worker="one", now=now)
    assert run is not None
    times = iter(now + timedelta(seconds=second) for second in range(10, 10_000))
    scorer = engine.ScoringEngine(name="one", clock=lambda: next(times), device="cpu", find_runner=cast.shipped)
    deadline = time.monotonic() + 10
    with leases.Heartbeat(run, scorer, until=now + timedelta(days=1), every=0.02) as heartbeat:
        while Run.objects.get(pk=run.pk).lease_until <= now + timedelta(seconds=70):
            assert time.monotonic() < deadline
        heartbeat.check()
        Run.objects.filter(pk=run.pk).update(attempt=2)
        with pytest.raises(leases.LeaseLost):
            while time.monotonic() < deadline:
                heartbeat.check()
