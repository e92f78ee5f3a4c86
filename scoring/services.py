"""Services that change defenses, runs and predictions."""

import random
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max

from adjudication.models import Ruling
from common.audit.trail import audit
from policy.numbers import Policy
from scoring import leases, plan, rules, selectors
from scoring.enums import Fault, RunState
from scoring.models import Defense, PlanningProgress, Prediction, Rerun, Run, RunItem, Scorer
from scoring.persistence import insert
from scoring.reference import Reference

PICTURES_PER_RUN = 256
SEED_LIVES = timedelta(days=1)
# Longer than any transaction that writes rulings is open: a ruling whose number was given out this long ago is
# either to be seen by now or will never be.
SETTLED_AFTER = timedelta(minutes=10)


# Defenses ------------------------------------------------------------------------------------------------------------


@transaction.atomic
def reference_publish(declared: Reference, *, now: datetime) -> tuple[Defense, bool]:
    """Put the shipped version of a reference defense in force; return it and whether anything changed.

    A new digest is a new row, and the version before it is retired: its predictions keep saying what made them.
    """
    defense, _ = Defense.objects.get_or_create(
        name=declared.name,
        digest=declared.digest,
        defaults={
            "reference": declared.key,
            "description": declared.description,
            "demo": declared.demo,
            "created_at": now,
        },
    )
    if defense.published_at is not None and defense.retired_at is None:
        return defense, False
    versions = Defense.objects.filter(name=declared.name, retired_at__isnull=True).exclude(pk=defense.pk)
    versions.update(retired_at=now)
    defense.published_at, defense.retired_at = defense.published_at or now, None
    defense.save(update_fields=["published_at", "retired_at"])
    audit("defense.publish", by=None, subject={"defense": [defense.public_id]}, now=now)
    return defense, True


# Planning ------------------------------------------------------------------------------------------------------------


def runs_plan(*, policy: Policy, now: datetime, rng: random.Random) -> int:
    """Plan what is missing: each valid picture, each defense in force, each round 1..evaluation_runs (R29); nothing for
    a defense that was read from a release.

    Returns the number of runs made. Idempotent; may be stopped anywhere and run beside itself. With nothing to do it
    reads one mark per defense and the rulings of the last minutes, however many there are.
    """
    newest = Ruling.objects.aggregate(newest=Max("pk"))["newest"] or 0
    defenses = selectors.defenses_to_run()
    return sum(_plan_for(defense, newest, policy=policy, now=now, rng=rng) for defense in defenses)


def _plan_for(defense: Defense, newest: int, *, policy: Policy, now: datetime, rng: random.Random) -> int:
    mark, _ = PlanningProgress.objects.get_or_create(defense=defense, defaults={"seen_at": now})
    rounds = policy.evaluation_runs
    through = mark.through_ruling if mark.rounds >= rounds else 0
    made = 0
    if newest > through:
        for number in range(1, rounds + 1):
            made += _plan_round(mark, number, through, policy=policy, now=now, rng=rng)
    _advance(mark, newest, rounds, now)
    return made


def _plan_round(
    mark: PlanningProgress, number: int, after: int, *, policy: Policy, now: datetime, rng: random.Random
) -> int:
    # Checked before the lock, which is a write: a sweep with nothing to do must not wake the other workers.
    if not selectors.pictures_without_run(mark.defense_id, number, after, 1):
        return 0
    made, fresh = 0, number == policy.evaluation_runs
    while True:
        with transaction.atomic():
            # One planner for each defense; the database constraint is the safety net.
            PlanningProgress.objects.select_for_update().get(pk=mark.pk)
            waiting = selectors.pictures_without_run(mark.defense_id, number, after, PICTURES_PER_RUN)
            # All pictures of a run have one size, whatever the policy was when they were received.
            chosen = next((list(same) for _, same in groupby(waiting, lambda each: each.width)), [])
            if not chosen:
                return made
            run_make(
                [each.image_id for each in chosen],
                rng=rng,
                defense_id=mark.defense_id,
                round=number,
                seed=rng.getrandbits(63) if fresh else _seed_of_round(mark.defense_id, number, now, rng),
                batch_size=policy.batch_size,
                fresh=fresh,
                created_at=now,
            )
        after, made = chosen[-1].ruling_id, made + 1


