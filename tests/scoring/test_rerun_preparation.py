"""The plan of a re-run, made by sweeps: cut off, doubled, cancelled, and always whole in the end."""

import random
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from common.errors import Conflict
from scoring import rerun_preparation, reruns, selectors, services
from scoring.enums import NEXT_RERUN_STATE, RerunState, RunState
from scoring.models import Defense, Rerun, Run, RunItem
from scoring.rerun_preparation import reruns_prepare
from scoring.rerun_scope import Scope
from tests import factories
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
    monkeypatch.setattr(rerun_preparation, "RUNS_A_SWEEP", 4)


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
    first = RunItem.objects.filter(defense=rerun.defense_id, rerun=None).values_list("image", "round")
    assert rerun.state == RUNNING
    assert Counter(RunItem.objects.filter(rerun=rerun).values_list("image", "round")) == Counter(first)
    runs = list(Run.objects.filter(rerun=rerun))
    assert Counter((run.round, run.fresh, run.state, run.fault, run.fault_text) for run in runs) == {
        (number, number == 3, RunState.QUEUED, "", ""): 3 for number in (1, 2, 3)
    }
    seeds = {number: len({run.seed for run in runs if run.round == number}) for number in (1, 2, 3)}
    assert seeds == {1: 1, 2: 1, 3: 3}, "a round shares its seed, and the last one is fresh"
    assert len({run.seed for run in runs}) == 5


def test_asking_writes_down_what_is_wanted_and_nothing_else(rerun: Rerun) -> None:
    assert (rerun.state, rerun.reason, Run.objects.filter(rerun=rerun).count()) == (PREPARING, "All answers. why", 0)
    assert rerun.kinds == [[1, 4, False, 75, 5], [2, 4, False, 75, 5], [3, 4, True, 75, 5]]
    assert reruns.preparations([rerun]) == {rerun.pk: reruns.Preparation(0, 15)}


def test_asking_costs_the_same_however_many_pictures_there_are(defense: Defense, olga: User, now: datetime) -> None:
    by = User.objects.get(pk=olga.pk)

    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            rerun = asked_for(defense, by, now)
        reruns.rerun_cancel(rerun_id=rerun.pk, by=by, now=now)
        return len(seen)

    few = queries()
    cast.answered_later(now, 10)
    assert queries() == few <= 10


def test_sweeps_plan_it_piece_by_piece_and_then_begin_it(rerun: Rerun, now: datetime) -> None:
    told = []
    for number in range(3):
        found = reruns.preparations([rerun])[rerun.pk]
        told.append((found.planned, found.wanted, sweep(now)))
        assert number == 2 or nobody_works_on(rerun, now)
    # Two, two and one picture in each round; the beginning is a step too.
    assert told == [(0, 15, 4), (7, 15, 4), (14, 15, 2)]
    is_whole(rerun)
    assert len(set(Run.objects.values_list("seed", flat=True))) == 3 + 5, "no seed of the first runs"
    assert sweep(now) == 0
    assert reruns.preparations([rerun]) == {}


def nobody_works_on(rerun: Rerun, now: datetime) -> bool:
    rerun.refresh_from_db()
    assert (rerun.state, rerun.ended_at) == (PREPARING, None)
    assert (cast.work_all(now), services.runs_retry(now=now), selectors.dead_runs().count()) == (0, 0, 0)
    return True


CUT_OFF = [
    ('INSERT INTO "scoring_run"', 1, "before anything is planned"),
    ('INSERT INTO "scoring_runitem"', 1, "in the middle of the first run"),
    ('INSERT INTO "scoring_runitem"', 3, "in the last run of a round"),
    ('INSERT INTO "scoring_run"', 4, "between two rounds"),
    ('INSERT INTO "scoring_runitem"', 9, "in the very last run"),
    ('UPDATE "scoring_rerun"', 1, "when it is about to begin"),
    ('UPDATE "scoring_run" ', 1, "begun, with nothing in the queue"),
]


@pytest.mark.both("SKIP LOCKED, and what is left of a transaction that was cut off")
@pytest.mark.parametrize(("statement", "nth", "why"), CUT_OFF, ids=[row[2] for row in CUT_OFF])
def test_cut_off_it_goes_on_where_it_was(statement: str, nth: int, why: str, rerun: Rerun, now: datetime) -> None:
    with connection.execute_wrapper(cast.server_gone_at(statement, nth)), pytest.raises(DatabaseError):
        cast.prepare(now, seed=11)
    assert nobody_works_on(rerun, now), why
    cast.prepare(now, seed=12)
    is_whole(rerun)


