"""Access to monitoring pages: organizers, and the board where noted."""

from django.contrib.auth.models import AnonymousUser, User

from accounts.access import organizer_of
from accounts.roles import REVIEW_BOARD
from common.errors import NotFound
from labeling.models import Tasker


def reviewer_of(user: User | AnonymousUser) -> User:
    """Return `user`, who organizes or is on the review board; refused like `organizer_of` for everybody else."""
    if isinstance(user, User) and user.groups.filter(name=REVIEW_BOARD).exists():
        return user
    return organizer_of(user)


def tasker_named(public_id: str) -> Tasker:
    """Return the tasker with this public ID; NotFound without one."""
    tasker = Tasker.objects.select_related("user").filter(public_id=public_id).first()
    if tasker is None:
        raise NotFound("There is no tasker with this ID.", "not_found")
    return tasker
