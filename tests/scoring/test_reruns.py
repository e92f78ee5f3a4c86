"""Answers given again as a set: chosen, stopped, and put in the place of the older ones all at once or not."""

import json
from collections import Counter
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction

from common.errors import Conflict, DomainError, InvalidInput
from contest.core.breaks import breaks_record
from contest.core.models import Break
from contest.operations.stages import run_groups
from labeling.models import Image
from policy.numbers import Policy
from scoring import leases, reruns, selectors, services
from scoring.enums import DefenseAnswer, Fault, RerunState, RunState
from scoring.models import Defense, Prediction, Rerun, Run, SupersededPrediction
from scoring.rerun_scope import Scope, frozen_scope, items_in_scope
from scoring.runner import BatchAnswers, RunnerFault
from scoring.selectors import official_predictions, settled_items
from tests import factories
from tests.scoring import cast

pytestmark = pytest.mark.django_db


NAME = "numpy-statistics"


ALL = Scope("All answers.")


BIRD, BICYCLE, ABSTAIN = DefenseAnswer.BIRD, DefenseAnswer.BICYCLE, DefenseAnswer.ABSTAIN


def saying(answer: DefenseAnswer) -> Any:
    """How to find runners whose defenses give one answer to everything."""
    return cast.answering(lambda found: BatchAnswers(np.full_like(found.labels, answer), found.scores))


def failing(fault: Fault) -> Any:
    """How to find runners whose defenses fail on everything."""
    return cast.answering(cast.raising(RunnerFault(fault, "it failed")))


def start(defense: Defense, now: datetime, *, scope: Scope = ALL, reason: str = "A faulty card.") -> Rerun:
    by = User.objects.filter(username="olga").first() or factories.user("olga", "organizers")
    return cast.begun(defense, by, now, scope=scope, reason=reason)


def again(defense: Defense, now: datetime, answer: DefenseAnswer, **values: Any) -> Rerun:
    """A re-run that gave this answer to everything, and is not applied yet."""
    rerun = start(defense, now, **values)
    cast.work_all(now, find_runner=saying(answer))
    return rerun


def apply(rerun: Rerun, now: datetime) -> int:
    return reruns.rerun_apply(rerun_id=rerun.pk, by=User.objects.get(username="olga"), now=now)


def in_force() -> Counter[tuple[int, int, int | None]]:
    """How often each (round, answer, re-run) is in force."""
    return Counter(selectors.predictions_in_force().values_list("round", "answer", "rerun"))


@pytest.fixture(scope="module")
def answered(module_world: Any) -> Defense:
    """Five birds and bicycles that the defense took for birds, in three rounds."""
    return cast.answered(factories.NOW, NAME, pictures=5, find_runner=saying(BIRD))[0]


def test_the_preview_says_what_it_would_take(answered: Defense) -> None:
    found = reruns.rerun_preview(answered, ALL)
    assert (found.pictures, found.answers, found.unanswered, found.runs, found.batches) == (5, 15, 0, 3, 6)
    assert (found.labels, [count for _, count in found.devices]) == (((BIRD, 15),), [15])
    assert found.seconds is not None and 0 < found.seconds < 60


def broken() -> set[tuple[int, ...]]:
    return set(Break.objects.values_list("pk", "image", "prediction"))


def test_its_answers_count_for_nothing_until_it_is_applied(answered: Defense, now: datetime) -> None:
    breaks_record(now=now)
    before = in_force(), broken()
    rerun = again(answered, now, BICYCLE)
    assert Prediction.objects.filter(rerun=rerun, answer=BICYCLE).count() == 15
    assert breaks_record(now=now) == 0, "nobody looks at them for breaks"
    assert (in_force(), broken()) == before
    assert selectors.is_randomised(answered) is False
    assert set(official_predictions().values_list("rerun", flat=True)) == {None}
    assert settled_items().count() == 15


