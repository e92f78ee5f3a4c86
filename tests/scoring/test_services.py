"""Planning and the life of a run: sweeps, leases, fencing (R29, R30)."""

import random
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Barrier, Thread
from typing import Any

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


def planned() -> Counter[tuple[int, int, int]]:
    return Counter(RunItem.objects.values_list("defense_id", "image_id", "round"))


def answers_for(run: Run, now: datetime) -> list[services.Answered]:
    return [
        services.Answered(item.pk, item.image_id, -1, 0.0, 0.0, item.pixels_sha256, 0, item.position, 1, now)
        for item in selectors.run_items(run)
    ]


def claimed(now: datetime, pictures: int = 2) -> Run:
    cast.publish(now, "always-abstain")
    rulings(pictures)
    cast.plan(now)
    run = services.run_claim(worker="one", now=now)
    assert run is not None
    return run


# Publishing


def test_publishing_again_changes_nothing(now: datetime) -> None:
    first = cast.publish(now)
    again = cast.publish(now + timedelta(days=1))
    assert [each.pk for each in first] == [each.pk for each in again]
    assert {each.published_at for each in Defense.objects.all()} == {now}


def test_a_new_digest_is_a_new_version_and_retires_the_one_before(now: datetime) -> None:
    (old,) = cast.publish(now, "always-abstain")
    declared = next(each for each in REFERENCES if each.key == "always-abstain")
    newer = replace(declared, module="picture_statistics")
    new, changed = services.reference_publish(newer, now=now + timedelta(days=1))
    assert changed and new.pk != old.pk and new.digest != old.digest
    assert selectors.defenses_in_force() == [new]
    back, changed = services.reference_publish(declared, now=now + timedelta(days=2))
    assert changed and back.pk == old.pk and selectors.defenses_in_force() == [old]


