"""Answers given again as a set: chosen, planned, stopped, and put in the place of the older ones all at once or not."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from threading import Barrier, Event
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, connections, transaction

from common.errors import Conflict, DomainError, InvalidInput
from contest.breaks import breaks_record
from contest.exports import tables
from contest.models import Break
from contest.stages import run_groups
from labeling.models import Image
from labeling.policy import Policy
from scoring import rerun_preparation, reruns, selectors, services
from scoring.enums import Fault, Outcome, RerunState, RunState
from scoring.leases import LeaseLost
from scoring.models import Defense, Prediction, Rerun, Run, RunItem, Superseded
from scoring.rerun_scope import Scope
from scoring.runner import Answers, RunnerFault
from tests import factories
from tests.scoring import cast

pytestmark = pytest.mark.django_db
NAME = "numpy-statistics"
ALL = Scope("All answers.")


def saying(answer: Outcome) -> Any:
    """How to find runners whose defenses give one answer to everything."""
    return lambda _: cast.Answering([NAME], lambda found: Answers(np.full_like(found.labels, answer), found.scores))


def failing(fault: Fault) -> Any:
    """How to find runners whose defenses fail on everything."""

    def fail(_: Answers) -> Answers:
        raise RunnerFault(fault, "it failed")

    return lambda _: cast.Answering([NAME], fail)


def start(defense: Defense, now: datetime, *, scope: Scope = ALL, reason: str = "A faulty card.") -> Rerun:
    by = User.objects.filter(username="olga").first() or factories.user("olga", "organizers")
    return cast.begun(defense, by, now, scope=scope, reason=reason)


def apply(rerun: Rerun, now: datetime) -> int:
    return reruns.rerun_apply(rerun_id=rerun.pk, by=User.objects.get(username="olga"), now=now)


def in_force() -> Counter[tuple[int, int, int | None]]:
    """How often each (round, answer, re-run) is in force."""
    return Counter(selectors.predictions_in_force().values_list("round", "answer", "rerun"))


@pytest.fixture
def answered(now: datetime) -> Defense:
    """Five birds and bicycles that the defense took for birds, in three rounds."""
    (defense,) = cast.publish(now, NAME)
    cast.valid_pictures(5)
    cast.plan(now)
    cast.work_all(now, find_runner=saying(Outcome.BIRD))
    return defense


def test_the_preview_says_what_it_would_take(answered: Defense, now: datetime) -> None:
    found = reruns.rerun_preview(answered, ALL)
    assert (found.pictures, found.answers, found.unanswered, found.runs, found.batches) == (5, 15, 0, 3, 6)
    assert found.labels == ((Outcome.BIRD, 15),)
    assert [count for _, count in found.devices] == [15]
    assert found.seconds is not None and 0 < found.seconds < 60


SCOPES = [
    (lambda now: Scope("x", received=(factories.NOW, factories.NOW + timedelta(days=1))), 15, "the week they came in"),
    (lambda now: Scope("x", received=(now + timedelta(days=7), now + timedelta(days=14))), 0, "another week"),
    (lambda now: Scope("x", answered=(now, now + timedelta(seconds=1))), 15, "the span they were answered in"),
    (lambda now: Scope("x", answered=(now - timedelta(hours=1), now)), 0, "half open: the end is not in it"),
    (lambda now: Scope("x", device="no such card"), 0, "a device that answered nothing"),
    (lambda now: Scope("x", device=Prediction.objects.first().device), 15, "the device"),  # type: ignore[union-attr]
    (lambda now: Scope("x", run=Run.objects.get(round=2).pk), 5, "one run"),
]


@pytest.mark.parametrize(("scope", "answers", "why"), SCOPES, ids=[row[2] for row in SCOPES])
def test_an_organizer_chooses_which_answers(
    scope: Any, answers: int, why: str, answered: Defense, now: datetime
) -> None:
    assert reruns.rerun_preview(answered, scope(now)).answers == answers, why


def test_it_is_planned_like_the_first_runs_with_fresh_seeds(answered: Defense, now: datetime) -> None:
    first = list(Run.objects.all())
    rerun = start(answered, now)
    again = Run.objects.filter(rerun=rerun).order_by("round")
    assert [(run.round, run.batch_size, run.fresh, run.state) for run in again] == [
        (run.round, run.batch_size, run.fresh, RunState.QUEUED) for run in first
    ]
    assert len({run.seed for run in [*first, *again]}) == 6
    asked = Counter(RunItem.objects.filter(rerun=rerun).values_list("image", "round"))
    assert asked == Counter(RunItem.objects.filter(rerun=None).values_list("image", "round"))
    assert (rerun.state, rerun.reason) == (RerunState.RUNNING, "All answers. A faulty card.")


def test_runs_are_small_and_of_one_round_share_a_seed(
    answered: Defense, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerun_preparation, "PICTURES_PER_RUN", 2)
    rerun = start(answered, now)
    runs = Run.objects.filter(rerun=rerun)
    assert Counter(runs.values_list("round", flat=True)) == {1: 3, 2: 3, 3: 3}
    seeds = {number: set(runs.filter(round=number).values_list("seed", flat=True)) for number in (1, 2, 3)}
    assert {number: len(found) for number, found in seeds.items()} == {1: 1, 2: 1, 3: 3}, "the last round is fresh"


def test_its_answers_count_for_nothing_until_it_is_applied(answered: Defense, now: datetime) -> None:
    breaks_record(now=now)
    before, broken = in_force(), set(Break.objects.values_list("image", "prediction"))
    rerun = start(answered, now)
    cast.work_all(now, find_runner=saying(Outcome.BICYCLE))
    assert Prediction.objects.filter(rerun=rerun, answer=Outcome.BICYCLE).count() == 15
    assert breaks_record(now=now) == 0, "nobody looks at them for breaks"
    assert (in_force(), set(Break.objects.values_list("image", "prediction"))) == (before, broken)
    assert selectors.is_randomised(answered) is False
    assert set(tables.official_predictions().values_list("rerun", flat=True)) == {None}
    assert tables.settled_items().count() == 15


def test_applied_it_takes_their_place_all_at_once(answered: Defense, now: datetime) -> None:
    breaks_record(now=now)
    birds = {image.pk for image in Image.objects.filter(rulings__label="bird")}
    rerun = start(answered, now)
    cast.work_all(now, find_runner=saying(Outcome.BICYCLE))
    assert reruns.changes(rerun) == [(Outcome.BIRD, Outcome.BICYCLE, 15)]
    assert apply(rerun, now) == 15
    rerun.refresh_from_db()
    assert (rerun.state, rerun.ended_at, rerun.ended_by.username) == (RerunState.APPLIED, now, "olga")  # type: ignore[union-attr]
    assert in_force() == {(number, Outcome.BICYCLE, rerun.pk): 5 for number in (1, 2, 3)}
    assert Prediction.objects.count() == 30, "the older ones stay in the record"
    assert reruns.changes(rerun) == [(Outcome.BIRD, Outcome.BICYCLE, 15)], "what it changed can still be read"
    # From here on the ordinary sweep goes on.
    assert tables.settled_items().count() == 0, "a release waits for the sweep"
    assert breaks_record(now=now) == 3
    assert birds <= set(Break.objects.values_list("image", flat=True)), "new confident mistakes are breaks"
    assert tables.settled_items().count() == 15
    assert set(tables.official_predictions().values_list("rerun", flat=True)) == {rerun.pk}


def test_a_break_that_rested_on_a_replaced_answer_stays_a_fact(answered: Defense, now: datetime) -> None:
    breaks_record(now=now)
    old = set(Break.objects.values_list("pk", flat=True))
    rerun = start(answered, now)
    cast.work_all(now, find_runner=saying(Outcome.ABSTAIN))
    apply(rerun, now)
    breaks_record(now=now)
    assert old and set(Break.objects.values_list("pk", flat=True)) == old


def test_a_second_rerun_replaces_the_first(answered: Defense, now: datetime) -> None:
    first = start(answered, now)
    cast.work_all(now, find_runner=saying(Outcome.BICYCLE))
    apply(first, now)
    second = start(answered, now, scope=Scope("One run.", run=Run.objects.get(rerun=first, round=2).pk))
    cast.work_all(now, find_runner=saying(Outcome.ABSTAIN))
    apply(second, now)
    assert in_force() == {
        (1, Outcome.BICYCLE, first.pk): 5, (2, Outcome.ABSTAIN, second.pk): 5, (3, Outcome.BICYCLE, first.pk): 5,
    }  # fmt: skip
    assert selectors.spread(selectors.predictions_in_force()).labels == 5


def test_answers_replaced_before_anybody_looked_break_nothing(answered: Defense, now: datetime) -> None:
    rerun = start(answered, now)
    cast.work_all(now, find_runner=saying(Outcome.ABSTAIN))
    apply(rerun, now)
    breaks_record(now=now)
    assert not Break.objects.exists()


@pytest.mark.parametrize("work", [0, 1])
def test_it_is_not_applied_while_answers_are_to_come(work: int, answered: Defense, now: datetime) -> None:
    rerun, before = start(answered, now), in_force()
    if work:
        services.run_claim(worker="one", now=now)
    with pytest.raises(Conflict, match="15 answers are still to come"):
        apply(rerun, now)
    assert (in_force(), Superseded.objects.count()) == (before, 0)


def test_it_is_not_applied_while_runs_are_dead_and_may_be_tried_again(answered: Defense, now: datetime) -> None:
    rerun = start(answered, now)
    Run.objects.filter(rerun=rerun, round=3).update(tries=2)
    cast.work_all(now, find_runner=failing(Fault.PLATFORM))
    Run.objects.filter(rerun=rerun, state=RunState.QUEUED).update(state=RunState.DEAD)
    with pytest.raises(Conflict, match="15 answers gave up"):
        apply(rerun, now)
    assert services.runs_retry(now=now) == Run.objects.filter(rerun=rerun).count()
    cast.work_all(now, find_runner=saying(Outcome.ABSTAIN))
    assert apply(rerun, now) == 15


def test_where_the_defense_itself_fails_the_older_answers_stay_and_the_others_are_applied(
    answered: Defense, now: datetime
) -> None:
    """Its own fault is final and no mistake (R30): one picture that makes it fail never stops a re-run."""
    rerun, before = start(answered, now), in_force()
    failed = Run.objects.filter(rerun=rerun, round=3)
    failed.update(state=RunState.DEAD, fault=Fault.BATCH_TIMEOUT)
    cast.work_all(now, find_runner=saying(Outcome.ABSTAIN))
    left = reruns.progress(rerun, now=now)
    assert (left.failed, left.dead, left.done) == (5, 0, 10)
    assert apply(rerun, now) == 10
    assert (in_force().total(), (in_force() & before).total()) == (15, 5)


def test_it_is_stopped_and_goes_on_later(answered: Defense, olga: User, now: datetime) -> None:
    rerun = start(answered, now)
    held = services.run_claim(worker="one", now=now)
    assert held is not None
    assert reruns.rerun_stop(rerun_id=rerun.pk, by=olga, now=now) == 2
    found = reruns.progress(rerun, now=now)
    assert (found.running, found.stopped, found.waiting) == (5, 10, 0), "what runs now is let to its end"
    with pytest.raises(Conflict, match="are stopped"):
        apply(rerun, now)
    with pytest.raises(Conflict, match="nothing to stop"):
        reruns.rerun_stop(rerun_id=rerun.pk, by=olga, now=now)
    assert services.runs_retry(now=now) == 0, "trying dead runs again does not start what was stopped"
    assert not selectors.dead_runs().exists()
    assert [group.runs for group in run_groups() if group.again] == [1], "nor does it look like trouble"
    assert reruns.rerun_go_on(rerun_id=rerun.pk, by=olga, now=now) == 2
    with pytest.raises(Conflict, match="goes on by itself"):
        reruns.rerun_go_on(rerun_id=rerun.pk, by=olga, now=now)
    services.runs_reclaim(now=now + timedelta(minutes=5))
    cast.work_all(now + timedelta(minutes=5), find_runner=saying(Outcome.ABSTAIN))
    assert apply(rerun, now) == 15


def test_cancelled_it_changes_nothing_and_nobody_works_on_it(answered: Defense, now: datetime) -> None:
    before = in_force()
    rerun = start(answered, now)
    held = services.run_claim(worker="one", now=now)
    assert held is not None
    by = User.objects.get(username="olga")
    reruns.rerun_cancel(rerun_id=rerun.pk, by=by, now=now)
    with pytest.raises(DomainError, match="taken over"):
        services.run_finish(held, [], device="cpu", now=now)
    assert cast.work_all(now) == 0
    assert services.runs_retry(now=now) == 0
    assert (in_force(), selectors.dead_runs().count()) == (before, 0)
    assert not [group for group in run_groups() if group.again], "the figures leave it out"
    for refused in (lambda: apply(rerun, now), lambda: reruns.rerun_go_on(rerun_id=rerun.pk, by=by, now=now)):
        with pytest.raises(Conflict, match="was cancelled"):
            refused()
    assert start(answered, now).state == RerunState.RUNNING, "another one may follow"


def test_one_at_a_time_for_a_defense(answered: Defense, now: datetime) -> None:
    start(answered, now)
    with pytest.raises(Conflict, match="under way"):
        start(answered, now)
    assert Rerun.objects.count() == 1


REFUSED = [
    (ALL, "  ", InvalidInput, "Give the reason", "a reason is part of the record"),
    (ALL, "x" * 1001, InvalidInput, "at most 1,000", "of a length that a page can show"),
    (Scope("x", device="none"), "why", Conflict, "No answer of this defense", "nothing is meant"),
    (Scope("x", run=0), "why", InvalidInput, "no run with this number", "no such run"),
]


@pytest.mark.parametrize(("scope", "reason", "kind", "words", "why"), REFUSED, ids=[row[4] for row in REFUSED])
def test_what_is_refused_leaves_nothing(
    scope: Scope, reason: str, kind: type[Exception], words: str, why: str, answered: Defense, now: datetime
) -> None:
    with pytest.raises(kind, match=words):
        start(answered, now, scope=scope, reason=reason)
    assert (Rerun.objects.count(), Run.objects.count()) == (0, 3), why


def test_only_what_is_in_force_is_run_again(answered: Defense, now: datetime) -> None:
    Defense.objects.filter(pk=answered.pk).update(retired_at=now)
    answered.refresh_from_db()
    with pytest.raises(Conflict, match="in force"):
        start(answered, now)


class TestOneRun:
    """A run that gave up for good may be asked again; what may still answer by itself may not."""

    def dead(self, now: datetime, fault: Fault) -> tuple[Defense, Run]:
        (defense,) = cast.publish(now, NAME)
        cast.valid_pictures(1)
        cast.plan(now, policy=Policy(image_size=cast.SIZE, batch_size=4, evaluation_runs=1))
        cast.work_all(now, find_runner=failing(fault))
        Run.objects.update(state=RunState.DEAD)
        return defense, Run.objects.get()

    def test_the_defense_s_own_fault_is_over_when_a_rerun_got_an_answer(self, now: datetime) -> None:
        defense, run = self.dead(now, Fault.CRASHED)
        assert tables.settled_items().count() == 1
        assert reruns.rerun_preview(defense, Scope("x", run=run.pk)).unanswered == 1
        rerun = start(defense, now, scope=Scope("One run.", run=run.pk))
        cast.work_all(now, find_runner=saying(Outcome.ABSTAIN))
        assert reruns.changes(rerun) == [(None, Outcome.ABSTAIN, 1)]
        assert apply(rerun, now) == 0, "there was nothing to take the place of"
        breaks_record(now=now)
        assert tables.settled_items().get().rerun_id == rerun.pk, "the answer stands, the fault is over"
        assert in_force() == {(1, Outcome.ABSTAIN, rerun.pk): 1}

    def test_the_platform_s_fault_is_tried_again_where_it_stands(self, now: datetime) -> None:
        defense, run = self.dead(now, Fault.PLATFORM)
        with pytest.raises(Conflict, match="try it again"):
            reruns.rerun_preview(defense, Scope("x", run=run.pk))

    def test_a_run_of_a_rerun_that_is_not_applied_counts_for_nothing(self, answered: Defense, now: datetime) -> None:
        rerun = start(answered, now)
        run = Run.objects.filter(rerun=rerun).first()
        assert run is not None
        with pytest.raises(Conflict, match="not applied"):
            reruns.rerun_preview(answered, Scope("x", run=run.pk))


def _fail_at(sql_start: str, nth: int) -> Any:
    seen = []

    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(sql_start):
            seen.append(1)
            if len(seen) == nth:
                raise DatabaseError("the server went away")
        return execute(sql, params, many, context)

    return wrapper


@pytest.mark.parametrize(
    ("statement", "nth", "why"),
    [
        ('INSERT INTO "scoring_superseded"', 2, "in the middle of the answers"),
        ('UPDATE "scoring_rerun"', 1, "at the last step"),
    ],
)
def test_a_crash_in_the_middle_of_applying_leaves_nothing(
    statement: str, nth: int, why: str, answered: Defense, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reruns, "_ROWS_AT_ONCE", 4)
    rerun = start(answered, now)
    cast.work_all(now, find_runner=saying(Outcome.ABSTAIN))
    before = in_force()
    with connection.execute_wrapper(_fail_at(statement, nth)), pytest.raises(DatabaseError), transaction.atomic():
        apply(rerun, now)
    rerun.refresh_from_db()
    assert (in_force(), Superseded.objects.count(), rerun.state) == (before, 0, RerunState.RUNNING), why
    assert apply(rerun, now) == 15


def test_the_database_keeps_what_was_replaced(answered: Defense, now: datetime) -> None:
    rerun = start(answered, now)
    cast.work_all(now, find_runner=saying(Outcome.ABSTAIN))
    apply(rerun, now)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        Superseded.objects.all().delete()


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("work", [reruns.rerun_apply, reruns.rerun_cancel], ids=["two apply", "one cancels"])
def test_of_two_who_end_it_at_once_one_does(work: Any, now: datetime) -> None:
    (defense,) = cast.publish(now, NAME)
    cast.valid_pictures(4)
    cast.plan(now)
    cast.work_all(now, find_runner=saying(Outcome.BIRD))
    rerun = start(defense, now)
    cast.work_all(now, find_runner=saying(Outcome.BICYCLE))
    by, together = User.objects.get(), Barrier(2)

    def end(do: Any) -> str:
        together.wait()
        try:
            do(rerun_id=rerun.pk, by=by, now=now)
            return "done"
        except Conflict as refused:
            return refused.code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(end, [reruns.rerun_apply, work])) == ["done", "rerun_over"]
    rerun.refresh_from_db()
    applied = rerun.state == RerunState.APPLIED
    assert Superseded.objects.count() == (12 if applied else 0)
    assert sum(in_force().values()) == 12


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_a_run_that_is_parted_while_its_re_run_is_cancelled_leaves_nothing_to_work_on(now: datetime) -> None:
    (defense,) = cast.publish(now, NAME)
    cast.valid_pictures(4)
    cast.plan(now)
    cast.work_all(now)
    rerun = start(defense, now)
    run = services.run_claim(worker="one", now=now)
    assert run is not None
    by, begun = User.objects.get(), Event()

    def part() -> str:
        begun.set()
        try:
            return str(services.run_part(run, selectors.run_items(run)[:2], Fault.CRASHED, "ended", now=now))
        except LeaseLost as lost:
            return lost.code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            reruns.rerun_cancel(rerun_id=rerun.pk, by=by, now=now)
            parting = pool.submit(part)
            begun.wait()
            assert not wait([parting], timeout=1).done, "it waits for who cancels"
        assert parting.result() == "lease_lost"
    assert not Run.objects.filter(state=RunState.QUEUED).exists()


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_of_two_who_start_one_at_once_one_does(now: datetime) -> None:
    (defense,) = cast.publish(now, NAME)
    cast.valid_pictures(4)
    cast.plan(now)
    cast.work_all(now)
    by, together = factories.user("olga", "organizers"), Barrier(2)

    def begin(_: int) -> str:
        together.wait()
        try:
            reruns.rerun_start(defense=defense, scope=ALL, reason="why", by=by, now=now)
            return "done"
        except Conflict as refused:
            return refused.code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(begin, [1, 2])) == ["done", "rerun_under_way"]
    assert [(each.state, len(each.kinds)) for each in Rerun.objects.all()] == [(RerunState.PREPARING, 3)]
