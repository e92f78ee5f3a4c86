"""Taskers as people: who may become one (R4, R8)."""

from datetime import datetime
from random import Random

from django.contrib.auth.models import Group, User

from common.errors import Conflict
from labeling.enums import TaskerState
from labeling.models import Tasker

ORGANIZERS = "organizers"
REVIEW_BOARD = "review board"
TEAMS = "teams"


def tasker_register(*, user: User, state: TaskerState, now: datetime, rng: Random) -> Tasker:
    """Make `user` a tasker with a public ID of their own; Conflict when another role forbids it (R8)."""
    if user.groups.exists():
        raise Conflict(f"{user.username} has another role: who organizes, judges or competes never labels.", "has_role")
    return Tasker.objects.create(user=user, state=state, shuffle_seed=rng.getrandbits(48), created_at=now)


def role_give(*, user: User, role: str) -> None:
    """Add `user` to the organizers, the review board or the teams; Conflict for anybody with another role (R8)."""
    if Tasker.objects.filter(user=user).exists():
        raise Conflict(f"{user.username} labels: who labels never organizes, judges or competes.", "is_tasker")
    if user.groups.exclude(name=role).exists():
        raise Conflict(f"{user.username} has another role: an account has one.", "has_role")
    user.groups.add(Group.objects.get_or_create(name=role)[0])


def is_organizer(user: User) -> bool:
    """Say whether `user` organizes the contest."""
    return user.is_authenticated and user.groups.filter(name=ORGANIZERS).exists()
