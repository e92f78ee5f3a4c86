"""The only door through which a view learns who labels: 404 to strangers, 403 to the wrong state."""

from typing import Any
from uuid import UUID

from common.errors import NotAllowed, NotFound
from labeling.enums import TaskerState
from labeling.models import Assignment, Tasker


def tasker_of(user: Any) -> Tasker:
    """Return the user's tasker row; NotAllowed (`not_a_tasker`) for everybody else (R8)."""
    tasker: Tasker | None = getattr(user, "tasker", None)
    if tasker is None:
        raise NotAllowed("Only taskers label pictures; this account has another role.", "not_a_tasker")
    return tasker


def labeling_tasker(user: Any) -> Tasker:
    """Return a tasker who may be given pictures now (R5, R6)."""
    tasker = tasker_of(user)
    if tasker.state == TaskerState.LEARNING:
        raise NotAllowed(
            "Pictures are given after the qualification. An organizer tells you when it is open.", "not_qualified"
        )
    if tasker.state == TaskerState.PAUSED:
        raise NotAllowed("Your labeling is paused. An organizer will write to you about the reason.", "paused")
    return tasker


def assignment_of(tasker: Tasker, assignment_id: UUID) -> Assignment:
    """Return the tasker's own assignment with its image; NotFound for anybody else's."""
    found = Assignment.objects.select_related("image").filter(public_id=assignment_id, tasker=tasker).first()
    if found is None:
        raise NotFound("There is no such assignment of yours.", "not_found")
    return found
