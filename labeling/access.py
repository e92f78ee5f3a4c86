"""Access checks for labeling: refuses non-taskers and taskers in the wrong state; hides other taskers' assignments."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from common.errors import NotAllowed, NotFound
from labeling.enums import TaskerState
from labeling.models import Assignment, Tasker
from labeling.selectors import instructions_in_force


def tasker_of(user: Any) -> Tasker:
    """Return the user's tasker row; NotAllowed (`not_a_tasker`) for everybody else (R8)."""
    tasker: Tasker | None = getattr(user, "tasker", None)
    if tasker is None:
        raise NotAllowed(_("Only taskers label pictures; this account has another role."), "not_a_tasker")
    return tasker


def labeling_tasker(user: Any, *, now: datetime) -> Tasker:
    """Return a tasker who may be given pictures now (R5, R6)."""
    tasker = tasker_of(user)
    check_labeling(tasker, now=now)
    return tasker


def check_labeling(tasker: Tasker, *, now: datetime) -> None:
    """Raise NotAllowed for a tasker who may not be given pictures now, with the reason as its code (R5, R6)."""
    if tasker.state == TaskerState.LEARNING:
        raise NotAllowed(
            _("Pictures are given after the qualification. Your learning page leads to it."), "not_qualified"
        )
    if tasker.state == TaskerState.PAUSED:
        raise NotAllowed(_("Your labeling is paused. Your page says why, and what to do."), "paused")
    if tasker.instructions < instructions_in_force(now).qualified_since:
        raise NotAllowed(
            _("The instructions changed: a short qualification comes before the next picture."), "requalification_due"
        )


def assignment_of_tasker(tasker: Tasker, assignment_id: UUID) -> Assignment:
    """Return the tasker's own assignment with its image; NotFound for anybody else's."""
    found = Assignment.objects.select_related("image").filter(public_id=assignment_id, tasker=tasker).first()
    if found is None:
        raise NotFound(_("There is no such assignment of yours."), "not_found")
    return found
