"""Services and queries of re-runs: predictions repeated as a set that replaces the old ones at once.

Until a re-run is applied its answers count for nothing. Its runs are planned by a sweep (`scoring.rerun_preparation`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, F, QuerySet, Subquery

from common.audit.trail import Subject, audit
from common.errors import Conflict
from common.typed import clean_words
from scoring.enums import DefenseAnswer, Fault, RerunState, RunState
from scoring.models import Defense, Prediction, Rerun, Run, RunItem, SupersededPrediction
from scoring.rerun_preparation import rerun_advance, runs_queue
from scoring.rerun_scope import Scope, frozen_scope, items_in_scope, kinds
from scoring.rules import DEFENSE_FAULTS
from scoring.selectors import SAME_QUESTION, predictions_in_force, throughput
from scoring.services import PICTURES_PER_RUN

MAX_REASON_CHARACTERS = 1_000
_ROWS_AT_ONCE = 1_000
_STOPPED = "The re-run was stopped by an organizer."


@dataclass(frozen=True, slots=True)
class RerunPreview:
    """The cost of a re-run: `answers` are pictures times rounds.

    `seconds` is what one scorer needs by the measured time of a batch, None when none was measured; `labels` and
    `devices` count the present answers, and `unanswered` the missing ones.
    """

    pictures: int
    answers: int
    unanswered: int
    runs: int
    batches: int
    seconds: float | None
    labels: tuple[tuple[DefenseAnswer, int], ...]
    devices: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class RerunProgress:
    """How far a re-run is. All counts but `runs` are answers; `rate` is answers per second so far.

    `stopped` wait for an organizer to resume, `dead` are in runs that gave up, and for `failed` the defense itself gave
    no answer, which is final (R30); `finish` is when the rest is done at this rate.
    """

    runs: int
    answers: int
    done: int
    waiting: int
    running: int
    stopped: int
    dead: int
    failed: int
    rate: float | None
    finish: datetime | None


@dataclass(frozen=True, slots=True)
class RerunPreparation:
    """How far the plan of a re-run is: `planned` of `wanted` answers."""

    planned: int
    wanted: int


# Preview --------------------------------------------------------------------------------------------------------------


def devices_of(defense: Defense) -> list[str]:
    """Return the devices that gave the defense's answers in force, in the order of their names."""
    devices = predictions_in_force().filter(defense=defense).order_by("device").values_list("device", flat=True)
    return list(devices.distinct())


