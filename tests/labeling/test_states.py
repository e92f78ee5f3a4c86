"""The states of a tasker and of a lease: each way from one to the next is in its table, and is gone by a service."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from common.errors import Conflict
from labeling import services
from labeling.enums import NEXT_ASSIGNMENT_STATE, AssignmentState, TaskerState
from labeling.models import Assignment, StateChange, Tasker
from labeling.states import NEXT_TASKER_STATE, tasker_state_change
from tests import factories
from tests.labeling.cast import POLICY, beat, claim, give_back, next_for, submit

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


# A lease --------------------------------------------------------------------------------------------------------------

HOUR = timedelta(hours=1)


# What services do with a lease that is there, by their names.
SERVICES: dict[str, Callable[[Assignment, datetime], Any]] = {
    "assignment_next": lambda held, now: next_for(held.tasker, now),
    "assignment_of": lambda held, now: services.assignment_of(
        tasker=held.tasker, panel=held.panel, policy=POLICY, now=now, rng=Random(1)
    ),
    "assignment_heartbeat": beat,
    "assignment_release": give_back,
    "response_submit": submit,
    "leases_end": lambda held, now: services.leases_end(tasker=held.tasker, now=now),
    "leases_lapse": lambda held, now: services.leases_lapse(now=now),
}
# How a lease comes to be in each state.
BROUGHT: dict[AssignmentState, tuple[str, ...]] = {
    AssignmentState.LEASED: (),
    AssignmentState.EXPIRED: ("leases_lapse",),
    AssignmentState.RELEASED: ("assignment_release",),
    AssignmentState.ANSWERED: ("response_submit",),
}


def test_services_take_every_step_of_a_lease_that_is_in_the_table_and_no_other(tara: Tasker, now: datetime) -> None:
    factories.policy_version()
    factories.panel()
    taken: dict[AssignmentState, set[AssignmentState]] = {state: set() for state in AssignmentState}
    for before in AssignmentState:
        for service in SERVICES.values():
            with transaction.atomic():
                held = claim(tara, now)
                for name in BROUGHT[before]:
                    SERVICES[name](held, now + HOUR)
                assert Assignment.objects.get().state == before
                with suppress(Conflict):
                    service(Assignment.objects.select_related("tasker").get(), now + HOUR)
                after = AssignmentState(Assignment.objects.get().state)
                taken[before] |= {after} - {before}
                transaction.set_rollback(True)
    assert taken == {state: set(following) for state, following in NEXT_ASSIGNMENT_STATE.items()}


def test_every_service_that_changes_a_lease_is_walked() -> None:
    named = {name for name in vars(services) if name.startswith(("assignment_", "response_", "leases_"))}
    assert named == set(SERVICES)