@pytest.mark.both("answers in force are found with SQL of their own; what was replaced is kept by a trigger")
def test_applied_it_takes_their_place_all_at_once(answered: Defense, now: datetime) -> None:
    breaks_record(now=now)
    birds = {image.pk for image in Image.objects.filter(rulings__label="bird")}
    rerun = again(answered, now, BICYCLE)
    changed = reruns.answer_changes(rerun)
    assert (changed, apply(rerun, now)) == ([(BIRD, BICYCLE, 15)], 15)
    rerun.refresh_from_db()
    assert (rerun.state, rerun.ended_at, rerun.ended_by.username) == (RerunState.APPLIED, now, "olga")  # type: ignore[union-attr]
    assert in_force() == {(number, BICYCLE, rerun.pk): 5 for number in (1, 2, 3)}
    assert Prediction.objects.count() == 30, "the older ones stay in the record"
    assert reruns.answer_changes(rerun) == changed, "what it changed can still be read"
    # From here on the ordinary sweep goes on.
    assert settled_items().count() == 0, "a release waits for the sweep"
    assert breaks_record(now=now) == 3
    assert birds <= set(Break.objects.values_list("image", flat=True)), "new confident mistakes are breaks"
    assert settled_items().count() == 15
    assert set(official_predictions().values_list("rerun", flat=True)) == {rerun.pk}
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        SupersededPrediction.objects.all().delete()


@pytest.mark.parametrize(("looked", "breaks"), [(True, 2), (False, 0)], ids=["it stays a fact", "there never was one"])
def test_a_break_rests_on_an_answer_that_was_in_force_when_it_was_recorded(
    looked: bool, breaks: int, answered: Defense, now: datetime
) -> None:
    if looked:
        breaks_record(now=now)
    old = broken()
    apply(again(answered, now, ABSTAIN), now)
    breaks_record(now=now)
    assert broken() == old and len(old) == breaks


def test_a_second_rerun_replaces_the_first(answered: Defense, now: datetime) -> None:
    first = again(answered, now, BICYCLE)
    apply(first, now)
    second = again(answered, now, ABSTAIN, scope=Scope("One run.", run=Run.objects.get(rerun=first, round=2).pk))
    apply(second, now)
    assert in_force() == {(1, BICYCLE, first.pk): 5, (2, ABSTAIN, second.pk): 5, (3, BICYCLE, first.pk): 5}
    assert selectors.spread_between_rounds(selectors.predictions_in_force()).labels == 5


def test_it_is_not_applied_while_answers_are_to_come(answered: Defense, now: datetime) -> None:
    rerun, before = start(answered, now), in_force()
    for _ in ("all wait", "one is worked on"):
        with pytest.raises(Conflict, match="15 answers are still to come"):
            apply(rerun, now)
        services.run_claim(worker="one", now=now)
    assert (in_force(), SupersededPrediction.objects.count()) == (before, 0)


def test_it_is_not_applied_while_runs_are_dead_and_may_be_tried_again(answered: Defense, now: datetime) -> None:
    rerun = start(answered, now)
    runs = Run.objects.filter(rerun=rerun)
    runs.update(tries=2)
    cast.work_all(now, find_runner=failing(Fault.PLATFORM))
    assert set(runs.values_list("state", flat=True)) == {RunState.DEAD}
    with pytest.raises(Conflict, match="15 answers gave up"):
        apply(rerun, now)
    assert services.runs_retry(now=now) == runs.count()
    cast.work_all(now, find_runner=saying(ABSTAIN))
    assert apply(rerun, now) == 15


def test_where_the_defense_itself_fails_the_older_answers_stay_and_the_others_are_applied(
    answered: Defense, now: datetime
) -> None:
    """Its own fault is final and no mistake (R30): one picture that makes it fail never stops a re-run."""
    rerun, before = start(answered, now), in_force()
    Run.objects.filter(rerun=rerun, round=3).update(state=RunState.DEAD, fault=Fault.BATCH_TIMEOUT)
    cast.work_all(now, find_runner=saying(ABSTAIN))
    left = reruns.progress(rerun, now=now)
    assert (left.failed, left.dead, left.done, apply(rerun, now)) == (5, 0, 10, 10)
    assert (in_force().total(), (in_force() & before).total()) == (15, 5)


