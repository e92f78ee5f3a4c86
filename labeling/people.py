"""Taskers as people: who may become one (R4, R8)."""

from datetime import datetime
from random import Random

from django.contrib.auth.models import User

from common.errors import Conflict
from labeling.enums import TaskerState
from labeling.models import Tasker

ORGANIZERS = "organizers"
REVIEW_BOARD = "review board"


def tasker_register(*, user: User, state: TaskerState, now: datetime, rng: Random) -> Tasker:
    """Make `user` a tasker with a public ID of their own; Conflict when another role forbids it (R8)."""
    if user.groups.exists():
        raise Conflict(f"{user.username} has another role: organizers and board members never label.", "has_role")
    return Tasker.objects.create(user=user, state=state, shuffle_seed=rng.getrandbits(48), created_at=now)


def is_organizer(user: User) -> bool:
    """Say whether `user` organizes the contest."""
    return user.is_authenticated and user.groups.filter(name=ORGANIZERS).exists()
