"""The states of a tasker: each way from one to the next, with its reason on record."""

from datetime import datetime

import pytest
from django.contrib.auth.models import User

from common.errors import Conflict
from labeling.enums import TaskerState
from labeling.models import StateChange, Tasker
from labeling.states import NEXT_TASKER_STATE, tasker_state_change
from tests import factories

pytestmark = pytest.mark.django_db
WAYS = [(before, after) for before in TaskerState for after in TaskerState]


@pytest.mark.parametrize(("before", "after"), WAYS, ids=[f"{before} to {after}" for before, after in WAYS])
def test_a_change_goes_along_the_table(before: TaskerState, after: TaskerState, olga: User, now: datetime) -> None:
    tasker = factories.tasker("tim", state=before)
    if after not in NEXT_TASKER_STATE[before]:
        with pytest.raises(Conflict):
            tasker_state_change(tasker=tasker, after=after, code="test", reason="a reason", now=now, by=olga)
        assert not StateChange.objects.exists()
        return
    change = tasker_state_change(tasker=tasker, after=after, code="test", reason="a reason", now=now, by=olga)
    assert (change.before, change.after, change.by, change.changed_at) == (before, after, olga, now)
    assert Tasker.objects.get().state == tasker.state == after


def test_whoever_is_late_changes_nothing(tara: Tasker, now: datetime) -> None:
    stale = Tasker.objects.get(pk=tara.pk)
    tasker_state_change(tasker=tara, after=TaskerState.PAUSED, code="paused", reason="first", now=now)
    with pytest.raises(Conflict):
        tasker_state_change(tasker=stale, after=TaskerState.LEARNING, code="requalify", reason="late", now=now)
    assert StateChange.objects.get().reason == "first"