def rerun_preview(defense: Defense, scope: Scope) -> RerunPreview:
    """Return the cost of a re-run of `scope`; errors as of `items_in_scope`."""
    items = items_in_scope(defense, scope)
    found = kinds(items)
    runs = [size for count in found.values() for size in _run_sizes(count)]
    batches = sum(-(-size // kind.batch_size) for kind, count in found.items() for size in _run_sizes(count))
    measured = throughput(Prediction.objects.filter(defense=defense))
    answers = Prediction.objects.filter(item__in=items)
    labels = answers.order_by("answer").values_list("answer").annotate(count=Count("pk"))
    devices = answers.order_by("device").values_list("device").annotate(count=Count("pk"))
    counted = tuple((DefenseAnswer(answer), count) for answer, count in labels)
    return RerunPreview(
        pictures=items.values("image").distinct().count(),
        answers=sum(runs),
        unanswered=sum(runs) - sum(count for _, count in counted),
        runs=len(runs),
        batches=batches,
        seconds=batches * measured.batch_ms / 1000 if measured else None,
        labels=counted,
        devices=tuple((device, count) for device, count in devices),
    )


def _run_sizes(answers: int) -> list[int]:
    whole, rest = divmod(answers, PICTURES_PER_RUN)
    return [PICTURES_PER_RUN] * whole + ([rest] if rest else [])


# Starting -------------------------------------------------------------------------------------------------------------


def rerun_start(*, defense: Defense, scope: Scope, reason: str, by: User, now: datetime) -> Rerun:
    """Start a re-run of the answers of `scope` that are in force now; a sweep plans its runs.

    InvalidInput without a reason; Conflict where there is nothing to repeat, where another re-run of the defense is
    under way, and for a defense that is not in force.
    """
    ask = "Give the reason: it stays on record."
    said = f"{scope.words} {clean_words(reason, field='reason', ask=ask, max_length=MAX_REASON_CHARACTERS)}"
    _refuse_out_of_force(defense)
    try:
        with transaction.atomic():
            # First of all: as long as this row is there, no other re-run changes which answers are in force.
            rerun = Rerun.objects.create(
                defense=defense, reason=said, state=RerunState.PREPARING, asked_by=by, asked_at=now
            )
            _note_what_is_meant(rerun, scope)
            _record("rerun.ask", rerun, by, now, why=said)
    except IntegrityError:
        raise Conflict(
            "Another re-run of this defense is under way. Apply or cancel it first.", "rerun_under_way"
        ) from None
    return rerun


def _note_what_is_meant(rerun: Rerun, scope: Scope) -> None:
    still = frozen_scope(rerun.defense, scope)
    found = kinds(items_in_scope(rerun.defense, still))
    if not found:
        raise Conflict("No answer of this defense is meant by that. Choose others.", "nothing_to_rerun")
    rerun.scope, rerun.kinds = still.to_record(), [[*kind, answers] for kind, answers in found.items()]
    rerun.save(update_fields=["scope", "kinds"])


def _refuse_out_of_force(defense: Defense) -> None:
    if defense.published_at is None or defense.retired_at is not None:
        raise Conflict("Only a published defense whose version is in force is run again.", "not_in_force")
    if defense.copied:
        raise Conflict("This defense was read from a release: its program is not here to be run.", "a_copy")


# While it is under way ------------------------------------------------------------------------------------------------


@transaction.atomic
def rerun_stop(*, rerun_id: int, by: User, now: datetime) -> int:
    """Take waiting runs out of the queue until `rerun_resume`; return how many. Active runs continue to their end.

    Conflict when the re-run is being prepared, is over, or has no waiting run.
    """
    rerun = _begun_under_lock(rerun_id)
    waiting = Run.objects.filter(rerun=rerun, state=RunState.QUEUED)
    stopped = waiting.update(state=RunState.DEAD, fault=Fault.CANCELLED, fault_text=_STOPPED, finished_at=now)
    if not stopped:
        raise Conflict("No run of it waits: there is nothing to stop.", "nothing_waits")
    _record("rerun.stop", rerun, by, now)
    return stopped


@transaction.atomic
def rerun_resume(*, rerun_id: int, by: User, now: datetime) -> int:
    """Queue the stopped runs again; return how many.

    Conflict when the re-run is being prepared, is over, or was not stopped.
    """
    rerun = _begun_under_lock(rerun_id)
    queued = runs_queue(rerun)
    if not queued:
        raise Conflict("No run of it is stopped: it goes on by itself.", "nothing_stopped")
    _record("rerun.go_on", rerun, by, now)
    return queued


@transaction.atomic
def rerun_cancel(*, rerun_id: int, by: User, now: datetime) -> None:
    """End a re-run without a change: the older answers stay in force, the new ones stay on record and never count.

    A scorer in the middle of a run finds its lease gone, and a sweep in the middle of the plan that nobody wants it.
    Conflict when the re-run is over.
    """
    rerun = _under_lock(rerun_id)
    still_open = Run.objects.filter(rerun=rerun, state__in=(RunState.QUEUED, RunState.RUNNING))
    ended = {"fault": Fault.CANCELLED, "fault_text": "The re-run was cancelled.", "finished_at": now}
    still_open.update(state=RunState.DEAD, lease_until=None, **ended)
    _end("rerun.cancel", rerun, RerunState.CANCELLED, by, now)


@transaction.atomic
def rerun_apply(*, rerun_id: int, by: User, now: datetime) -> int:
    """Replace the answers in force by those of a re-run, all or none; return how many were replaced.

    Where the defense itself failed the older answer stays in force. Conflict while it is being prepared, while runs
    of it are open, stopped or dead, and when it is over: of two simultaneous calls, one applies it.
    """
    rerun = _begun_under_lock(rerun_id)
    _refuse_unfinished(progress(rerun, now=now))
    before = _in_force_beside().values("pk")[:1]
    answers = Prediction.objects.filter(rerun=rerun).annotate(old=Subquery(before)).exclude(old=None)
    rows = (
        SupersededPrediction(prediction_id=old, by_id=new, rerun=rerun) for old, new in answers.values_list("old", "pk")
    )
    replaced = 0
    while chunk := list(islice(rows, _ROWS_AT_ONCE)):
        replaced += len(SupersededPrediction.objects.bulk_create(chunk))
    _end("rerun.apply", rerun, RerunState.APPLIED, by, now)
    return replaced


def _record(action: str, rerun: Rerun, by: User, now: datetime, why: str = "") -> None:
    subject: Subject = {"defense": [rerun.defense.public_id], "rerun": [rerun.pk]}
    audit(action, by=by, subject=subject, why=why, now=now)


def _under_lock(rerun_id: int) -> Rerun:
    rerun = Rerun.objects.select_for_update().get(pk=rerun_id)
    if rerun.state == RerunState.APPLIED:
        raise Conflict("This re-run is applied already. Nothing was changed.", "rerun_over")
    if rerun.state == RerunState.CANCELLED:
        raise Conflict("This re-run was cancelled. Nothing was changed.", "rerun_over")
    return rerun


def _begun_under_lock(rerun_id: int) -> Rerun:
    rerun = _under_lock(rerun_id)
    if rerun.state == RerunState.PREPARING:
        raise Conflict(
            "Nothing was changed: this re-run is being prepared. Wait until its runs are in the queue, or cancel it.",
            "rerun_preparing",
        )
    return rerun


def _refuse_unfinished(left: RerunProgress) -> None:
    for count, words, do in (
        (left.dead, "gave up", "Try those runs again from the page of the scoring queue, or cancel the re-run"),
        (left.stopped, "are stopped", "Let the re-run go on, and apply it when it is finished"),
        (left.waiting + left.running, "are still to come", "Apply the re-run when it is finished"),
    ):
        if count:
            raise Conflict(f"Nothing was changed: {count:,} answers {words}. {do}.", "rerun_unfinished")


def _end(action: str, rerun: Rerun, state: RerunState, by: User, now: datetime) -> None:
    rerun_advance(rerun, state, ended_by=by, ended_at=now)
    _record(action, rerun, by, now)


# Queries --------------------------------------------------------------------------------------------------------------


def preparations(reruns: Iterable[Rerun]) -> dict[int, RerunPreparation]:
    """Return the planning progress of those `reruns` that are being prepared, by the number of the re-run."""
    preparing = [rerun for rerun in reruns if rerun.state == RerunState.PREPARING]
    items = RunItem.objects.filter(rerun__in=preparing).order_by()
    planned = dict(items.values_list("rerun").annotate(count=Count("pk"))) if preparing else {}
    return {
        rerun.pk: RerunPreparation(planned.get(rerun.pk, 0), sum(answers for *_, answers in rerun.kinds))
        for rerun in preparing
    }


def progress(rerun: Rerun, *, now: datetime) -> RerunProgress:
    """Return how far a re-run is at `now`."""
    items = RunItem.objects.filter(rerun=rerun).order_by()
    rows = items.values_list("run__state", "run__fault").annotate(answers=Count("pk"))
    counts: dict[str, int] = dict.fromkeys(("done", "waiting", "running", "stopped", "dead", "failed"), 0)
    for state, fault, answers in rows:
        counts[_standing(state, fault)] += answers
    total = sum(counts.values())
    seconds = ((rerun.ended_at or now) - rerun.asked_at).total_seconds()
    rate = counts["done"] / seconds if counts["done"] and seconds > 0 else None
    left = counts["waiting"] + counts["running"]
    return RerunProgress(
        runs=Run.objects.filter(rerun=rerun).count(),
        answers=total,
        rate=rate,
        finish=now + (now - rerun.asked_at) * left / counts["done"] if rate and left else None,
        **counts,
    )


def _standing(state: str, fault: str) -> str:
    if state == RunState.DEAD:
        return "stopped" if fault == Fault.CANCELLED else "failed" if fault in DEFENSE_FAULTS else "dead"
    return {RunState.QUEUED: "waiting", RunState.RUNNING: "running"}.get(RunState(state), "done")


def _in_force_beside() -> QuerySet[Prediction]:
    """Return the answer in force to the same question as an outer answer's."""
    return predictions_in_force().filter(**SAME_QUESTION)


def paired_answers(rerun: Rerun) -> QuerySet[Any]:
    """Return the answers of a re-run so far with `old_answer`, which they replaced or would replace, or None."""
    answers = Prediction.objects.filter(rerun=rerun)
    if rerun.state == RerunState.APPLIED:
        return answers.annotate(old_answer=F("supersedes__prediction__answer"))
    return answers.annotate(old_answer=Subquery(_in_force_beside().values("answer")[:1]))


def answers_to_replace(rerun: Rerun) -> QuerySet[Prediction]:
    """Return the answers in force that a running re-run would replace, whether or not it has the new answer."""
    asked = RunItem.objects.filter(rerun=rerun, **SAME_QUESTION)
    return predictions_in_force().filter(Exists(asked), defense=rerun.defense_id)


def answer_changes(rerun: Rerun) -> list[tuple[DefenseAnswer | None, DefenseAnswer, int]]:
    """Return (old answer, new answer, how many) of a re-run so far; the old one is None where there was none."""
    rows = paired_answers(rerun).order_by("old_answer", "answer").values_list("old_answer", "answer")
    counted = rows.annotate(count=Count("pk"))
    return [(None if old is None else DefenseAnswer(old), DefenseAnswer(new), count) for old, new, count in counted]


def changed_answers(rerun: Rerun) -> QuerySet[Any]:
    """Return the answers of a re-run that differ from those before them, with their pictures, newest last."""
    changed = paired_answers(rerun).exclude(old_answer=F("answer")).exclude(old_answer=None)
    return changed.select_related("image").order_by("pk")
