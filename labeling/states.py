"""Changes a tasker's state along the allowed transitions, and records the reason (R5, R6)."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from common.errors import Conflict
from labeling.enums import TaskerState
from labeling.models import MonitoringEvent, StateChange, Tasker

# state -> the states that may follow it; defined only here.
NEXT_TASKER_STATE: dict[TaskerState, frozenset[TaskerState]] = {
    TaskerState.LEARNING: frozenset({TaskerState.QUALIFIED, TaskerState.PAUSED}),
    TaskerState.QUALIFIED: frozenset({TaskerState.LEARNING, TaskerState.PAUSED}),
    TaskerState.PAUSED: frozenset({TaskerState.LEARNING, TaskerState.QUALIFIED}),
}


@transaction.atomic
def tasker_state_change(
    *,
    tasker: Tasker,
    after: TaskerState,
    code: str,
    reason: str,
    now: datetime,
    by: User | None = None,
    event: MonitoringEvent | None = None,
) -> StateChange:
    """Move a tasker from the state that `tasker` was read with, and record why; `reason` is what the tasker reads.

    Conflict (`state_changed`) when somebody was faster, or when that state does not lead to `after`.
    """
    before = TaskerState(tasker.state)
    moved = after in NEXT_TASKER_STATE[before] and (
        Tasker.objects.filter(pk=tasker.pk, state=before).update(state=after) == 1
    )
    if not moved:
        raise Conflict("The tasker's state was changed meanwhile: reload the page and look again.", "state_changed")
    tasker.state = after.value
    return StateChange.objects.create(
        tasker=tasker, before=before, after=after, code=code, reason=reason, event=event, by=by, changed_at=now
    )
