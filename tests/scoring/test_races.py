"""Planners, scorers and organizers beside each other: nothing is doubled, nothing is left out (R29, R31)."""

import random
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime
from functools import partial
from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections, transaction

from scoring import rerun_preparation, reruns, selectors, services
from scoring.enums import Fault, RerunState, RunState, TrialKind
from scoring.leases import LeaseLost
from scoring.models import Defense, Prediction, Rerun, Run, RunItem, SupersededPrediction, Trial
from scoring.rerun_preparation import reruns_prepare
from scoring.rerun_scope import Scope
from scoring.trials import services as trials
from tests import factories
from tests.at_once import at_once, refusals_at_once
from tests.scoring import cast
from tests.scoring.test_rerun_preparation import is_whole, small_runs
from tests.scoring.trials.cast import container

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgres("several at once: SQLite has one writer"),
]
ALL = Scope("All answers.")


@pytest.fixture(autouse=True)
def policy(db: None) -> None:
    factories.policy_version()


def asked_for(defense: Defense, now: datetime) -> Rerun:
    by = User.objects.filter(username="olga").first() or factories.user("olga", "organizers")
    return reruns.rerun_start(defense=defense, scope=ALL, reason="why", by=by, now=now)


def own_thread(do: Any, *values: Any) -> Any:
    """Call something and close the connections of this thread."""
    try:
        return do(*values)
    finally:
        connections.close_all()


# Runs


def test_planners_double_nothing_and_no_two_workers_hold_the_same_run(now: datetime) -> None:
    cast.publish(now)
    for _ in range(20):
        cast.ruled(factories.image(width=75, height=75))
    planned = at_once(*(partial(cast.plan, now, seed=seed) for seed in range(4)))
    assert not [each for each in planned if isinstance(each, str)], planned
    assert len(set(RunItem.objects.values_list("defense", "image", "round"))) == RunItem.objects.count() == 20 * 3 * 3

    def claim() -> list[int]:
        return [run.pk for run in iter(lambda: services.run_claim(worker="w", now=now), None)]

    held = sum(at_once(*[claim] * 4), [])
    assert sorted(held) == sorted(Run.objects.values_list("pk", flat=True)) and len(held) >= 9


# Trials (R31)


def test_of_many_planners_one_queues_a_trial_and_one_scorer_has_it(now: datetime) -> None:
    newcomers = [container(f"d{number}").pk for number in range(3)]
    plan = partial(trials.trials_plan, policy=cast.POLICY, now=now)
    assert sum(at_once(*(partial(plan, rng=random.Random(seed)) for seed in range(6)))) == 3
    made = sorted(Trial.objects.values_list("defense", "kind", "number"))
    assert made == [(pk, TrialKind.SMOKE.value, 1) for pk in newcomers]
    claimed = at_once(*[partial(trials.trial_claim, worker="w", now=now)] * 6)
    assert sorted(each.defense_id for each in claimed if each) == newcomers
    assert set(Trial.objects.values_list("attempt", flat=True)) == {1}


# Re-runs


def test_of_two_who_start_one_at_once_one_does(now: datetime, olga: User) -> None:
    (defense,) = cast.answered(now, "numpy-statistics")
    assert sorted(refusals_at_once(*[partial(asked_for, defense, now)] * 2)) == ["", "rerun_under_way"]
    assert [(each.state, len(each.kinds)) for each in Rerun.objects.all()] == [(RerunState.PREPARING, 3)]


@pytest.mark.parametrize("work", [reruns.rerun_apply, reruns.rerun_cancel], ids=["two apply", "one cancels"])
def test_of_two_who_end_it_at_once_one_does(work: Any, now: datetime, olga: User) -> None:
    (defense,) = cast.answered(now, "numpy-statistics", pictures=4)
    rerun = cast.begun(defense, olga, now, scope=ALL)
    cast.work_all(now)
    ended = refusals_at_once(*(partial(do, rerun_id=rerun.pk, by=olga, now=now) for do in (reruns.rerun_apply, work)))
    assert sorted(ended) == ["", "rerun_over"]
    rerun.refresh_from_db()
    assert SupersededPrediction.objects.count() == (12 if rerun.state == RerunState.APPLIED else 0)
    assert selectors.predictions_in_force().count() == 12


