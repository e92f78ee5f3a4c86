"""The plan of a re-run, made by sweeps: cut off, doubled, cancelled, and always whole in the end."""

import random
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from scoring import rerun_preparation, reruns, selectors, services
from scoring.enums import NEXT_RERUN_STATE, RerunState, RunState
from scoring.models import Defense, Rerun, Run, RunItem
from scoring.rerun_preparation import reruns_prepare
from scoring.rerun_scope import Scope
from tests import factories
from tests.refusals import refused
from tests.scoring import cast

pytestmark = pytest.mark.django_db
PREPARING, RUNNING, APPLIED, CANCELLED = RerunState
ALL = Scope("All answers.")
RNG = random.Random(9)


@pytest.fixture(scope="module")
def defense(module_world: Any) -> Defense:
    """A defense that answered five pictures."""
    return cast.answered(factories.NOW, "numpy-statistics", pictures=5)[0]


def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three runs in each of the three rounds, four of them in a sweep."""
    monkeypatch.setattr(rerun_preparation, "PICTURES_PER_RUN", 2)
    monkeypatch.setattr(rerun_preparation, "RUNS_PER_SWEEP", 4)


@pytest.fixture(autouse=True)
def _small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    small_runs(monkeypatch)


@pytest.fixture
def rerun(defense: Defense, olga: User, now: datetime) -> Rerun:
    """Asked for, and not planned yet."""
    return asked_for(defense, olga, now)


def asked_for(defense: Defense, by: User, now: datetime) -> Rerun:
    return reruns.rerun_start(defense=defense, scope=ALL, reason="why", by=by, now=now)


def sweep(now: datetime) -> int:
    return reruns_prepare(now=now, rng=RNG)


def is_whole(rerun: Rerun) -> None:
    """Every answer is asked for once, in runs like the first ones, and all of them wait."""
    rerun.refresh_from_db()
    items = RunItem.objects.filter(defense=rerun.defense_id)
    first, again = (items.filter(rerun=each).values_list("image", "round") for each in (None, rerun))
    assert (rerun.state, Counter(again)) == (RUNNING, Counter(first))
    runs = list(Run.objects.filter(rerun=rerun))
    assert Counter((run.round, run.fresh, run.state, run.fault, run.fault_text) for run in runs) == {
        (number, number == 3, RunState.QUEUED, "", ""): 3 for number in (1, 2, 3)
    }
    seeds = [len({run.seed for run in runs if run.round == number}) for number in (1, 2, 3)]
    assert (seeds, len({run.seed for run in runs})) == ([1, 1, 3], 5), "a round shares its seed, and the last is fresh"


def test_asking_writes_down_what_is_wanted_and_nothing_else(rerun: Rerun) -> None:
    assert (rerun.state, rerun.reason, Run.objects.filter(rerun=rerun).count()) == (PREPARING, "All answers. why", 0)
    assert rerun.kinds == [[1, 4, False, 75, 5], [2, 4, False, 75, 5], [3, 4, True, 75, 5]]
    assert reruns.preparations([rerun]) == {rerun.pk: reruns.RerunPreparation(0, 15)}


def test_asking_costs_the_same_however_many_pictures_there_are(defense: Defense, olga: User, now: datetime) -> None:
    by, costs = User.objects.get(pk=olga.pk), []
    for later in (0, 10):
        cast.answered_later(now, later)
        with CaptureQueriesContext(connection) as seen:
            rerun = asked_for(defense, by, now)
        reruns.rerun_cancel(rerun_id=rerun.pk, by=by, now=now)
        costs.append(len(seen))
    assert costs[0] == costs[1] <= 10


def test_sweeps_plan_it_piece_by_piece_and_then_begin_it(rerun: Rerun, now: datetime) -> None:
    told = []
    for number in range(3):
        found = reruns.preparations([rerun])[rerun.pk]
        told.append((found.planned, found.wanted, sweep(now)))
        if number < 2:
            nobody_works_on_it(rerun, now)
    # Two, two and one picture in each round; the beginning is a step too.
    assert told == [(0, 15, 4), (7, 15, 4), (14, 15, 2)]
    is_whole(rerun)
    assert len(set(Run.objects.values_list("seed", flat=True))) == 3 + 5, "no seed of the first runs"
    assert (sweep(now), reruns.preparations([rerun])) == (0, {})


CUT_OFF = [
    ('INSERT INTO "scoring_run"', 1, "before anything is planned"),
    ('INSERT INTO "scoring_runitem"', 1, "in the middle of the first run"),
    ('INSERT INTO "scoring_runitem"', 3, "in the last run of a round"),
    ('INSERT INTO "scoring_run"', 4, "between two rounds"),
    ('INSERT INTO "scoring_runitem"', 9, "in the very last run"),
    ('UPDATE "scoring_rerun"', 1, "when it is about to begin"),
    ('UPDATE "scoring_run" ', 1, "begun, with nothing in the queue"),
]


def nobody_works_on_it(rerun: Rerun, now: datetime) -> None:
    rerun.refresh_from_db()
    assert (rerun.state, rerun.ended_at) == (PREPARING, None)
    assert (cast.work_all(now), services.runs_retry(now=now), selectors.dead_runs().count()) == (0, 0, 0)


@pytest.mark.both("SKIP LOCKED, and what is left of a transaction that was cut off")
@pytest.mark.parametrize(("statement", "nth", "why"), CUT_OFF, ids=[row[2] for row in CUT_OFF])
def test_cut_off_it_goes_on_where_it_was(statement: str, nth: int, why: str, rerun: Rerun, now: datetime) -> None:
    with connection.execute_wrapper(cast.server_gone_at(statement, nth)), pytest.raises(DatabaseError):
        cast.prepare(now, seed=11)
    nobody_works_on_it(rerun, now)
    cast.prepare(now, seed=12)
    is_whole(rerun)


def test_pictures_of_two_sizes_are_planned_apart(defense: Defense, olga: User, now: datetime) -> None:
    cast.answered_later(now, 3, size=100)
    rerun = asked_for(defense, olga, now)
    cast.prepare(now)
    rows = RunItem.objects.filter(rerun=rerun).values_list("run", "image__width")
    assert (len(rows), len(set(rows)), Run.objects.filter(rerun=rerun).count()) == (24, 15, 15)


def _meanwhile(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
    """Let `do` happen once, after the next sweep has read how far the plan is."""
    real = rerun_preparation._place

    def place(rerun: Rerun) -> Any:
        found = real(rerun)
        monkeypatch.setattr(rerun_preparation, "_place", real)
        do()
        return found

    monkeypatch.setattr(rerun_preparation, "_place", place)


@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_sweep_that_was_overtaken_leaves_it_to_the_other(
    before: int, rerun: Rerun, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(before):
        sweep(now)
    _meanwhile(monkeypatch, lambda: sweep(now))
    assert sweep(now) == 0
    cast.prepare(now)
    is_whole(rerun)


@pytest.mark.parametrize("before", [0, 1, 2])
def test_cancelled_under_a_sweep_it_stays_cancelled(
    before: int, rerun: Rerun, olga: User, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(before):
        sweep(now)
    planned = Run.objects.count()
    _meanwhile(monkeypatch, partial(reruns.rerun_cancel, rerun_id=rerun.pk, by=olga, now=now))
    assert sweep(now) == 0
    rerun.refresh_from_db()
    assert (rerun.state, rerun.ended_by, Run.objects.count()) == (CANCELLED, olga, planned)
    assert (cast.work_all(now), services.runs_retry(now=now), selectors.dead_runs().count()) == (0, 0, 0)


STOP, GO_ON, APPLY, CANCEL = STEPS = (reruns.rerun_stop, reruns.rerun_resume, reruns.rerun_apply, reruns.rerun_cancel)
# What is refused in each state, with the code; every other step may be taken.
REFUSED: list[tuple[RerunState, dict[Any, str]]] = [
    (PREPARING, dict.fromkeys((STOP, GO_ON, APPLY), "rerun_preparing")),
    (RUNNING, {GO_ON: "nothing_stopped", APPLY: "rerun_unfinished"}),
    (APPLIED, dict.fromkeys(STEPS, "rerun_over")),
    (CANCELLED, dict.fromkeys(STEPS, "rerun_over")),
]


@pytest.mark.parametrize(("state", "refused_steps"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_may_be_done_in_each_state(
    state: RerunState, refused_steps: dict[Any, str], rerun: Rerun, olga: User, now: datetime
) -> None:
    values = {"rerun_id": rerun.pk, "by": olga, "now": now}
    sweep(now)
    if state != PREPARING:
        cast.prepare(now)
    if state == APPLIED:
        cast.work_all(now)
    if state in (APPLIED, CANCELLED):
        {APPLIED: APPLY, CANCELLED: CANCEL}[state](**values)
    before = Counter(Run.objects.values_list("rerun", "state", "fault"))
    for step, code in refused_steps.items():
        refused(code, step, **values)
    rerun.refresh_from_db()
    assert (rerun.state, Counter(Run.objects.values_list("rerun", "state", "fault"))) == (state, before)
    if NEXT_RERUN_STATE[state]:
        refused("rerun_under_way", asked_for, rerun.defense, olga, now)
    else:
        assert asked_for(rerun.defense, olga, now).state == PREPARING, "only what is over lets another one begin"
        with pytest.raises(ValueError, match="cannot become running"):  # the table of transitions says so too
            rerun_preparation.rerun_advance(rerun, RUNNING)
    for step in STEPS:
        if step not in refused_steps:
            step(**values)
            rerun.refresh_from_db()
            assert rerun.state == (CANCELLED if step is CANCEL else state)