def test_it_is_stopped_and_goes_on_later(answered: Defense, olga: User, now: datetime) -> None:
    rerun, later = start(answered, now), now + timedelta(minutes=5)
    values = {"rerun_id": rerun.pk, "by": olga, "now": now}
    assert services.run_claim(worker="one", now=now) is not None
    assert reruns.rerun_stop(**values) == 2
    found = reruns.progress(rerun, now=now)
    assert (found.running, found.stopped, found.waiting) == (5, 10, 0), "what runs now is let to its end"
    for refused, words in ((reruns.rerun_apply, "are stopped"), (reruns.rerun_stop, "nothing to stop")):
        with pytest.raises(Conflict, match=words):
            refused(**values)
    assert services.runs_retry(now=now) == 0, "trying dead runs again does not start what was stopped"
    assert not selectors.dead_runs().exists()
    assert [group.runs for group in run_groups() if group.again] == [1], "nor does it look like trouble"
    assert reruns.rerun_resume(**values) == 2
    with pytest.raises(Conflict, match="goes on by itself"):
        reruns.rerun_resume(**values)
    leases.reclaim(Run, now=later)
    cast.work_all(later, find_runner=saying(ABSTAIN))
    assert apply(rerun, now) == 15


def test_cancelled_it_changes_nothing_and_nobody_works_on_it(answered: Defense, olga: User, now: datetime) -> None:
    before, rerun = in_force(), start(answered, now)
    assert (held := services.run_claim(worker="one", now=now)) is not None
    reruns.rerun_cancel(rerun_id=rerun.pk, by=olga, now=now)
    with pytest.raises(DomainError, match="taken over"):
        services.run_finish(held, [], device="cpu", now=now)
    assert (cast.work_all(now), services.runs_retry(now=now)) == (0, 0)
    assert (in_force(), selectors.dead_runs().count()) == (before, 0)
    assert not [group for group in run_groups() if group.again], "the figures leave it out"


REFUSED = [
    (ALL, "  ", InvalidInput, "Give the reason", "a reason is part of the record"),
    (ALL, "x" * 1001, InvalidInput, "at most 1,000", "of a length that a page can show"),
    (Scope("x", device="none"), "why", Conflict, "No answer of this defense", "nothing is meant"),
    (Scope("x", run=0), "why", InvalidInput, "no run with this number", "no such run"),
    (ALL, "why", Conflict, "in force", "only what is in force is run again"),
]


@pytest.mark.parametrize(("scope", "reason", "kind", "words", "why"), REFUSED, ids=[row[4] for row in REFUSED])
def test_what_is_refused_leaves_nothing(
    scope: Scope, reason: str, kind: type[Exception], words: str, why: str, answered: Defense, now: datetime
) -> None:
    if why == "only what is in force is run again":
        Defense.objects.update(retired_at=now)
        answered = Defense.objects.get(pk=answered.pk)
    with pytest.raises(kind, match=words):
        start(answered, now, scope=scope, reason=reason)
    assert (Rerun.objects.count(), Run.objects.count()) == (0, 3), why


def gave_up(now: datetime, fault: Fault) -> tuple[Defense, Run]:
    """Another defense, whose only run, of six pictures, ended with a fault for good."""
    Defense.objects.update(retired_at=now)
    (defense,) = cast.publish(now, "always-abstain")
    cast.valid_pictures(1, seed=8)
    cast.plan(now, policy=Policy(image_size=cast.SIZE, batch_size=8, evaluation_runs=1))
    cast.work_all(now, find_runner=failing(fault))
    Run.objects.filter(defense=defense).update(state=RunState.DEAD)
    return defense, Run.objects.get(defense=defense)


class TestOneRun:
    """A run that gave up for good may be asked again; what may still answer by itself may not."""

    def test_the_defense_s_own_fault_is_over_when_a_rerun_got_an_answer(self, answered: Defense, now: datetime) -> None:
        defense, run = gave_up(now, Fault.CRASHED)
        settled = settled_items().filter(defense=defense)
        assert settled.count() == 6
        assert reruns.rerun_preview(defense, Scope("x", run=run.pk)).unanswered == 6
        rerun = again(defense, now, ABSTAIN, scope=Scope("One run.", run=run.pk))
        assert reruns.answer_changes(rerun) == [(None, ABSTAIN, 6)]
        assert apply(rerun, now) == 0, "there was nothing to take the place of"
        breaks_record(now=now)
        assert list(settled.all().values_list("rerun", flat=True)) == [rerun.pk] * 6, "the fault is over"
        assert in_force()[1, ABSTAIN, rerun.pk] == 6

    def test_the_platform_s_fault_is_tried_again_where_it_stands(self, answered: Defense, now: datetime) -> None:
        defense, run = gave_up(now, Fault.PLATFORM)
        with pytest.raises(Conflict, match="try it again"):
            reruns.rerun_preview(defense, Scope("x", run=run.pk))

    def test_a_run_of_a_rerun_that_is_not_applied_counts_for_nothing(self, answered: Defense, now: datetime) -> None:
        rerun = start(answered, now)
        with pytest.raises(Conflict, match="not applied"):
            reruns.rerun_preview(answered, Scope("x", run=Run.objects.filter(rerun=rerun)[0].pk))


