"""Planning and the life of a run: sweeps, leases, fencing (R29, R30)."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from adjudication.models import Ruling
from labeling.models import Image
from labeling.policy import Policy
from scoring import leases, persistence, plan, selectors, services
from scoring.enums import Fault, RunState
from scoring.models import Defense, PlanMark, Prediction, Rerun, Run, RunItem
from scoring.reference import REFERENCES
from tests import factories
from tests.scoring import cast

pytestmark = pytest.mark.django_db


def rulings(count: int) -> list[int]:
    """The ids of `count` pictures that are ruled valid and are in no store."""
    images = [factories.image(width=75, height=75) for _ in range(count)]
    return [cast.ruled(image).image_id for image in images]


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


def answers_for(run: Run, now: datetime) -> list[services.Answered]:
    return [
        services.Answered(item.pk, item.image_id, -1, 0.0, 0.0, item.pixels_sha256, 0, item.position, 1, now)
        for item in selectors.run_items(run)
    ]


def claim(now: datetime, worker: str = "one") -> Run:
    run = services.run_claim(worker=worker, now=now)
    assert run is not None
    return run


def claimed(now: datetime, pictures: int = 2) -> Run:
    queued(now, "always-abstain", pictures=pictures)
    return claim(now)


def claimed_in_turn(now: datetime) -> list[Run]:
    """All that waits, in the order in which it is claimed."""
    return list(iter(lambda: services.run_claim(worker="one", now=now), None))


# Publishing


def test_a_new_digest_is_a_new_version_and_retires_the_one_before(now: datetime) -> None:
    (old,) = cast.publish(now, "always-abstain")
    declared = next(each for each in REFERENCES if each.key == "always-abstain")
    newer = replace(declared, module="picture_statistics")
    new, changed = services.reference_publish(newer, now=now + timedelta(days=1))
    assert changed and new.pk != old.pk and new.digest != old.digest
    assert selectors.defenses_in_force() == [new]
    back, changed = services.reference_publish(declared, now=now + timedelta(days=2))
    assert changed and back.pk == old.pk and selectors.defenses_in_force() == [old]


@pytest.mark.both("a partial unique index refuses")
def test_the_database_refuses_two_versions_of_a_name_in_force(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    with pytest.raises(IntegrityError), transaction.atomic():
        Defense.objects.create(name="always-abstain", digest="other", created_at=now, published_at=now)


# Planning


def test_each_valid_picture_meets_each_defense_in_each_round_once(now: datetime) -> None:
    """R29; later sweeps plan nothing again."""
    defenses, ids = cast.publish(now), rulings(3)
    assert cast.plan(now) == 9
    assert planned() == everything(defenses, ids)
    assert len(set(Run.objects.values_list("seed", flat=True))) == 9
    assert [cast.plan(now + timedelta(hours=hours), seed=2 + hours) for hours in range(3)] == [0, 0, 0]


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
    seeds = {
        number: list(Run.objects.filter(round=number).order_by("id").values_list("seed", flat=True))
        for number in (1, 2, 3)
    }
    for number in (1, 2):
        first, within_a_day, later = seeds[number]
        assert first == within_a_day != later
    assert len(set(seeds[3])) == 3 and not set(seeds[1]) & set(seeds[2])
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
    for hours in range(3):
        cast.plan(now + timedelta(hours=hours), policy=Policy(evaluation_runs=1))
    cast.plan(now + timedelta(hours=4), policy=Policy(evaluation_runs=3))
    assert sorted(number for _, _, number in planned()) == [1, 1, 2, 2, 3, 3]


def test_a_ruling_that_is_committed_late_under_a_low_number_is_found(now: datetime) -> None:
    """Two transactions may take the numbers 1 and 2 and commit 2 first; the mark must wait for 1."""
    cast.publish(now, "always-abstain")
    first = cast.ruled(factories.image()).pk
    late = factories.image()
    Ruling.objects.bulk_create([ruling_with_number(first + 2)])
    cast.plan(now)
    cast.plan(now + timedelta(minutes=9))
    Ruling.objects.bulk_create([ruling_with_number(first + 1, late)])
    cast.plan(now + timedelta(minutes=11))
    assert RunItem.objects.filter(image=late).count() == 3


def ruling_with_number(pk: int, image: Image | None = None) -> Ruling:
    image = image or factories.image()
    return Ruling(
        pk=pk,
        image=image,
        number=1,
        panel=factories.panel(image),
        verdict="valid",
        label="bird",
        policy=factories.policy_version(),
        response_ids=[],
        decided_at=factories.NOW,
        decided_by="rules",
    )


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
        marks = set(PlanMark.objects.values_list("through_ruling", flat=True))
        assert marks == {Ruling.objects.get(image=newest).pk}
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


# Leases and fencing


def test_a_claim_leases_the_run_and_a_heartbeat_keeps_the_lease(now: datetime) -> None:
    run = claimed(now)
    assert (run.state, run.attempt, run.worker) == (RunState.RUNNING, 1, "one")
    assert run.lease_until == now + timedelta(seconds=60)
    leases.renew(run, now=now + timedelta(seconds=50))
    assert services.runs_reclaim(now=now + timedelta(seconds=61)) == 0
    assert services.runs_reclaim(now=now + timedelta(seconds=111)) == 1


def test_runs_of_one_defense_are_done_before_the_next(now: datetime) -> None:
    queued(now, pictures=1)
    order = [run.defense.name for run in claimed_in_turn(now)]
    assert order == [each.name for each in REFERENCES for _ in range(3)]


def test_runs_for_what_is_loaded_come_first(now: datetime) -> None:
    first, second = queued(now, "always-abstain", "numpy-statistics")
    for number, expected, why in (
        (2, (second, 2), "it is loaded"),
        (3, (first, 1), "the last round is opened anew all the same"),
    ):
        run = services.run_claim(worker="one", now=now, preferred=services.Preferred(second.pk, number, None))
        assert run is not None and (run.defense, run.round) == expected, why


def test_answers_given_again_wait_behind_those_never_given(now: datetime) -> None:
    (defense,) = queued(now, "always-abstain")
    rerun = Rerun.objects.create(defense=defense, reason="a new driver", asked_at=now)
    again, *others = Run.objects.order_by("id").values_list("pk", flat=True)
    Run.objects.filter(pk=again).update(rerun=rerun)
    assert [run.pk for run in claimed_in_turn(now)] == [*others, again]


@pytest.mark.both("the answers of a run are written with SQL of their own")
def test_every_column_of_an_answer_is_kept_to_the_last_bit(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    """R29; a finished run cannot be finished again."""
    monkeypatch.setattr(persistence, "MOST_ROWS", 99)  # as many as SQLite takes in one statement
    run = claimed(now, pictures=120)
    answers = [
        services.Answered(
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
    services.run_finish(run, answers, device="d" * 121, now=now)
    kept = Prediction.objects.order_by("batch", "row")
    assert [services.Answered(*row) for row in kept.values_list(*services.Answered._fields)] == answers
    of_run = ("defense", "rerun", "round", "defense_digest", "device", "batch_size", "seed", "attempt")
    assert set(kept.values_list(*of_run)) == {
        (run.defense_id, None, 1, run.defense.digest, "d" * 120, run.batch_size, run.seed, 1)
    }
    with pytest.raises(leases.LeaseLost):
        services.run_finish(run, answers, device="cpu", now=now)
    run.refresh_from_db()
    assert (run.state, run.finished_at, run.lease_until) == (RunState.FINISHED, now, None)


def test_a_run_is_not_finished_with_an_answer_missing(now: datetime) -> None:
    run = claimed(now, pictures=3)
    with pytest.raises(ValueError, match="3 pictures"):
        services.run_finish(run, answers_for(run, now)[1:], device="cpu", now=now)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING and not Prediction.objects.exists()


@pytest.mark.both("an attempt is fenced off by the rows that a statement finds")
def test_a_stale_attempt_can_write_nothing(now: datetime) -> None:
    stale = claimed(now)
    later = now + timedelta(seconds=61)
    services.runs_reclaim(now=later)
    current = claim(later, "two")
    assert current.pk == stale.pk and current.attempt == 2
    for write in (
        lambda: leases.renew(stale, now=later),
        lambda: services.run_finish(stale, answers_for(stale, later), device="cpu", now=later),
        lambda: leases.fault(stale, Fault.CRASHED, "late", now=later),
    ):
        with pytest.raises(leases.LeaseLost):
            write()
    assert not Prediction.objects.exists()
    current.refresh_from_db()
    assert (current.state, current.worker, current.fault) == (RunState.RUNNING, "two", "")
    services.run_finish(current, answers_for(current, later), device="cpu", now=later)
    assert set(Prediction.objects.values_list("attempt", flat=True)) == {2}


def test_a_worker_that_falls_silent_three_times_ends_the_run(now: datetime) -> None:
    run = claimed(now)
    Run.objects.exclude(pk=run.pk).update(not_before=now + timedelta(days=1))
    for attempt in (1, 2, 3):
        now += timedelta(seconds=61)
        assert services.runs_reclaim(now=now) == 1
        again = services.run_claim(worker="next", now=now)
        assert (again is None) == (attempt == 3)
    run.refresh_from_db()
    assert (run.state, run.fault, run.attempt) == (RunState.DEAD, Fault.PLATFORM, 3)


# Faults


def test_a_fault_of_the_defense_is_final(now: datetime) -> None:
    run = claimed(now)
    assert leases.fault(run, Fault.NONFINITE, "NaN in row 3", now=now) == RunState.DEAD
    run.refresh_from_db()
    assert (run.fault, run.fault_text, run.finished_at) == (Fault.NONFINITE, "NaN in row 3", now)
    assert services.runs_retry(now=now) == 0


def test_a_fault_of_the_platform_is_tried_three_times_and_once_more_when_asked(now: datetime) -> None:
    run = claimed(now)
    Run.objects.exclude(pk=run.pk).update(state=RunState.DEAD, fault=Fault.CRASHED)
    for rest in (30, 120):
        assert leases.fault(run, Fault.PLATFORM, "store away", now=now) == RunState.QUEUED
        assert services.run_claim(worker="two", now=now + timedelta(seconds=rest - 1)) is None
        now += timedelta(seconds=rest)
        run = claim(now, "two")
    assert leases.fault(run, Fault.IMAGE_PULL, "registry away", now=now) == RunState.DEAD
    assert services.runs_retry(now=now) == 1
    again = claim(now, "two")
    assert (again.pk, again.attempt, again.fault) == (run.pk, 4, "")


def test_a_run_is_assessed_once(now: datetime) -> None:
    run = claimed(now)
    assert services.run_assessed(run) is False  # not finished yet
    services.run_finish(run, answers_for(run, now), device="cpu", now=now)
    assert list(selectors.runs_without_assessment()) == [run]
    assert [services.run_assessed(run), services.run_assessed(run)] == [True, False]
    assert not selectors.runs_without_assessment().exists()
