"""Queries for the members of the review board and their conflicts of interest (R21)."""

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db.models import QuerySet

from accounts.roles import REVIEW_BOARD
from contest.core.models import ConflictOfInterest


def board_members() -> QuerySet[User]:
    """Return the accounts that are on the review board now."""
    return User.objects.filter(groups__name=REVIEW_BOARD, is_active=True).order_by("pk")


def conflicts_in_force(members: Iterable[User] | None = None) -> QuerySet[ConflictOfInterest]:
    """Return the conflicts of these members (None: of all) that were not dismissed, whatever their time."""
    rows = ConflictOfInterest.objects.filter(dismissed_at=None)
    return rows if members is None else rows.filter(member__in=members)
