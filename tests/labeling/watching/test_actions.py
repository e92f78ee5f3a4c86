"""What an organizer may do about a tasker, and what the tasker is told (R6)."""

from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User

from common.errors import Conflict, DomainError, InvalidInput
from labeling.enums import PanelState, WatchAction
from labeling.models import Notice, Panel, StateChange, Tasker, VoidedResponse
from labeling.watching.actions import action_take, answers_void, tasker_return
from tests import factories
from tests.labeling.watching.rows import BIRD, full_panel

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("before", "action", "after", "told"),
    [
        ("qualified", WatchAction.WARN, "qualified", "A word about your answers: too loose"),
        ("qualified", WatchAction.PAUSE, "paused", "Your labeling is paused: too loose"),
        ("learning", WatchAction.PAUSE, "paused", "Your labeling is paused: too loose"),
        (
            "qualified",
            WatchAction.REQUALIFY,
            "learning",
            "A short qualification comes before the next picture: too loose",
        ),
        ("paused", WatchAction.REQUALIFY, "learning", "A short qualification comes before the next picture: too loose"),
    ],
)
def test_an_action(before: str, action: WatchAction, after: str, told: str, olga: User, now: datetime) -> None:
    tasker = factories.tasker("nina", state=before)
    action_take(tasker=tasker, action=action, reason=" too loose ", by=olga, now=now)
    assert Tasker.objects.get(pk=tasker.pk).state == after
    assert Notice.objects.get().text == told
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


def test_of_two_organizers_the_second_is_told(tara: Tasker, olga: User, now: datetime) -> None:
    same = Tasker.objects.get(pk=tara.pk)
    action_take(tasker=tara, action=WatchAction.PAUSE, reason="one", by=olga, now=now)
    with pytest.raises(Conflict):
        action_take(tasker=same, action=WatchAction.PAUSE, reason="two", by=olga, now=now)
    assert StateChange.objects.get().reason == "one"
    assert Notice.objects.count() == 1


def test_voiding_opens_places_and_leaves_settled_pictures(
    tara: Tasker, otto: Tasker, uma: Tasker, olga: User, now: datetime
) -> None:
    full, settled = (full_panel([tara, otto, uma], [BIRD] * 3) for _ in range(2))
    factories.settle(settled)
    answers_void(tasker=tara, since=None, reason="careless", by=olga, now=now)
    assert list(VoidedResponse.objects.values_list("response__panel", flat=True)) == [full.pk]
    assert Panel.objects.get(pk=full.pk).state == PanelState.OPEN
    assert Panel.objects.get(pk=settled.pk).state == PanelState.SETTLED
    assert "they stay in the record. The reason: careless" in Notice.objects.get(tasker=tara).text
    with pytest.raises(Conflict, match="no unsettled answer"):
        answers_void(tasker=tara, since=None, reason="again", by=olga, now=now)
