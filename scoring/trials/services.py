"""Services that change trials (R31)."""

import random
from collections.abc import Collection
from datetime import datetime

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Max

from accounts.roles import is_on_board
from common.audit.trail import Subject, audit
from common.errors import Conflict, NotAllowed
from common.typed import clean_words
from policy.numbers import Policy
from scoring import leases
from scoring.enums import RunState, TrialKind
from scoring.models import Defense, FrameworkCheck, PrivateSet, Trial
from scoring.trials import selectors

MAX_REASON_CHARACTERS = 4000
SEED_BITS = 63  # as an official run's: a seed must not tell a defense which of the two it is in


def trial_request(
    defense: Defense, kind: TrialKind, *, by: User | None, policy: Policy, now: datetime, rng: random.Random
) -> Trial:
    """Queue a trial of `defense`. `by` is the organizer who requests it, None when it follows from the trial before.

    Raises Conflict as `trial_possible` does.
    """
    private_set = trial_possible(defense, kind, policy=policy)
    before = Trial.objects.filter(defense=defense, kind=kind).aggregate(last=Max("number"))["last"] or 0
    try:
        with transaction.atomic():
            trial = Trial.objects.create(
                defense=defense,
                kind=kind,
                number=before + 1,
                private_set=private_set,
                seed=rng.getrandbits(SEED_BITS),
                batch_size=policy.batch_size,
                asked_by=by,
                created_at=now,
            )
            if by is not None:
                subject: Subject = {"defense": [defense.public_id], "trial": [trial.pk]}
                audit("trial.ask", by=by, subject=subject, now=now, private={"kind": str(kind)})
            return trial
    except IntegrityError:  # somebody requested it at the same moment
        raise _under_way() from None


def trial_possible(defense: Defense, kind: TrialKind, *, policy: Policy) -> PrivateSet | None:
    """Return the private set that a trial would use, None for the kinds that need none.

    Raises Conflict for a defense whose place a newer version took, when a trial of this kind is under way, when a
    container has not passed those that come before, and without a private set for the trial that needs one.
    """
    if defense.retired_at is not None:
        raise Conflict("A newer version took the place of this defense. Ask for a trial of that one.", "retired")
    if Trial.objects.filter(defense=defense, kind=kind, state__in=selectors.UNDER_WAY).exists():
        raise _under_way()
    _refuse_too_early(defense, kind, policy)
    return _set_for(kind)


def _under_way() -> Conflict:
    return Conflict("This trial is under way already. Wait until it is over.", "trial_under_way")


def _refuse_too_early(defense: Defense, kind: TrialKind, policy: Policy) -> None:
    if not defense.image or defense.published_at is not None:
        return  # shipped with this project, or through with its trials
    newest = selectors.newest_trials([defense.pk]).get(defense.pk, {})
    for earlier in selectors.IN_ORDER[: selectors.IN_ORDER.index(kind)]:
        if earlier not in newest or not selectors.has_passed(newest[earlier], policy):
            message = f"The {kind} trial comes after the {earlier} trial, which has to be passed first."
            raise Conflict(message, "trial_too_early")


def _set_for(kind: TrialKind) -> PrivateSet | None:
    if kind is not TrialKind.PRIVATE:
        return None
    found = selectors.private_set_in_force()
    if found is None:
        message = "There is no complete private set. Import one with ./unanimous import_private_set."
        raise Conflict(message, "no_private_set")
    return found


def trials_plan(*, policy: Policy, now: datetime, rng: random.Random) -> int:
    """Queue the next trial of each container before its publication; return how many. Idempotent.

    Each trial begins only when the one before was passed; without a private set it waits for one. Trials that new
    attacks or a new private set make outdated are repeated completely.
    """
    present = selectors.TrialSources(now)
    waiting = {defense.pk: defense for defense in selectors.defenses_before_publication()}
    newest = selectors.newest_trials(waiting)
    made = 0
    for pk, defense in waiting.items():
        kind = selectors.next_kind(newest.get(pk, {}), policy, present)
        made += kind is not None and _request_or_skip(defense, kind, policy, now, rng)
    return made


def _request_or_skip(defense: Defense, kind: TrialKind, policy: Policy, now: datetime, rng: random.Random) -> bool:
    try:
        trial_request(defense, kind, by=None, policy=policy, now=now, rng=rng)
    except Conflict:  # another planner was quicker, or there is no private set yet
        return False
    return True


def trial_claim(*, worker: str, now: datetime, left_out: Collection[int] = ()) -> Trial | None:
    """Lease the trial that waits longest to `worker`; None when none waits or others were quicker."""
    return leases.claim_lease(selectors.trials_waiting(now=now, left_out=left_out), worker=worker, now=now)


def trials_retry(*, now: datetime, trial: int | None = None, by: User | None = None) -> int:
    """Queue again, for one try each, the trials that the platform's faults ended, or the one `trial`; return how many.

    `by` is the organizer who asks, None for a command of the server. Raises Conflict, and queues none, when somebody
    asks for a new trial of the same kind at the same moment.
    """
    chosen = selectors.trials_to_retry()
    chosen = chosen if trial is None else chosen.filter(pk=trial)
    dead = Trial.objects.filter(pk__in=chosen.values("pk"), state=RunState.DEAD)
    try:
        with transaction.atomic():
            queued = dead.update(state=RunState.QUEUED, not_before=now, finished_at=None)
            if queued:
                which = {"trial": [trial] if trial else []}
                audit("trial.retry", by=by, subject=which, now=now, private={"queued": queued})
            return queued
    except IntegrityError:
        raise _under_way() from None


def trial_finish(trial: Trial, *, now: datetime, **found: object) -> None:
    """Store the result of a trial and end it; LeaseLost when the attempt is stale."""
    leases.end_lease(trial, RunState.FINISHED, finished_at=now, **found)


@transaction.atomic
def framework_check(defense: Defense, *, passed: bool, reason: str, by: User, now: datetime) -> FrameworkCheck:
    """Record what the board found: is the source readable TensorFlow, PyTorch, Caffe or NumPy (R31, 4)? The newest
    answer holds.

    Raises NotAllowed for who is not on the board, InvalidInput without a reason: who is refused may read it.
    """
    if not is_on_board(by):
        raise NotAllowed("Only members of the review board check a defense's framework.", "not_on_board")
    ask = f"Say why, in at most {MAX_REASON_CHARACTERS} characters."
    reason = clean_words(reason, field="reason", ask=ask, max_length=MAX_REASON_CHARACTERS)
    audit(
        "framework.check",
        by=by,
        subject={"defense": [defense.public_id]},
        why=reason,
        now=now,
        private={"passed": passed},
    )
    return FrameworkCheck.objects.create(defense=defense, passed=passed, reason=reason, checked_by=by, checked_at=now)