def test_the_database_refuses_two_versions_of_a_name_in_force(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    with pytest.raises(IntegrityError), transaction.atomic():
        Defense.objects.create(name="always-abstain", digest="other", created_at=now, published_at=now)


# Planning


def test_each_valid_picture_meets_each_defense_in_each_round_once(now: datetime) -> None:
    defenses = cast.publish(now)
    ids = rulings(3)
    assert cast.plan(now) == 9
    pairs = {(d.pk, image, number) for d in defenses for image in ids for number in (1, 2, 3)}
    assert planned() == Counter(pairs)
    assert len(set(Run.objects.values_list("seed", flat=True))) == 9


def test_rulings_are_read_in_chunks_and_none_is_passed_over(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors, "RULINGS_AT_ONCE", 2)
    (defense,) = cast.publish(now, "always-abstain")
    early = rulings(3)
    cast.plan(now)
    images = rulings(6)
    cast.ruled(Image.objects.get(pk=images[2]), verdict="rejected", number=2)
    cast.ruled(Image.objects.get(pk=images[3]), label="bicycle", number=2)
    cast.plan(now + timedelta(seconds=1), seed=2)
    asked = set(early) | (set(images) - {images[2]})
    assert planned() == Counter((defense.pk, image, number) for image in asked for number in (1, 2, 3))


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


def test_a_second_sweep_plans_nothing(now: datetime) -> None:
    cast.publish(now)
    rulings(3)
    cast.plan(now)
    assert cast.plan(now + timedelta(seconds=1), seed=2) == 0
    assert cast.plan(now + timedelta(hours=1), seed=3) == 0
    assert cast.plan(now + timedelta(hours=2), seed=4) == 0


@pytest.mark.parametrize(
    ("verdicts", "runs", "why"),
    [
        (["valid"], 1, "valid"),
        (["rejected"], 0, "a rejected picture breaks nothing"),
        (["rejected", "valid"], 1, "the newest ruling holds"),
        (["valid", "rejected"], 0, "the newest ruling holds"),
    ],
)
def test_only_what_is_valid_now_is_run(verdicts: list[str], runs: int, why: str, now: datetime) -> None:
    cast.publish(now, "always-abstain")
    image = factories.image()
    for number, verdict in enumerate(verdicts, start=1):
        cast.ruled(image, verdict=verdict, number=number)
    assert cast.plan(now, policy=Policy(evaluation_runs=1)) == runs, why


def test_an_unpublished_defense_is_asked_nothing(now: datetime) -> None:
    Defense.objects.create(name="x", digest="d", created_at=now)
    rulings(1)
    assert cast.plan(now) == 0


def test_what_comes_later_is_planned_by_the_next_sweep(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    rulings(2)
    cast.plan(now)
    for hours in (1, 2, 3):  # long enough for the mark to move
        rulings(1)
        assert cast.plan(now + timedelta(hours=hours), seed=hours) == 3
    cast.publish(now, "demo-cnn")
    assert cast.plan(now + timedelta(hours=4)) == 3  # the five pictures so far fit into one run a round
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


def test_the_mark_moves_so_that_settled_rulings_are_not_looked_at_again(now: datetime) -> None:
    cast.publish(now, "always-abstain")
    rulings(3)
    newest = 0
    for minutes in (0, 5, 11):
        cast.plan(now + timedelta(minutes=minutes))
        newest = PlanMark.objects.get().through_ruling
    assert newest == cast.ruled(factories.image()).pk - 1


def test_a_sweep_with_nothing_to_do_costs_the_same_at_any_size(now: datetime) -> None:
    cast.publish(now)
    costs = []
    for count in (2, 40):
        rulings(count)
        for hours in (1, 2, 3):
            cast.plan(now + timedelta(hours=hours + count))
        with CaptureQueriesContext(connection) as queries:
            assert cast.plan(now + timedelta(hours=4 + count)) == 0
        costs.append([query["sql"].split(" WHERE ")[0] for query in queries])
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


def test_a_planner_that_fails_half_way_loses_nothing(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    cast.publish(now, "always-abstain")
    rulings(5)
    made = []
    real = services.plan.permuted

    def failing(*values: Any, **named: Any) -> Any:
        made.append(1)
        if len(made) == 2:
            raise RuntimeError("the machine went away")
        return real(*values, **named)

    monkeypatch.setattr(services.plan, "permuted", failing)
    with pytest.raises(RuntimeError), transaction.atomic():
        cast.plan(now)
    cast.plan(now)
    assert len(planned()) == 15 and set(planned().values()) == {1}
    assert all(run.items.exists() for run in Run.objects.all())


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_planners_side_by_side_double_nothing(now: datetime) -> None:
    factories.policy_version()
    cast.publish(now)
    rulings(40)
    together, errors = Barrier(4), []

    def sweep(seed: int) -> None:
        try:
            together.wait()
            services.runs_plan(policy=cast.POLICY, now=now, rng=random.Random(seed))
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [Thread(target=sweep, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(planned()) == 40 * 3 * 3 and set(planned().values()) == {1}
    assert all(run.items.exists() for run in Run.objects.all())


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_workers_side_by_side_never_hold_the_same_run(now: datetime) -> None:
    factories.policy_version()
    cast.publish(now)
    rulings(2)
    cast.plan(now)
    together, held = Barrier(4), []

    def claim(worker: str) -> None:
        together.wait()
        while (run := services.run_claim(worker=worker, now=now)) is not None:
            held.append(run.pk)
        connection.close()

    threads = [Thread(target=claim, args=(f"w{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(held) == sorted(Run.objects.values_list("pk", flat=True))
    assert len(held) == 9


# Leases and fencing


def test_a_claim_leases_the_run_and_counts_the_attempt(now: datetime) -> None:
    run = claimed(now)
    assert (run.state, run.attempt, run.worker) == (RunState.RUNNING, 1, "one")
    assert run.lease_until == now + timedelta(seconds=60)


def test_a_claim_with_nothing_waiting_is_none(now: datetime) -> None:
    assert services.run_claim(worker="one", now=now) is None


def test_runs_of_one_defense_are_done_before_the_next(now: datetime) -> None:
    cast.publish(now)
    rulings(1)
    cast.plan(now)
    order = []
    while (run := services.run_claim(worker="one", now=now)) is not None:
        order.append(run.defense.name)
    assert order == [each.name for each in REFERENCES for _ in range(3)]


def test_runs_for_what_is_loaded_come_first(now: datetime) -> None:
    first, second = cast.publish(now, "always-abstain", "numpy-statistics")
    rulings(1)
    cast.plan(now)
    run = services.run_claim(worker="one", now=now, preferred=services.Preferred(second.pk, 2, None))
    assert run is not None and (run.defense, run.round) == (second, 2)
    run = services.run_claim(worker="one", now=now, preferred=services.Preferred(second.pk, 3, None))
    assert run is not None and (run.defense, run.round) == (first, 1), "the last round is opened anew all the same"


def test_answers_given_again_wait_behind_those_never_given(now: datetime) -> None:
    (defense,) = cast.publish(now, "always-abstain")
    rulings(2)
    cast.plan(now)
    rerun = Rerun.objects.create(defense=defense, reason="a new driver", asked_at=now)
    again = Run.objects.order_by("id").first()
    assert again is not None
    Run.objects.filter(pk=again.pk).update(rerun=rerun)
    order = []
    while (run := services.run_claim(worker="one", now=now)) is not None:
        order.append(run.pk)
    assert order == [*sorted(Run.objects.exclude(pk=again.pk).values_list("pk", flat=True)), again.pk]


def test_a_heartbeat_keeps_the_lease(now: datetime) -> None:
    run = claimed(now)
    leases.renew(run, now=now + timedelta(seconds=50))
    assert services.runs_reclaim(now=now + timedelta(seconds=61)) == 0
    assert services.runs_reclaim(now=now + timedelta(seconds=111)) == 1


def test_every_column_of_an_answer_is_kept_to_the_last_bit(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_finished_run_keeps_every_answer(now: datetime) -> None:
    run = claimed(now, pictures=3)
    services.run_finish(run, answers_for(run, now), device="cpu", now=now)
    run.refresh_from_db()
    assert (run.state, run.finished_at, run.lease_until) == (RunState.FINISHED, now, None)
    assert Prediction.objects.count() == 3


@pytest.mark.parametrize("missing", [1, 3])
def test_a_run_is_not_finished_with_answers_missing(missing: int, now: datetime) -> None:
    run = claimed(now, pictures=3)
    with pytest.raises(ValueError, match="3 pictures"):
        services.run_finish(run, answers_for(run, now)[missing:], device="cpu", now=now)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING and not Prediction.objects.exists()


def test_a_stale_attempt_can_write_nothing(now: datetime) -> None:
    stale = claimed(now)
    later = now + timedelta(seconds=61)
    services.runs_reclaim(now=later)
    current = services.run_claim(worker="two", now=later)
    assert current is not None and current.pk == stale.pk and current.attempt == 2
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


def test_a_finished_run_cannot_be_finished_again(now: datetime) -> None:
    run = claimed(now)
    services.run_finish(run, answers_for(run, now), device="cpu", now=now)
    with pytest.raises(leases.LeaseLost):
        services.run_finish(run, answers_for(run, now), device="cpu", now=now)


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


def test_a_fault_of_the_platform_is_tried_again_after_a_rest_three_times_in_all(now: datetime) -> None:
    run = claimed(now)
    Run.objects.exclude(pk=run.pk).update(state=RunState.DEAD)
    for rest in (30, 120):
        assert leases.fault(run, Fault.PLATFORM, "store away", now=now) == RunState.QUEUED
        assert services.run_claim(worker="two", now=now + timedelta(seconds=rest - 1)) is None
        now += timedelta(seconds=rest)
        again = services.run_claim(worker="two", now=now)
        assert again is not None
        run = again
    assert leases.fault(run, Fault.PLATFORM, "store away", now=now) == RunState.DEAD


def test_dead_runs_of_the_platform_get_one_more_try_when_asked(now: datetime) -> None:
    run = claimed(now)
    Run.objects.exclude(pk=run.pk).update(state=RunState.DEAD, fault=Fault.CRASHED)
    Run.objects.filter(pk=run.pk).update(attempt=3, tries=2)
    run.refresh_from_db()
    leases.fault(run, Fault.IMAGE_PULL, "registry away", now=now)
    assert services.runs_retry(now=now) == 1
    again = services.run_claim(worker="two", now=now)
    assert again is not None and (again.pk, again.attempt, again.fault) == (run.pk, 4, "")


def test_a_run_is_assessed_once(now: datetime) -> None:
    run = claimed(now)
    assert services.run_assessed(run) is False  # not finished yet
    services.run_finish(run, answers_for(run, now), device="cpu", now=now)
    assert list(selectors.runs_without_assessment()) == [run]
    assert [services.run_assessed(run), services.run_assessed(run)] == [True, False]
    assert not selectors.runs_without_assessment().exists()