def run_make(image_ids: Sequence[int], *, rng: random.Random, **values: Any) -> Run:
    """Create a run of `values` over these pictures, in an order that is drawn for it."""
    run = Run.objects.create(**values)
    RunItem.objects.bulk_create(
        RunItem(
            run=run,
            rerun_id=run.rerun_id,
            defense_id=run.defense_id,
            round=run.round,
            image_id=image_id,
            position=position,
        )
        for position, image_id in enumerate(plan.permuted(image_ids, seed=rng.getrandbits(63)))
    )
    return run


def _seed_of_round(defense_id: int, number: int, now: datetime, rng: random.Random) -> int:
    """One seed for a round's runs of a day, so that they can follow each other in one loaded defense.

    Seeds are published with the week: a reader must not be able to foresee what a defense will draw.
    """
    before = Run.objects.filter(
        defense=defense_id, round=number, rerun__isnull=True, fresh=False, created_at__gte=now - SEED_LIVES
    )
    seed = before.values_list("seed", flat=True).first()
    return rng.getrandbits(63) if seed is None else seed


def _advance(mark: PlanningProgress, newest: int, rounds: int, now: datetime) -> None:
    """Move the mark past rulings that are surely planned: those seen some time before this sweep."""
    if mark.rounds != rounds:
        moved = {"rounds": rounds, "through_ruling": 0, "seen_ruling": newest, "seen_at": now}
    elif mark.seen_at + SETTLED_AFTER <= now and newest > mark.through_ruling:
        moved = {"through_ruling": mark.seen_ruling, "seen_ruling": newest, "seen_at": now}
    else:
        return
    # Only from where this sweep found it: a slower planner must not move it back or forth.
    PlanningProgress.objects.filter(
        pk=mark.pk, rounds=mark.rounds, through_ruling=mark.through_ruling, seen_at=mark.seen_at
    ).update(**moved)


# Runs ----------------------------------------------------------------------------------------------------------------


class PreferredRuns(NamedTuple):
    """Runs that a scorer can do next without reloading: those of one defense and round, of one re-run or of none."""

    defense: int
    round: int
    rerun: int | None


def run_claim(
    *, worker: str, now: datetime, preferred: PreferredRuns | None = None, left_out: Collection[int] = ()
) -> Run | None:
    """Lease a queued run to `worker`; None when none waits but those of the defenses `left_out`.

    First a run that is `preferred` for the scorer's loaded defense; else the one that waits longest, re-runs after all
    first runs. Runs are planned one defense after the other, so that a scorer
    meets them in that order.
    """
    if preferred and (alike := run_claim_alike(worker=worker, now=now, preferred=preferred)) is not None:
        return alike
    queue = leases.waiting(Run, now=now, left_out=left_out).order_by("id")
    for runs in (queue.filter(rerun=None), queue):
        if (run := leases.claim_lease(runs, worker=worker, now=now)) is not None:
            return run
    return None


def run_claim_alike(*, worker: str, now: datetime, preferred: PreferredRuns) -> Run | None:
    """Lease the queued run to `worker` that waits longest of those `preferred`; None when none waits."""
    runs = leases.waiting(Run, now=now).filter(**preferred._asdict(), fresh=False)
    return leases.claim_lease(runs.order_by("id"), worker=worker, now=now)


class DefensePrediction(NamedTuple):
    """A defense's answer for one place in a run's plan: the fields of a Prediction without those of its run."""

    item_id: int
    image_id: int
    answer: int
    score_bicycle: float
    score_bird: float
    pixels_sha256: str
    batch: int
    row: int
    latency_us: int
    predicted_at: datetime


