"""The sweep that prepares the runs of a re-run, resumable and safe to run in parallel.

Until the last run is planned all of them are dead, so that half a plan can be neither worked on nor applied. The
newest run shows how far the plan is: the kinds are planned in order, and the pictures of a kind by their number.
"""

import random
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import Max

from scoring.enums import NEXT_RERUN_STATE, Fault, RerunState, RunState
from scoring.models import Rerun, Run, RunItem
from scoring.rerun_scope import RunKind, Scope, images_of, items_in_scope
from scoring.services import PICTURES_PER_RUN, run_make

# Limits a call to a second or two, so that the worker's other sweeps get their turn.
RUNS_PER_SWEEP = 50
_NOT_BEGUN = "The re-run was not begun."


class _Place(NamedTuple):
    """Where a plan ends: its newest run and that run's kind, last picture and seed; `run` is 0 before the first."""

    run: int = 0
    kind: RunKind | None = None
    image: int = 0
    seed: int = 0


def reruns_prepare(*, now: datetime, rng: random.Random) -> int:
    """Plan the next runs of the re-runs that are being prepared, and queue all runs of one whose plan is whole.

    Runs are like the first ones, with fresh seeds, each planned in a transaction of its own. Returns how many steps
    were done; 0 when nothing is being prepared or another sweep is at it.
    """
    done = 0
    for rerun in Rerun.objects.filter(state=RerunState.PREPARING).select_related("defense").order_by("pk"):
        done += _prepare(rerun, RUNS_PER_SWEEP - done, now, rng)
        if done >= RUNS_PER_SWEEP:
            break
    return done


def _prepare(rerun: Rerun, limit: int, now: datetime, rng: random.Random) -> int:
    place, done = _place(rerun), 0
    for kind, image_ids in _ahead(rerun, place):
        planned = _plan_run(rerun, place, kind, image_ids, now, rng) if done < limit else None
        if planned is None:
            return done
        place, done = planned, done + 1
    return done + _begin(rerun, place)


def _place(rerun: Rerun) -> _Place:
    run = Run.objects.filter(rerun=rerun).order_by("pk").last()
    if run is None:
        return _Place()
    image_id, width = RunItem.objects.filter(run=run).order_by("-image").values_list("image", "image__width")[0]
    return _Place(run.pk, RunKind(run.round, run.batch_size, run.fresh, width), image_id, run.seed)


def _ahead(rerun: Rerun, place: _Place) -> Iterator[tuple[RunKind, list[int]]]:
    """Yield the runs to plan after `place`: their kind and their pictures."""
    items = items_in_scope(rerun.defense, Scope.from_record(rerun.scope))
    kinds = [RunKind(*kind) for *kind, _ in rerun.kinds]
    for kind in kinds[kinds.index(place.kind) if place.kind else 0 :]:
        image_ids = images_of(items, kind, after=place.image if kind == place.kind else 0)
        for first in range(0, len(image_ids), PICTURES_PER_RUN):
            yield kind, image_ids[first : first + PICTURES_PER_RUN]


def _under_lock(rerun: Rerun, place: _Place) -> bool:
    """Lock a re-run whose plan still ends at `place`; False when it is cancelled, or another sweep is at it."""
    preparing = Rerun.objects.filter(pk=rerun.pk, state=RerunState.PREPARING)
    if not preparing.select_for_update(skip_locked=True).exists():
        return False
    newest = Run.objects.filter(rerun=rerun).aggregate(newest=Max("pk"))["newest"]
    return place.run == (newest or 0)


@transaction.atomic
def _plan_run(
    rerun: Rerun, place: _Place, kind: RunKind, image_ids: Sequence[int], now: datetime, rng: random.Random
) -> _Place | None:
    """Plan one run after `place`; return the new end of the plan, None when it does not end at `place`."""
    if not _under_lock(rerun, place):
        return None
    # Runs of a round share a loaded defense, and so its seed; a fresh one has its own (R29).
    shared = kind == place.kind and not kind.fresh
    run = run_make(
        image_ids,
        rng=rng,
        defense_id=rerun.defense_id,
        rerun=rerun,
        round=kind.round,
        seed=place.seed if shared else rng.getrandbits(63),
        batch_size=kind.batch_size,
        fresh=kind.fresh,
        state=RunState.DEAD,
        fault=Fault.CANCELLED,
        fault_text=_NOT_BEGUN,
        created_at=now,
    )
    return _Place(run.pk, kind, image_ids[-1], run.seed)


@transaction.atomic
def _begin(rerun: Rerun, place: _Place) -> int:
    """Start a completely planned re-run; return 1, or 0 when its plan does not end at `place`."""
    if not _under_lock(rerun, place):
        return 0
    rerun_advance(rerun, RerunState.RUNNING)
    runs_queue(rerun)
    return 1


def rerun_advance(rerun: Rerun, state: RerunState, **values: object) -> None:
    """Give a re-run, which the caller has locked, its next state."""
    if state not in NEXT_RERUN_STATE[RerunState(rerun.state)]:
        raise ValueError(f"a re-run that is {rerun.state} cannot become {state}")
    Rerun.objects.filter(pk=rerun.pk).update(state=state, **values)


def runs_queue(rerun: Rerun) -> int:
    """Queue the runs of a re-run that wait for its beginning or were stopped; return how many."""
    stopped = Run.objects.filter(rerun=rerun, state=RunState.DEAD, fault=Fault.CANCELLED)
    return stopped.update(state=RunState.QUEUED, fault="", fault_text="", not_before=None, finished_at=None)