def test_pictures_of_two_sizes_are_planned_apart(defense: Defense, olga: User, now: datetime) -> None:
    cast.answered_later(now, 3, size=100)
    rerun = asked_for(defense, olga, now)
    cast.prepare(now)
    rows = RunItem.objects.filter(rerun=rerun).values_list("run", "image__width").distinct()
    assert len(rows) == Run.objects.filter(rerun=rerun).count() == 15
    assert RunItem.objects.filter(rerun=rerun).count() == 24


def test_answers_that_come_meanwhile_are_not_part_of_it(rerun: Rerun, now: datetime) -> None:
    sweep(now)
    asked = set(RunItem.objects.filter(rerun=None).values_list("image", "round"))
    cast.answered_later(now, 3)
    assert RunItem.objects.filter(rerun=None).count() == 24
    cast.prepare(now)
    assert set(RunItem.objects.filter(rerun=rerun).values_list("image", "round")) == asked
    assert Rerun.objects.get().state == RUNNING


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
    _meanwhile(monkeypatch, lambda: _cancel(rerun, olga, now))
    assert sweep(now) == 0
    rerun.refresh_from_db()
    assert (rerun.state, rerun.ended_by, Run.objects.count()) == (CANCELLED, olga, planned)
    assert (cast.work_all(now), services.runs_retry(now=now), selectors.dead_runs().count()) == (0, 0, 0)


def _stop(rerun: Rerun, by: User, now: datetime) -> object:
    return reruns.rerun_stop(rerun_id=rerun.pk, by=by, now=now)


def _go_on(rerun: Rerun, by: User, now: datetime) -> object:
    return reruns.rerun_go_on(rerun_id=rerun.pk, by=by, now=now)


def _apply(rerun: Rerun, by: User, now: datetime) -> object:
    return reruns.rerun_apply(rerun_id=rerun.pk, by=by, now=now)


def _cancel(rerun: Rerun, by: User, now: datetime) -> object:
    return reruns.rerun_cancel(rerun_id=rerun.pk, by=by, now=now)


STEPS = (_stop, _go_on, _apply, _cancel)
# What is refused in each state, with the code; every other step may be taken.
REFUSED: list[tuple[RerunState, dict[Any, str]]] = [
    (PREPARING, dict.fromkeys((_stop, _go_on, _apply), "rerun_preparing")),
    (RUNNING, {_go_on: "nothing_stopped", _apply: "rerun_unfinished"}),
    (APPLIED, dict.fromkeys(STEPS, "rerun_over")),
    (CANCELLED, dict.fromkeys(STEPS, "rerun_over")),
]


def _in_state(state: RerunState, rerun: Rerun, by: User, now: datetime) -> None:
    sweep(now)
    if state != PREPARING:
        cast.prepare(now)
    if state == APPLIED:
        cast.work_all(now)
        _apply(rerun, by, now)
    if state == CANCELLED:
        _cancel(rerun, by, now)
    rerun.refresh_from_db()
    assert rerun.state == state


@pytest.mark.parametrize(("state", "refused"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_may_be_done_in_each_state(
    state: RerunState, refused: dict[Any, str], rerun: Rerun, olga: User, now: datetime
) -> None:
    _in_state(state, rerun, olga, now)
    before = Counter(Run.objects.values_list("rerun", "state", "fault"))
    for do, code in refused.items():
        with pytest.raises(Conflict) as caught:
            do(rerun, olga, now)
        assert caught.value.code == code, do
    rerun.refresh_from_db()
    assert (rerun.state, Counter(Run.objects.values_list("rerun", "state", "fault"))) == (state, before)
    if NEXT_RERUN_STATE[state]:
        with pytest.raises(Conflict, match="under way"):
            asked_for(rerun.defense, olga, now)
    else:
        assert asked_for(rerun.defense, olga, now).state == PREPARING, "only what is over lets another one begin"
    for do in (step for step in STEPS if step not in refused):
        do(rerun, olga, now)
        rerun.refresh_from_db()
        assert rerun.state == (CANCELLED if do is _cancel else state)


def test_a_step_that_is_not_in_the_table_is_refused(rerun: Rerun, olga: User, now: datetime) -> None:
    _in_state(CANCELLED, rerun, olga, now)
    with pytest.raises(ValueError, match="cannot become running"):
        rerun_preparation.rerun_move(rerun, RUNNING)
