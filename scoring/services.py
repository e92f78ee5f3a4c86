"""Everything that changes defenses, runs and predictions."""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import groupby

from django.db import transaction
from django.db.models import F, Max

from adjudication.models import Ruling
from common.errors import Conflict
from labeling.policy import Policy
from scoring import plan, rules, selectors
from scoring.enums import NEXT_RUN_STATE, Fault, RunState
from scoring.models import Defense, PlanMark, Prediction, Run, RunItem
from scoring.reference import Reference

LEASE = timedelta(seconds=60)
PICTURES_PER_RUN = 256
# Longer than any transaction that writes rulings is open: a ruling whose number was given out this long ago is
# either to be seen by now or will never be.
SETTLED_AFTER = timedelta(minutes=10)


class LeaseLost(Conflict):
    """Another worker has the run now: whatever this one found is void."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"{run} was taken over after its attempt {run.attempt}: nothing was written.", "lease_lost")


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
    return defense, True


# Planning ------------------------------------------------------------------------------------------------------------


def runs_plan(*, policy: Policy, now: datetime, rng: random.Random) -> int:
    """Plan what is missing: each valid picture, each defense in force, each round 1..evaluation_runs (R29).

    Returns the number of runs made. Idempotent; may be stopped anywhere and run beside itself. With nothing to do it
    reads one mark per defense and the rulings of the last minutes, however many there are.
    """
    newest = Ruling.objects.aggregate(newest=Max("pk"))["newest"] or 0
    defenses = selectors.defenses_in_force()
    return sum(_plan_for(defense, newest, policy=policy, now=now, rng=rng) for defense in defenses)


def _plan_for(defense: Defense, newest: int, *, policy: Policy, now: datetime, rng: random.Random) -> int:
    mark, _ = PlanMark.objects.get_or_create(defense=defense, defaults={"seen_at": now})
    rounds = policy.evaluation_runs
    through = mark.through_ruling if mark.rounds >= rounds else 0
    made = 0
    if newest > through:
        for number in range(1, rounds + 1):
            made += _plan_round(mark, number, through, policy=policy, now=now, rng=rng)
    _advance(mark, newest, rounds, now)
    return made


def _plan_round(mark: PlanMark, number: int, after: int, *, policy: Policy, now: datetime, rng: random.Random) -> int:
    made = 0
    while True:
        with transaction.atomic():
            PlanMark.objects.select_for_update().get(pk=mark.pk)  # one planner a defense; the constraint is the net
            waiting = selectors.pictures_without_run(mark.defense_id, number, after, PICTURES_PER_RUN)
            # One run has pictures of one size, whatever the policy said when they came.
            chosen = next((list(same) for _, same in groupby(waiting, lambda each: each.width)), [])
            if not chosen:
                return made
            _make_run(mark.defense_id, number, [each.image_id for each in chosen], policy, now, rng)
        after, made = chosen[-1].ruling_id, made + 1


def _make_run(
    defense_id: int, number: int, image_ids: Sequence[int], policy: Policy, now: datetime, rng: random.Random
) -> None:
    run = Run.objects.create(
        defense_id=defense_id,
        round=number,
        seed=rng.getrandbits(63),
        batch_size=policy.batch_size,
        created_at=now,
    )
    RunItem.objects.bulk_create(
        RunItem(run=run, defense_id=defense_id, round=number, image_id=image_id, position=position)
        for position, image_id in enumerate(plan.permuted(image_ids, seed=run.seed))
    )


def _advance(mark: PlanMark, newest: int, rounds: int, now: datetime) -> None:
    """Move the mark behind what is planned for sure: what was already seen a while before this sweep looked."""
    if mark.rounds != rounds:
        moved = {"rounds": rounds, "through_ruling": 0, "seen_ruling": newest, "seen_at": now}
    elif mark.seen_at + SETTLED_AFTER <= now and newest > mark.through_ruling:
        moved = {"through_ruling": mark.seen_ruling, "seen_ruling": newest, "seen_at": now}
    else:
        return
    # Only from where this sweep found it: a slower planner must not move it back or forth.
    PlanMark.objects.filter(
        pk=mark.pk, rounds=mark.rounds, through_ruling=mark.through_ruling, seen_at=mark.seen_at
    ).update(**moved)


# Runs ----------------------------------------------------------------------------------------------------------------


@transaction.atomic
def run_claim(*, worker: str, now: datetime) -> Run | None:
    """Lease the next queued run to `worker` for 60 seconds, one defense after the other; None when none waits."""
    waiting = selectors.runs_waiting(now=now).select_for_update(skip_locked=True)
    found = waiting.order_by("defense_id", "id").first()
    if found is None:
        return None
    claimed = Run.objects.filter(pk=found.pk, state=RunState.QUEUED).update(
        state=RunState.RUNNING,
        attempt=F("attempt") + 1,
        worker=worker[:80],
        lease_until=now + LEASE,
        not_before=None,
        started_at=now,
        fault="",
        fault_text="",
    )
    return Run.objects.select_related("defense").get(pk=found.pk) if claimed == 1 else None


def run_heartbeat(run: Run, *, now: datetime) -> None:
    """Keep the lease another 60 seconds; LeaseLost when somebody else has it."""
    if _held(run).update(lease_until=now + LEASE) != 1:
        raise LeaseLost(run)


@transaction.atomic
def run_finish(run: Run, predictions: Sequence[Prediction], *, device: str, now: datetime) -> None:
    """Keep the answers of a whole run and end it, both or neither; LeaseLost when the attempt is stale."""
    _end(run, RunState.FINISHED, device=device[:120], finished_at=now)
    planned = set(RunItem.objects.filter(run=run).values_list("pk", flat=True))
    if len(predictions) != len(planned) or {each.item_id for each in predictions} != planned:
        raise ValueError(f"{run} has {len(planned)} pictures and got {len(predictions)} answers")
    Prediction.objects.bulk_create(predictions, batch_size=500)


def run_fault(run: Run, fault: Fault, text: str, *, now: datetime) -> RunState:
    """Record what went wrong (R30); return whether the run waits for another try or is dead.

    The platform's faults are tried again after a growing rest, three times in all; a defense's own are final.
    LeaseLost when the attempt is stale.
    """
    again = rules.is_retried(fault, run.attempt)
    state = RunState.QUEUED if again else RunState.DEAD
    rest = now + rules.wait_before_retry(run.attempt) if again else None
    _end(run, state, fault=fault, fault_text=text, not_before=rest, finished_at=None if again else now)
    return state


def runs_reclaim(*, now: datetime) -> int:
    """Take back the runs whose worker has fallen silent; return how many. The third silence is the last."""
    silent = Run.objects.filter(state=RunState.RUNNING, lease_until__lt=now)
    text = "The worker stopped answering in the middle of the run."
    ended = {"lease_until": None, "fault": Fault.PLATFORM, "fault_text": text}
    dead = silent.filter(attempt__gte=rules.MOST_ATTEMPTS)
    count = dead.update(state=RunState.DEAD, finished_at=now, **ended)
    return count + silent.update(state=RunState.QUEUED, **ended)


def runs_retry(*, now: datetime) -> int:
    """Queue again, for one try each, the runs that the platform's faults ended; return how many."""
    dead = Run.objects.filter(state=RunState.DEAD, fault__in=rules.PLATFORM_FAULTS, defense__retired_at__isnull=True)
    return dead.update(state=RunState.QUEUED, not_before=now, finished_at=None)


def run_assessed(run: Run) -> bool:
    """Note that a finished run's answers were looked at for breaks; False when somebody else noted it first."""
    changed = Run.objects.filter(pk=run.pk, state=RunState.FINISHED).update(state=RunState.ASSESSED)
    return changed == 1


def _held(run: Run) -> selectors.Runs:
    """Narrow to the run as this attempt holds it: the fence that a worker without a lease cannot pass."""
    return Run.objects.filter(pk=run.pk, state=RunState.RUNNING, attempt=run.attempt)


def _end(run: Run, state: RunState, **values: object) -> None:
    if state not in NEXT_RUN_STATE[RunState.RUNNING]:
        raise ValueError(f"a running run cannot become {state}")
    if _held(run).update(state=state, lease_until=None, **values) != 1:
        raise LeaseLost(run)
