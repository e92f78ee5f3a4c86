"""Answers given again as a set: planned, worked off like every run, and put in the place of the older ones at once.

Until a re-run is applied its answers count for nothing. A re-run that is being prepared, or whose preparation was cut
short, looks like one that came to nothing: its runs are dead and nothing of it counts, so that half a plan can be
neither worked on nor applied.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, F, OuterRef, QuerySet, Subquery

from common.errors import Conflict, InvalidInput
from scoring import plan, rules
from scoring.enums import Fault, Outcome, RerunState, RunState
from scoring.models import Defense, Prediction, Rerun, Run, RunItem, Superseded
from scoring.selectors import predictions_in_force
from scoring.services import PICTURES_PER_RUN
from scoring.throughput import throughput

MOST_REASON_CHARACTERS = 1_000
_ROWS_AT_ONCE = 1_000
_PREPARED = "The re-run was not begun."
_STOPPED = "The re-run was stopped by an organizer."


@dataclass(frozen=True, slots=True)
class Scope:
    """Which answers are given again, and the same in `words`: those in force, narrowed by everything that is set.

    `received` and `answered` are half-open spans of time: when the picture was received, when the answer came. `run`
    means everything that one run was asked, answered or not.
    """

    words: str
    received: tuple[datetime, datetime] | None = None
    answered: tuple[datetime, datetime] | None = None
    device: str = ""
    run: int | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """What a re-run would take: `answers` are pictures times rounds.

    `seconds` is what one scorer needs by the measured time of a batch, None when none was measured; `labels` and
    `devices` count the answers of now, and `unanswered` are those that have none.
    """

    pictures: int
    answers: int
    unanswered: int
    runs: int
    batches: int
    seconds: float | None
    labels: tuple[tuple[Outcome, int], ...]
    devices: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a re-run is. All counts but `runs` are answers; `rate` is answers per second so far.

    `stopped` wait for an organizer to go on, `dead` are in runs that gave up; `finish` is when the rest is done at
    this rate.
    """

    runs: int
    answers: int
    done: int
    waiting: int
    running: int
    stopped: int
    dead: int
    rate: float | None
    finish: datetime | None


class _Kind(NamedTuple):
    """Answers that may stand in one run: of one round, with one batch size, and of one size of pictures."""

    round: int
    batch_size: int
    fresh: bool
    width: int


_KIND = ("round", "run__batch_size", "run__fresh", "image__width")


# Choosing ------------------------------------------------------------------------------------------------------------


def items_in_scope(defense: Defense, scope: Scope) -> QuerySet[RunItem]:
    """Return the places in plans whose answers `scope` means; Conflict for a run that cannot be done again yet."""
    if scope.run is not None:
        return RunItem.objects.filter(run=_run_to_repeat(defense, scope.run))
    answers = predictions_in_force().filter(defense=defense)
    if scope.received:
        answers = answers.filter(image__received_at__gte=scope.received[0], image__received_at__lt=scope.received[1])
    if scope.answered:
        answers = answers.filter(predicted_at__gte=scope.answered[0], predicted_at__lt=scope.answered[1])
    if scope.device:
        answers = answers.filter(device=scope.device)
    return RunItem.objects.filter(prediction__in=answers)


def _run_to_repeat(defense: Defense, number: int) -> Run:
    run = Run.objects.select_related("rerun").filter(pk=number, defense=defense).first()
    if run is None:
        raise InvalidInput("This defense has no run with this number.", "invalid", field="run")
    if run.rerun is not None and run.rerun.state != RerunState.APPLIED:
        raise Conflict("This run belongs to a re-run that was not applied: its answers do not count.", "not_in_force")
    answered = run.state in (RunState.FINISHED, RunState.ASSESSED)
    final = run.state == RunState.DEAD and run.fault in rules.DEFENSE_FAULTS
    if not answered and not final:
        raise Conflict(
            "This run has no answers yet. Wait for it, or try it again from the page of the scoring queue.", "run_open"
        )
    return run


def devices_of(defense: Defense) -> list[str]:
    """Return the devices that gave the defense's answers in force, in the order of their names."""
    devices = predictions_in_force().filter(defense=defense).order_by("device").values_list("device", flat=True)
    return list(devices.distinct())


