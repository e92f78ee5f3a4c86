"""The plan of a re-run, made by sweeps: cut off, doubled, cancelled, and always whole in the end."""

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from common.errors import Conflict
from scoring import rerun_preparation, reruns, selectors, services
from scoring.enums import NEXT_RERUN_STATE, RerunState, RunState
from scoring.models import Defense, Rerun, Run, RunItem
from scoring.rerun_preparation import reruns_prepare
from scoring.rerun_scope import Scope
from tests.scoring import cast

pytestmark = pytest.mark.django_db
PREPARING, RUNNING, APPLIED, CANCELLED = RerunState
ALL = Scope("All answers.")
RNG = random.Random(1)


@pytest.fixture(autouse=True)
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three runs in each of the three rounds, four of them in a sweep."""
    monkeypatch.setattr(rerun_preparation, "PICTURES_PER_RUN", 2)
    monkeypatch.setattr(rerun_preparation, "RUNS_A_SWEEP", 4)


def answered(now: datetime, *names: str) -> Defense:
    defense = cast.publish(now, *names or ["numpy-statistics"])[0]
    cast.valid_pictures(5)
    cast.plan(now)
    cast.work_all(now)
    return defense


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


def test_asking_writes_down_what_is_wanted_and_nothing_else(olga: User, now: datetime) -> None:
    rerun = asked_for(answered(now), olga, now)
    assert (rerun.state, rerun.reason, Run.objects.filter(rerun=rerun).count()) == (PREPARING, "All answers. why", 0)
    assert rerun.kinds == [[1, 4, False, 75, 5], [2, 4, False, 75, 5], [3, 4, True, 75, 5]]
    assert reruns.preparations([rerun]) == {rerun.pk: reruns.Preparation(0, 15)}


def test_asking_costs_the_same_however_many_pictures_there_are(olga: User, now: datetime) -> None:
    defense = answered(now)
    by = User.objects.get(pk=olga.pk)

    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            rerun = asked_for(defense, by, now)
        reruns.rerun_cancel(rerun_id=rerun.pk, by=by, now=now)
        return len(seen)

    few = queries()
    cast.valid_pictures(20, seed=8)
    cast.plan(now)
    cast.work_all(now)
    assert queries() == few <= 10


def test_sweeps_plan_it_piece_by_piece_and_then_begin_it(olga: User, now: datetime) -> None:
    rerun, told = asked_for(answered(now), olga, now), []
    for number in range(3):
        found = reruns.preparations([rerun])[rerun.pk]
        told.append((found.planned, found.wanted, sweep(now)))
        assert number == 2 or nobody_works_on(rerun, now)
    # Two, two and one picture in each round; the beginning is a step too.
    assert told == [(0, 15, 4), (7, 15, 4), (14, 15, 2)]
    is_whole(rerun)
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


def _fail_at(sql_start: str, nth: int) -> Callable[..., Any]:
    seen = []

    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(sql_start):
            seen.append(1)
            if len(seen) == nth:
                raise DatabaseError("the server went away")
        return execute(sql, params, many, context)

    return wrapper


@pytest.mark.parametrize(("statement", "nth", "why"), CUT_OFF, ids=[row[2] for row in CUT_OFF])
def test_cut_off_it_goes_on_where_it_was(statement: str, nth: int, why: str, olga: User, now: datetime) -> None:
    rerun = asked_for(answered(now), olga, now)
    with connection.execute_wrapper(_fail_at(statement, nth)), pytest.raises(DatabaseError):
        cast.prepare(now, seed=1)
    assert nobody_works_on(rerun, now), why
    cast.prepare(now, seed=2)
    is_whole(rerun)


def test_pictures_of_two_sizes_are_planned_apart(olga: User, now: datetime) -> None:
    defense = answered(now)
    cast.valid_pictures(3, seed=8, size=100)
    cast.plan(now)
    cast.work_all(now)
    rerun = asked_for(defense, olga, now)
    while sweep(now):
        pass
    rows = RunItem.objects.filter(rerun=rerun).values_list("run", "image__width").distinct()
    assert len(rows) == Run.objects.filter(rerun=rerun).count() == 15
    assert RunItem.objects.filter(rerun=rerun).count() == 24


def test_answers_that_come_meanwhile_are_not_part_of_it(olga: User, now: datetime) -> None:
    defense = answered(now)
    rerun, asked = asked_for(defense, olga, now), set(RunItem.objects.values_list("image", "round"))
    sweep(now)
    cast.valid_pictures(3, seed=8)
    cast.plan(now)
    cast.work_all(now)
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
    before: int, olga: User, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    rerun = asked_for(answered(now), olga, now)
    for _ in range(before):
        sweep(now)
    _meanwhile(monkeypatch, lambda: sweep(now))
    assert sweep(now) == 0
    cast.prepare(now)
    is_whole(rerun)


@pytest.mark.parametrize("before", [0, 1, 2])
def test_cancelled_under_a_sweep_it_stays_cancelled(
    before: int, olga: User, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    rerun = asked_for(answered(now), olga, now)
    for _ in range(before):
        sweep(now)
    planned = Run.objects.count()
    _meanwhile(monkeypatch, lambda: reruns.rerun_cancel(rerun_id=rerun.pk, by=olga, now=now))
    assert sweep(now) == 0
    rerun.refresh_from_db()
    assert (rerun.state, rerun.ended_by, Run.objects.count()) == (CANCELLED, olga, planned)
    assert (cast.work_all(now), services.runs_retry(now=now), selectors.dead_runs().count()) == (0, 0, 0)
    assert asked_for(rerun.defense, olga, now).state == PREPARING, "another one may follow"


def _stop(rerun: Rerun, by: User, now: datetime) -> object:
    return reruns.rerun_stop(rerun_id=rerun.pk, by=by, now=now)


def _go_on(rerun: Rerun, by: User, now: datetime) -> object:
    return reruns.rerun_go_on(rerun_id=rerun.pk, by=by, now=now)


def _apply(rerun: Rerun, by: User, now: datetime) -> object:
    return reruns.rerun_apply(rerun_id=rerun.pk, by=by, now=now)


def _cancel(rerun: Rerun, by: User, now: datetime) -> object:
    return reruns.rerun_cancel(rerun_id=rerun.pk, by=by, now=now)


STATES: list[tuple[RerunState, Any, RerunState | str]] = [
    (PREPARING, _stop, "rerun_preparing"),
    (PREPARING, _go_on, "rerun_preparing"),
    (PREPARING, _apply, "rerun_preparing"),
    (PREPARING, _cancel, CANCELLED),
    (RUNNING, _stop, RUNNING),
    (RUNNING, _go_on, "nothing_stopped"),
    (RUNNING, _apply, "rerun_unfinished"),
    (RUNNING, _cancel, CANCELLED),
    *((state, do, "rerun_over") for state in (APPLIED, CANCELLED) for do in (_stop, _go_on, _apply, _cancel)),
]


def _in_state(state: RerunState, by: User, now: datetime) -> Rerun:
    rerun = asked_for(answered(now), by, now)
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
    return rerun


@pytest.mark.parametrize(("state", "do", "becomes"), STATES)
def test_what_may_be_done_in_each_state(
    state: RerunState, do: Any, becomes: RerunState | str, olga: User, now: datetime
) -> None:
    rerun = _in_state(state, olga, now)
    runs = Counter(Run.objects.filter(rerun=rerun).values_list("state", "fault"))
    if isinstance(becomes, RerunState):
        do(rerun, olga, now)
    else:
        with pytest.raises(Conflict) as refused:
            do(rerun, olga, now)
        assert refused.value.code == becomes
        assert Counter(Run.objects.filter(rerun=rerun).values_list("state", "fault")) == runs
    rerun.refresh_from_db()
    assert rerun.state == (becomes if isinstance(becomes, RerunState) else state)


@pytest.mark.parametrize("state", RerunState)
def test_only_what_is_over_lets_another_one_begin(state: RerunState, olga: User, now: datetime) -> None:
    rerun = _in_state(state, olga, now)
    if NEXT_RERUN_STATE[state]:
        with pytest.raises(Conflict, match="under way"):
            asked_for(rerun.defense, olga, now)
    else:
        assert asked_for(rerun.defense, olga, now).state == PREPARING


def test_a_step_that_is_not_in_the_table_is_refused(olga: User, now: datetime) -> None:
    rerun = _in_state(CANCELLED, olga, now)
    with pytest.raises(ValueError, match="cannot become running"):
        rerun_preparation.rerun_move(rerun, RUNNING)


# Beside each other ---------------------------------------------------------------------------------------------------


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("a_sweep", [1, 4, 100])
def test_sweeps_beside_each_other_double_nothing_and_leave_nothing_out(
    a_sweep: int, olga: User, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerun_preparation, "RUNS_A_SWEEP", a_sweep)
    rerun, together = asked_for(answered(now), olga, now), Barrier(4)

    def prepare(seed: int) -> int:
        together.wait()
        try:
            done, rng = 0, random.Random(seed)
            while Rerun.objects.filter(state=PREPARING).exists():
                done += reruns_prepare(now=now, rng=rng)
            return done
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(prepare, range(4))) == 9 + 1
    is_whole(rerun)


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_cancelled_beside_a_sweep_nothing_of_it_waits(olga: User, now: datetime) -> None:
    rerun, together = asked_for(answered(now), olga, now), Barrier(2)

    def prepare() -> int:
        together.wait()
        try:
            return cast.prepare(now)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        preparing = pool.submit(prepare)
        together.wait()
        reruns.rerun_cancel(rerun_id=rerun.pk, by=olga, now=now)
        assert preparing.result() <= 9 + 1
    rerun.refresh_from_db()
    assert (rerun.state, Run.objects.filter(state=RunState.QUEUED).count()) == (CANCELLED, 0)


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_a_rerun_that_somebody_holds_does_not_hold_up_the_others(olga: User, now: datetime) -> None:
    answered(now, "numpy-statistics", "always-abstain")
    held, other = (asked_for(defense, olga, now) for defense in Defense.objects.order_by("pk"))

    def prepare() -> int:
        try:
            return cast.prepare(now)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        Rerun.objects.select_for_update().get(pk=held.pk)
        assert pool.submit(prepare).result(timeout=60) == 9 + 1
    is_whole(other)
    held.refresh_from_db()
    assert (held.state, Run.objects.filter(rerun=held).count()) == (PREPARING, 0)
    cast.prepare(now)
    is_whole(held)