@pytest.mark.parametrize(
    ("statement", "nth", "why"),
    [
        ('INSERT INTO "scoring_supersededprediction"', 2, "in the middle of the answers"),
        ('UPDATE "scoring_rerun"', 1, "at the last step"),
    ],
)
def test_a_crash_in_the_middle_of_applying_leaves_nothing(
    statement: str, nth: int, why: str, answered: Defense, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reruns, "_ROWS_AT_ONCE", 4)
    rerun, before = again(answered, now, ABSTAIN), in_force()
    gone = cast.server_gone_at(statement, nth)
    with connection.execute_wrapper(gone), pytest.raises(DatabaseError), transaction.atomic():
        apply(rerun, now)
    rerun.refresh_from_db()
    assert (in_force(), SupersededPrediction.objects.count(), rerun.state) == (before, 0, RerunState.RUNNING), why
    assert apply(rerun, now) == 15


TOKYO = datetime(2026, 11, 20, 10, 0, tzinfo=ZoneInfo("Asia/Tokyo"))


NOW, DAY = factories.NOW, timedelta(days=1)


RECORDS = [
    (Scope("All answers."), "nothing narrows it"),
    (Scope("x", received=(TOKYO, TOKYO + timedelta(days=7))), "a week in the contest's zone"),
    (Scope("x", answered=(TOKYO, TOKYO + timedelta(microseconds=1))), "to the microsecond"),
    (Scope("x", device="NVIDIA <1>"), "a device"),
    (Scope("x", run=7), "a run"),
    (Scope("x", newest=0, unfinished=(3, 4)), "held still"),
]


@pytest.mark.parametrize(("scope", "why"), RECORDS, ids=[row[1] for row in RECORDS])
def test_a_scope_is_read_as_it_was_written(scope: Scope, why: str) -> None:
    assert Scope.from_record(json.loads(json.dumps(scope.to_record()))) == scope, why


SCOPES = [
    (lambda: Scope("x"), 15, 21, "all"),
    (lambda: Scope("x", received=(NOW, NOW + DAY)), 15, 21, "the week they came in"),
    (lambda: Scope("x", received=(NOW + 7 * DAY, NOW + 14 * DAY)), 0, 0, "another week"),
    (lambda: Scope("x", answered=(NOW, NOW + DAY)), 15, 21, "a span that is not over"),
    (lambda: Scope("x", answered=(NOW - DAY, NOW)), 0, 0, "half open: the end is not in it"),
    (lambda: Scope("x", device="no such card"), 0, 0, "a device that answered nothing"),
    (lambda: Scope("x", device=Prediction.objects.all()[0].device), 15, 21, "a device that goes on"),
    (lambda: Scope("x", run=Run.objects.order_by("pk")[1].pk), 5, 5, "one run"),
]


@pytest.mark.parametrize(("scope", "answers", "later", "why"), SCOPES, ids=[row[3] for row in SCOPES])
def test_an_organizer_chooses_which_answers_and_later_ones_are_not_meant(
    scope: Any, answers: int, later: int, why: str, answered: Defense
) -> None:
    meant: Scope = scope()
    assert reruns.rerun_preview(answered, meant).answers == answers, why
    still = frozen_scope(answered, meant)
    before = set(items_in_scope(answered, still))
    cast.answered_later(NOW, 2)
    assert (len(before), items_in_scope(answered, meant).count()) == (answers, later), why
    assert set(items_in_scope(answered, still)) == before, why
