"""Gives and reads roles: each account has exactly one (R4, R8); accounts.one_role enforces it."""

from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction

from accounts.models import AccountRole
from common.errors import Conflict

ORGANIZERS = "organizers"
REVIEW_BOARD = "review board"
TEAMS = "teams"


def role_give(*, user: User, role: str) -> None:
    """Add `user` to the organizers, the review board or the teams; Conflict for anybody with another role (R8)."""
    group = Group.objects.get_or_create(name=role)[0]
    try:
        with transaction.atomic():
            user.groups.add(group)
    except IntegrityError:
        raise role_conflict(user) from None


def role_conflict(user: User) -> Conflict:
    """Return the refusal for an account that has another role (R8)."""
    if AccountRole.objects.filter(user=user, role="tasker").exists():
        return Conflict(f"{user.username} labels: who labels never organizes, judges or competes.", "is_tasker")
    return Conflict(
        f"{user.username} has another role: an account has one, and who organizes, judges or competes never labels.",
        "has_role",
    )


def is_on_board(user: User) -> bool:
    """Say whether `user` is on the review board."""
    return user.is_authenticated and user.groups.filter(name=REVIEW_BOARD).exists()


def is_organizer(user: User) -> bool:
    """Say whether `user` organizes the contest."""
    return user.is_authenticated and user.groups.filter(name=ORGANIZERS).exists()


def audit_role_of(user: User) -> str:
    """Return the role of an account in a word, for the audit trail (AUDIT_ROLE_OF); empty without one."""
    return AccountRole.objects.filter(user=user).values_list("role", flat=True).first() or ""