def rerun_preview(defense: Defense, scope: Scope) -> Preview:
    """Return what a re-run of `scope` would take; errors as of `items_in_scope`."""
    items = items_in_scope(defense, scope)
    kinds = _kinds(items)
    runs = [size for count in kinds.values() for size in _run_sizes(count)]
    batches = sum(-(-size // kind.batch_size) for kind, count in kinds.items() for size in _run_sizes(count))
    measured = throughput(Prediction.objects.filter(defense=defense))
    answers = Prediction.objects.filter(item__in=items)
    labels = answers.order_by("answer").values_list("answer").annotate(count=Count("pk"))
    devices = answers.order_by("device").values_list("device").annotate(count=Count("pk"))
    counted = tuple((Outcome(answer), count) for answer, count in labels)
    return Preview(
        pictures=items.values("image").distinct().count(),
        answers=sum(runs),
        unanswered=sum(runs) - sum(count for _, count in counted),
        runs=len(runs),
        batches=batches,
        seconds=batches * measured.batch_ms / 1000 if measured else None,
        labels=counted,
        devices=tuple((device, count) for device, count in devices),
    )


def _kinds(items: QuerySet[RunItem]) -> dict[_Kind, int]:
    rows = items.order_by(*_KIND).values_list(*_KIND).annotate(count=Count("pk"))
    return {_Kind(*kind): count for *kind, count in rows}


def _run_sizes(answers: int) -> list[int]:
    whole, rest = divmod(answers, PICTURES_PER_RUN)
    return [PICTURES_PER_RUN] * whole + ([rest] if rest else [])


# Starting ------------------------------------------------------------------------------------------------------------


def rerun_start(*, defense: Defense, scope: Scope, reason: str, by: User, now: datetime, rng: random.Random) -> Rerun:
    """Plan the answers of `scope` again, with fresh seeds and batches of the same size, and put the runs in the queue.

    Each run is planned in a transaction of its own, and all of them wait until the last one is there. InvalidInput
    without a reason; Conflict where there is nothing to do again, where another re-run of the defense is under way,
    and for a defense that is not in force.
    """
    said = f"{scope.words} {_checked(reason)}"
    _refuse_out_of_force(defense)
    items = items_in_scope(defense, scope)
    kinds = _kinds(items)
    if not kinds:
        raise Conflict("No answer of this defense is meant by that. Choose others.", "nothing_to_rerun")
    if Rerun.objects.filter(defense=defense, state=RerunState.RUNNING).exists():
        raise _under_way()
    rerun = Rerun.objects.create(defense=defense, reason=said, state=RerunState.CANCELLED, asked_by=by, asked_at=now)
    for kind in kinds:
        _plan_kind(rerun, kind, items, now, rng)
    return _begin(rerun, by, now)


def _checked(reason: str) -> str:
    reason = reason.replace("\x00", "").strip()
    if not reason:
        raise InvalidInput("Give the reason: it stays on record.", "invalid", field="reason")
    if len(reason) > MOST_REASON_CHARACTERS:
        raise InvalidInput(
            f"Give the reason in at most {MOST_REASON_CHARACTERS:,} characters.", "invalid", field="reason"
        )
    return reason


def _refuse_out_of_force(defense: Defense) -> None:
    if defense.published_at is None or defense.retired_at is not None:
        raise Conflict("Only a published defense whose version is in force is run again.", "not_in_force")


def _under_way() -> Conflict:
    return Conflict("Another re-run of this defense is under way. Apply or cancel it first.", "rerun_under_way")


def _plan_kind(rerun: Rerun, kind: _Kind, items: QuerySet[RunItem], now: datetime, rng: random.Random) -> None:
    alike = items.filter(**dict(zip(_KIND, kind, strict=True)))
    image_ids = list(alike.order_by("image").values_list("image", flat=True))
    seed = rng.getrandbits(63)
    for first in range(0, len(image_ids), PICTURES_PER_RUN):
        # Runs of a round share a loaded defense, and so its seed; a fresh one has its own (R29).
        of_run = rng.getrandbits(63) if kind.fresh else seed
        _plan_run(rerun, kind, image_ids[first : first + PICTURES_PER_RUN], of_run, now, rng)


@transaction.atomic
def _plan_run(
    rerun: Rerun, kind: _Kind, image_ids: Sequence[int], seed: int, now: datetime, rng: random.Random
) -> None:
    run = Run.objects.create(
        defense_id=rerun.defense_id,
        rerun=rerun,
        round=kind.round,
        seed=seed,
        batch_size=kind.batch_size,
        fresh=kind.fresh,
        state=RunState.DEAD,
        fault=Fault.CANCELLED,
        fault_text=_PREPARED,
        created_at=now,
    )
    RunItem.objects.bulk_create(
        RunItem(
            run=run, rerun=rerun, defense_id=rerun.defense_id, round=kind.round, image_id=image_id, position=position
        )
        for position, image_id in enumerate(plan.permuted(image_ids, seed=rng.getrandbits(63)))
    )


def _begin(rerun: Rerun, by: User, now: datetime) -> Rerun:
    """Let a wholly planned re-run be worked on; Conflict when another one of the defense was quicker."""
    try:
        with transaction.atomic():
            Rerun.objects.filter(pk=rerun.pk).update(state=RerunState.RUNNING)
            _queue(rerun)
    except IntegrityError:
        Rerun.objects.filter(pk=rerun.pk).update(ended_by=by, ended_at=now)
        raise _under_way() from None
    rerun.refresh_from_db()
    return rerun


def _queue(rerun: Rerun) -> int:
    stopped = Run.objects.filter(rerun=rerun, state=RunState.DEAD, fault=Fault.CANCELLED)
    return stopped.update(state=RunState.QUEUED, fault="", fault_text="", not_before=None, finished_at=None)


# While it is under way -----------------------------------------------------------------------------------------------


@transaction.atomic
def rerun_stop(*, rerun_id: int, now: datetime) -> int:
    """Take what waits out of the queue until `rerun_go_on`; return how many runs. What runs now is let to its end.

    Conflict when the re-run is over or nothing of it waits.
    """
    rerun = _under_lock(rerun_id)
    waiting = Run.objects.filter(rerun=rerun, state=RunState.QUEUED)
    stopped = waiting.update(state=RunState.DEAD, fault=Fault.CANCELLED, fault_text=_STOPPED, finished_at=now)
    if not stopped:
        raise Conflict("No run of it waits: there is nothing to stop.", "nothing_waits")
    return stopped


@transaction.atomic
def rerun_go_on(*, rerun_id: int) -> int:
    """Queue again what was stopped; return how many runs. Conflict when the re-run is over or was not stopped."""
    queued = _queue(_under_lock(rerun_id))
    if not queued:
        raise Conflict("No run of it is stopped: it goes on by itself.", "nothing_stopped")
    return queued


@transaction.atomic
def rerun_cancel(*, rerun_id: int, by: User, now: datetime) -> None:
    """End a re-run without a change: the older answers stay in force, the new ones stay on record and never count.

    A scorer in the middle of a run finds its lease gone. Conflict when the re-run is over.
    """
    rerun = _under_lock(rerun_id)
    still_open = Run.objects.filter(rerun=rerun, state__in=(RunState.QUEUED, RunState.RUNNING))
    ended = {"fault": Fault.CANCELLED, "fault_text": "The re-run was cancelled.", "finished_at": now}
    still_open.update(state=RunState.DEAD, lease_until=None, **ended)
    _end(rerun, RerunState.CANCELLED, by, now)


@transaction.atomic
def rerun_apply(*, rerun_id: int, by: User, now: datetime) -> int:
    """Put the answers of a re-run in the place of those in force, all or none; return how many took another's place.

    Conflict while runs of it are open, stopped or dead, and when it is over: of two who apply, one does.
    """
    rerun = _under_lock(rerun_id)
    _refuse_unfinished(progress(rerun, now=now))
    before = _in_force_beside().values("pk")[:1]
    answers = Prediction.objects.filter(rerun=rerun).annotate(old=Subquery(before)).exclude(old=None)
    rows = (Superseded(prediction_id=old, by_id=new, rerun=rerun) for old, new in answers.values_list("old", "pk"))
    replaced = 0
    for chunk in _chunks(rows):
        replaced += len(Superseded.objects.bulk_create(chunk))
    _end(rerun, RerunState.APPLIED, by, now)
    return replaced


def _under_lock(rerun_id: int) -> Rerun:
    rerun = Rerun.objects.select_for_update().get(pk=rerun_id)
    if rerun.state == RerunState.APPLIED:
        raise Conflict("This re-run is applied already. Nothing was changed.", "rerun_over")
    if rerun.state != RerunState.RUNNING:
        raise Conflict("This re-run was cancelled. Nothing was changed.", "rerun_over")
    return rerun


def _refuse_unfinished(left: Progress) -> None:
    for count, words, do in (
        (left.dead, "gave up", "Try those runs again from the page of the scoring queue, or cancel the re-run"),
        (left.stopped, "are stopped", "Let the re-run go on, and apply it when it is finished"),
        (left.waiting + left.running, "are still to come", "Apply the re-run when it is finished"),
    ):
        if count:
            raise Conflict(f"Nothing was changed: {count:,} answers {words}. {do}.", "rerun_unfinished")


def _chunks(rows: Iterator[Superseded]) -> Iterator[list[Superseded]]:
    while chunk := list(islice(rows, _ROWS_AT_ONCE)):
        yield chunk


def _end(rerun: Rerun, state: RerunState, by: User, now: datetime) -> None:
    Rerun.objects.filter(pk=rerun.pk).update(state=state, ended_by=by, ended_at=now)


# Looking -------------------------------------------------------------------------------------------------------------


def progress(rerun: Rerun, *, now: datetime) -> Progress:
    """Return how far a re-run is at `now`."""
    items = RunItem.objects.filter(rerun=rerun).order_by()
    rows = items.values_list("run__state", "run__fault").annotate(answers=Count("pk"))
    counts: dict[str, int] = dict.fromkeys(("done", "waiting", "running", "stopped", "dead"), 0)
    for state, fault, answers in rows:
        counts[_standing(state, fault)] += answers
    total = sum(counts.values())
    rate = _rate(rerun, counts["done"], now)
    left = counts["waiting"] + counts["running"]
    return Progress(
        runs=Run.objects.filter(rerun=rerun).count(),
        answers=total,
        rate=rate,
        finish=now + (now - rerun.asked_at) * left / counts["done"] if rate and left else None,
        **counts,
    )


def _standing(state: str, fault: str) -> str:
    if state == RunState.DEAD:
        return "stopped" if fault == Fault.CANCELLED else "dead"
    return {RunState.QUEUED: "waiting", RunState.RUNNING: "running"}.get(RunState(state), "done")


def _rate(rerun: Rerun, done: int, now: datetime) -> float | None:
    seconds = ((rerun.ended_at or now) - rerun.asked_at).total_seconds()
    return done / seconds if done and seconds > 0 else None


def _in_force_beside() -> QuerySet[Prediction]:
    """Return the answer in force to the same question as an outer answer's."""
    same = {name: OuterRef(name) for name in ("defense", "image", "round")}
    return predictions_in_force().filter(**same)


def answers_beside(rerun: Rerun) -> QuerySet[Any]:
    """Return the answers of a re-run so far with `old_answer`: what they replaced, or would, None where nothing."""
    answers = Prediction.objects.filter(rerun=rerun)
    if rerun.state == RerunState.APPLIED:
        return answers.annotate(old_answer=F("supersedes__prediction__answer"))
    return answers.annotate(old_answer=Subquery(_in_force_beside().values("answer")[:1]))


def answers_to_replace(rerun: Rerun) -> QuerySet[Prediction]:
    """Return the answers in force that a re-run under way would take the place of, answered anew already or not."""
    same = {name: OuterRef(name) for name in ("defense", "image", "round")}
    asked = RunItem.objects.filter(rerun=rerun, **same)
    return predictions_in_force().filter(Exists(asked), defense=rerun.defense_id)


def changes(rerun: Rerun) -> list[tuple[Outcome | None, Outcome, int]]:
    """Return (old answer, new answer, how many) of a re-run so far; the old one is None where there was none."""
    rows = answers_beside(rerun).order_by("old_answer", "answer").values_list("old_answer", "answer")
    counted = rows.annotate(count=Count("pk"))
    return [(None if old is None else Outcome(old), Outcome(new), count) for old, new, count in counted]


def changed_answers(rerun: Rerun) -> QuerySet[Any]:
    """Return the answers of a re-run that differ from those before them, with their pictures, newest last."""
    changed = answers_beside(rerun).exclude(old_answer=F("answer")).exclude(old_answer=None)
    return changed.select_related("image").order_by("pk")