@transaction.atomic
def run_finish(run: Run, answers: Sequence[DefensePrediction], *, device: str, now: datetime) -> None:
    """Store the answers of a whole run and end it, both or neither; LeaseLost when the attempt is stale."""
    leases.end_lease(run, RunState.FINISHED, device=device[:120], finished_at=now)
    planned = set(RunItem.objects.filter(run=run).values_list("pk", flat=True))
    if len(answers) != len(planned) or {each.item_id for each in answers} != planned:
        raise ValueError(f"{run} has {len(planned)} pictures and got {len(answers)} answers")
    alike = {
        "defense_id": run.defense_id,
        "rerun_id": run.rerun_id,
        "round": run.round,
        "defense_digest": run.defense.digest,
        "device": device[:120],
        "batch_size": run.batch_size,
        "seed": run.seed,
        "attempt": run.attempt,
    }
    insert(Prediction, alike, DefensePrediction._fields, answers)


@transaction.atomic
def run_part(run: Run, items: Sequence[selectors.PlannedPicture], fault: Fault, text: str, *, now: datetime) -> bool:
    """Move the pictures of a failed batch to a run of their own, so that one of them cannot fail the others (R30).

    Moves half of them when the run has no others. The rest of the run waits again at once, with its plan renumbered.
    Returns False, changing nothing, where splitting ends (`rules.is_parted`). LeaseLost when the attempt is stale.
    """
    # Locks in the same order as cancelling a re-run, which would otherwise miss a run that is created meanwhile.
    if run.rerun_id is not None:
        Rerun.objects.select_for_update().get(pk=run.rerun_id)
    all_items = selectors.run_items(run)
    apart = list(items) if len(items) < len(all_items) else list(items)[: len(items) // 2]
    worked, failures = selectors.has_answered(run.defense_id), selectors.failures_in_a_row(run.defense_id)
    if not rules.is_parted(len(all_items), fault, worked=worked, failures=failures):
        return False
    leases.end_lease(run, RunState.QUEUED, fault=fault, fault_text=text, not_before=now, splits=run.splits + 1)
    other = Run.objects.create(
        defense_id=run.defense_id,
        rerun_id=run.rerun_id,
        round=run.round,
        seed=run.seed,
        batch_size=run.batch_size,
        fresh=run.fresh,
        splits=run.splits + 1,
        tries=run.tries,
        kills=run.kills,
        fault=fault,
        fault_text=text,
        created_at=run.created_at,
    )
    moved = {item.pk for item in apart}
    _close_up([item for item in all_items if item.pk in moved], run, other)
    _close_up([item for item in all_items if item.pk not in moved], run, run)
    return True


def _close_up(items: Sequence[selectors.PlannedPicture], run: Run, to: Run) -> None:
    """Number `items` of `run`, in order, from 0 in `to`. Ascending, so that no number is taken when it is given."""
    for position, item in enumerate(items):
        if (run.pk, item.position) != (to.pk, position):
            RunItem.objects.filter(pk=item.pk).update(run=to, position=position)


@transaction.atomic
def runs_retry(*, now: datetime, run: int | None = None, by: User | None = None) -> int:
    """Queue again, for one try each, the runs that the platform's faults ended, or the one `run`; return how many.

    `by` is the organizer who requests it, None for a command of the server.
    """
    dead = selectors.dead_runs().filter(fault__in=rules.PLATFORM_FAULTS, defense__retired_at__isnull=True)
    chosen = dead if run is None else dead.filter(pk=run)
    queued = chosen.update(state=RunState.QUEUED, not_before=now, finished_at=None)
    if queued:
        audit("run.retry", by=by, subject={"run": [run] if run else []}, now=now, private={"queued": queued})
    return queued


def run_assessed(run: Run) -> bool:
    """Record that a finished run's answers were searched for breaks; False when another process did so first."""
    changed = Run.objects.filter(pk=run.pk, state=RunState.FINISHED).update(state=RunState.ASSESSED)
    return changed == 1


# Scorers -------------------------------------------------------------------------------------------------------------


def scorer_seen(name: str, *, device: str, runtime: str, held: str, now: datetime) -> None:
    """Record that a scorer is alive and what it does, for the overview; `held` is empty while it waits."""
    told = {"device": device[:120], "runtime": runtime, "held": held[:120], "seen_at": now}
    Scorer.objects.update_or_create(name=name[:80], defaults=told, create_defaults=told | {"started_at": now})