def test_a_run_that_is_parted_while_its_rerun_is_cancelled_leaves_nothing_to_work_on(now: datetime, olga: User) -> None:
    (defense,) = cast.answered(now, "numpy-statistics", pictures=4)
    rerun = cast.begun(defense, olga, now, scope=ALL)
    run, begun = services.run_claim(worker="one", now=now), Event()
    assert run is not None

    def part() -> None:
        begun.set()
        services.run_part(run, selectors.run_items(run)[:2], Fault.CRASHED, "ended", now=now)

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            reruns.rerun_cancel(rerun_id=rerun.pk, by=olga, now=now)
            parting = pool.submit(own_thread, part)
            begun.wait()
            assert not wait([parting], timeout=1).done, "it waits for who cancels"
        with pytest.raises(LeaseLost):
            parting.result()
    assert not Run.objects.filter(state=RunState.QUEUED).exists()


@pytest.mark.parametrize("a_sweep", [1, 4])
def test_sweeps_beside_each_other_double_nothing_and_leave_nothing_out(
    a_sweep: int, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_runs(monkeypatch)
    monkeypatch.setattr(rerun_preparation, "RUNS_PER_SWEEP", a_sweep)
    rerun = asked_for(cast.answered(now, "numpy-statistics", pictures=5)[0], now)

    def prepare(seed: int) -> int:
        done, rng = 0, random.Random(seed)
        while Rerun.objects.filter(state=RerunState.PREPARING).exists():
            done += reruns_prepare(now=now, rng=rng)
        return done

    assert sum(at_once(*(partial(prepare, seed) for seed in range(4)))) == 9 + 1
    is_whole(rerun)


def test_cancelled_beside_a_sweep_nothing_of_it_waits(
    now: datetime, olga: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_runs(monkeypatch)
    rerun = asked_for(cast.answered(now, "numpy-statistics", pictures=5)[0], now)
    done = at_once(partial(reruns.rerun_cancel, rerun_id=rerun.pk, by=olga, now=now), partial(cast.prepare, now))
    assert not [each for each in done if isinstance(each, str)], done
    rerun.refresh_from_db()
    assert (rerun.state, Run.objects.filter(state=RunState.QUEUED).count()) == (RerunState.CANCELLED, 0)


def test_a_rerun_that_somebody_holds_does_not_hold_up_the_others(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_runs(monkeypatch)
    cast.answered(now, "numpy-statistics", "always-abstain", pictures=5)
    held, other = (asked_for(defense, now) for defense in Defense.objects.order_by("pk"))
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        Rerun.objects.select_for_update().get(pk=held.pk)
        assert pool.submit(own_thread, cast.prepare, now).result(timeout=60) == 9 + 1
    is_whole(other)
    held.refresh_from_db()
    assert (held.state, Run.objects.filter(rerun=held).count()) == (RerunState.PREPARING, 0)
    cast.prepare(now)
    is_whole(held)


def test_answers_with_lower_numbers_that_are_on_their_way_are_not_meant(now: datetime) -> None:
    (defense,) = cast.queued(now, "numpy-statistics", pictures=3)
    cast.valid_pictures(2, seed=8)  # two runs in each round
    cast.plan(now, seed=2)
    slow, written, go = services.run_claim(worker="slow", now=now), Event(), Event()
    assert slow is not None
    answers = [
        services.DefensePrediction(item.pk, item.image_id, 1, 0.5, 0.5, item.pixels_sha256, 0, row, 1, now)
        for row, item in enumerate(selectors.run_items(slow))
    ]

    def finish_slowly() -> None:
        with transaction.atomic():
            services.run_finish(slow, answers, device="cpu", now=now)
            written.set()
            assert go.wait(timeout=30)

    with ThreadPoolExecutor(1) as pool:
        finishing = pool.submit(own_thread, finish_slowly)
        assert written.wait(timeout=30)
        cast.work_all(now)
        rerun = asked_for(defense, now)
        go.set()
        finishing.result()
    late = Prediction.objects.filter(item__run=slow)
    assert late.count() == 3 and max(late.values_list("pk", flat=True)) < rerun.scope["newest"]
    cast.prepare(now)
    asked_again = set(RunItem.objects.filter(rerun=rerun).values_list("image", "round"))
    assert len(asked_again) == sum(answers for *_, answers in rerun.kinds) == 12
    assert asked_again.isdisjoint(late.values_list("image", "round"))
