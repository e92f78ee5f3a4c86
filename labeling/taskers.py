"""Services: make an account a tasker, and separate a tasker from the person whose account is deleted (R4, R8)."""

from datetime import datetime
from random import Random
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from accounts.roles import role_conflict
from common.audit.trail import Subject
from labeling.enums import TaskerState
from labeling.leases import leases_release
from labeling.models import Draft, Tasker


def tasker_register(*, user: User, state: TaskerState, now: datetime, rng: Random) -> Tasker:
    """Make `user` a tasker with a public ID of their own; Conflict when another role forbids it (R8)."""
    try:
        with transaction.atomic():
            return Tasker.objects.create(user=user, state=state, shuffle_seed=rng.getrandbits(48), created_at=now)
    except IntegrityError:
        raise role_conflict(user) from None


def invited_join(*, user: User, language: str, now: datetime, rng: Random, **_: Any) -> None:
    """Make the user who accepted an invitation a tasker in state LEARNING. Receiver of `tasker_invited`."""
    tasker = tasker_register(user=user, state=TaskerState.LEARNING, now=now, rng=rng)
    Tasker.objects.filter(pk=tasker.pk).update(language=language)


def tasker_leave(*, user: User, now: datetime, **_: Any) -> Subject | None:
    """Release leases, remove drafts, and separate the person from the public ID. Receiver of `account_leaving`.

    Returns the public ID as the audit trail names it, None for an account that does not label.
    """
    # The weaker lock: an answer that is being stored refers to this row and must not wait for us while we wait for it.
    tasker = Tasker.objects.select_for_update(of=("self",), no_key=True).filter(user=user).first()
    if tasker is None:
        return None
    leases_release(tasker=tasker, now=now)
    Draft.objects.filter(assignment__tasker=tasker).delete()
    Tasker.objects.filter(pk=tasker.pk).update(
        user=None, left_at=now, language="", time_zone="", preferences={}, passed={}, passed_at=None
    )
    return {"tasker": [tasker.public_id]}
