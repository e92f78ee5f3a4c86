"""What an organizer may do about a tasker, and what the tasker is told (R6)."""

from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User

from common.errors import Conflict, DomainError, InvalidInput
from labeling.enums import WatchAction
from labeling.models import Notice, StateChange, Tasker, VoidedResponse
from labeling.watching.actions import action_take, answers_void, tasker_return
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("before", "action", "after", "told"),
    [
        ("qualified", WatchAction.WARN, "qualified", "A word about your answers"),
        ("qualified", WatchAction.PAUSE, "paused", "Your labeling is paused"),
        ("learning", WatchAction.PAUSE, "paused", "Your labeling is paused"),
        ("qualified", WatchAction.REQUALIFY, "learning", "A short qualification comes before the next picture"),
        ("paused", WatchAction.REQUALIFY, "learning", "A short qualification comes before the next picture"),
    ],
)
def test_an_action(before: str, action: WatchAction, after: str, told: str, olga: User, now: datetime) -> None:
    action_take(tasker=factories.tasker("nina", state=before), action=action, reason=" too loose ", by=olga, now=now)
    assert (Tasker.objects.get().state, Notice.objects.get().text) == (after, f"{told}: too loose")
    changes = list(StateChange.objects.values_list("before", "after", "reason", "by"))
    assert changes == ([] if before == after else [(before, after, "too loose", olga.pk)])


@pytest.mark.parametrize(
    ("state", "do", "error", "why"),
    [
        ("paused", {"action": WatchAction.PAUSE}, Conflict, "paused already"),
        ("learning", {"action": WatchAction.REQUALIFY}, Conflict, "there is a qualification before labeling anyway"),
        ("qualified", {"action": WatchAction.WARN, "reason": " \n"}, InvalidInput, "no reason"),
        ("qualified", {"action": WatchAction.WARN, "reason": "x" * 1001}, InvalidInput, "too long a reason"),
    ],
)
def test_what_is_refused(
    state: str, do: dict[str, Any], error: type[DomainError], why: str, olga: User, now: datetime
) -> None:
    tasker = factories.tasker("nina", state=state)
    with pytest.raises(error):
        action_take(**({"tasker": tasker, "reason": "why", "by": olga, "now": now} | do))
    assert not Notice.objects.exists(), why


@pytest.mark.parametrize("before", ["qualified", "learning"])
def test_who_returns_goes_on_where_the_pause_began(before: str, olga: User, now: datetime) -> None:
    tasker = factories.tasker("nina", state=before)
    action_take(tasker=tasker, action=WatchAction.PAUSE, reason="away", by=olga, now=now)
    tasker_return(tasker=tasker, reason="back", by=olga, now=now)
    assert Tasker.objects.get(pk=tasker.pk).state == before


def test_nobody_returns_who_is_not_paused(tara: Tasker, olga: User, now: datetime) -> None:
    with pytest.raises(Conflict, match="not paused"):
        tasker_return(tasker=tara, reason="back", by=olga, now=now)


def test_voiding_is_told_once_with_its_reason(tara: Tasker, olga: User, now: datetime) -> None:
    factories.response(tara, factories.panel())
    answers_void(tasker=tara, since=None, reason="careless", by=olga, now=now)
    assert VoidedResponse.objects.count() == 1
    assert "they stay in the record. The reason: careless" in Notice.objects.get(tasker=tara).text
    with pytest.raises(Conflict, match="no unsettled answer"):
        answers_void(tasker=tara, since=None, reason="again", by=olga, now=now)
