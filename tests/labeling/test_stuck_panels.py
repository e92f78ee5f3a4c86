"""Panels that nobody left may finish are found, each with its cause, and gone when somebody may again (R7, R8)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from labeling import services
from labeling.enums import StuckCause, TaskerState
from labeling.models import Assignment, InstructionVersion, Panel, Tasker
from labeling.more_taskers import panel_fresh, panel_join
from labeling.policy import Policy
from labeling.selectors import forget_versions
from labeling.states import tasker_state_change
from labeling.stuck_panels import AWAY_AFTER, StuckPanel, stuck_panels
from labeling.voiding import responses_void
from tests import factories

pytestmark = pytest.mark.django_db
LINKED, REQUALIFYING, PAUSED, SEEN, TOO_FEW, AWAY = StuckCause


@pytest.fixture(autouse=True)
def versions() -> None:
    factories.policy_version()


def people(*names: str, **values: Any) -> list[Tasker]:
    return [factories.tasker(name, **values) for name in names]


def answered(panel: Panel, *by: Tasker) -> Panel:
    """A panel with a counted answer of each of these."""
    for tasker in by:
        factories.response(tasker, panel)
    return Panel.objects.get(pk=panel.pk)


def change(*taskers: Tasker, **values: Any) -> None:
    Tasker.objects.filter(pk__in=[each.pk for each in taskers]).update(**values)


def linked(*taskers: Tasker) -> None:
    change(*taskers, person=taskers[0].pk)


def found(now: datetime) -> list[tuple[StuckCause, int, int]]:
    return [(each.cause, each.places, each.people) for each in stuck_panels(now=now)]


def the_one(now: datetime) -> StuckPanel:
    (only,) = stuck_panels(now=now)
    return only


# Why ------------------------------------------------------------------------------------------------------------------


def six_accounts_two_persons(panel: Panel) -> None:
    six = people(*"abcdef")
    answered(panel, six[0], six[3])
    linked(*six[:3])
    linked(*six[3:])


def newer_instructions(panel: Panel) -> None:
    people(*"abc")
    InstructionVersion.objects.create(
        version=2, in_force_from=factories.NOW - timedelta(days=1), summary="new", requalify=True
    )
    forget_versions()


def some_paused(panel: Panel) -> None:
    one, two, three = people(*"abc")
    answered(panel, one)
    change(two, three, state=TaskerState.PAUSED)


def all_have_seen_it(panel: Panel) -> None:
    """Three answered, one answer was voided with its tasker going on: nobody is asked twice."""
    crew = people(*"abc")
    answered(panel, *crew)
    responses_void(
        tasker=crew[0], since=None, reason="a test", by=factories.user("olga", "organizers"), now=factories.NOW
    )


def gone(panel: Panel) -> None:
    """The accounts of two of three were closed."""
    crew = people(*"abc")
    answered(panel, crew[0])
    for each in crew[1:]:
        Tasker.objects.filter(pk=each.pk).update(user=None, left_at=factories.NOW)
    User.objects.filter(username__in="bc").delete()


CASES: list[tuple[Callable[[Panel], Any], tuple[StuckCause, int, int], str]] = [
    (lambda panel: None, (TOO_FEW, 3, 0), "nobody labels at all"),
    (lambda panel: people("a", "b"), (TOO_FEW, 3, 2), "two people for three places"),
    (lambda panel: people("a", "b", "c", state=TaskerState.LEARNING), (TOO_FEW, 3, 0), "nobody is qualified yet"),
    (gone, (TOO_FEW, 2, 0), "the others have left"),
    (lambda panel: User.objects.filter(tasker__in=people(*"abc")).update(is_active=False), (TOO_FEW, 3, 0),
     "their accounts are shut"),
    (six_accounts_two_persons, (LINKED, 1, 0), "six accounts turned out to be two persons"),
    (newer_instructions, (REQUALIFYING, 3, 0), "everybody has to qualify again"),
    (some_paused, (PAUSED, 2, 0), "the others are paused"),
    (all_have_seen_it, (SEEN, 1, 0), "an answer was voided, and everybody has seen the picture"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "expected", "why"), CASES, ids=[row[2] for row in CASES])
def test_the_cause_is_named_and_one_more_person_for_each_place_mends_it(
    change: Callable[[Panel], Any], expected: tuple[StuckCause, int, int], why: str, now: datetime
) -> None:
    panel = factories.panel()
    change(panel)
    assert found(now) == [expected], why
    needed = the_one(now).needed
    newest = InstructionVersion.objects.order_by("-version").values_list("version", flat=True)[0]
    more = people(*(f"new {number}" for number in range(needed)))
    change_all = {"instructions": newest}
    Tasker.objects.filter(pk__in=[each.pk for each in more]).update(**change_all)
    assert found(now) == []
    Tasker.objects.filter(pk=more[0].pk).update(state=TaskerState.PAUSED)
    assert len(found(now)) == 1, "not one fewer"


def test_ending_the_links_or_pauses_mends_it_as_well(now: datetime) -> None:
    six_accounts_two_persons(factories.panel())
    Tasker.objects.filter(user__username__in="abc").update(person=None)
    assert found(now) == []
    Tasker.objects.filter(user__username__in="bcef").update(state=TaskerState.PAUSED)
    assert [cause for cause, *_ in found(now)] == [PAUSED]


# Who needs nobody else ------------------------------------------------------------------------------------------------


def next_for(tasker: Tasker, now: datetime) -> Assignment:
    lease = services.assignment_next(tasker=tasker, holding=(), policy=Policy(gold_percent=0), now=now, rng=Random(1))
    assert isinstance(lease, Assignment)
    return lease


def test_places_that_somebody_holds_need_nobody(now: datetime) -> None:
    factories.panel()
    crew = people(*"abc")
    for each in crew:
        next_for(each, now)
    change(*crew, state=TaskerState.PAUSED)
    assert found(now) == [], "they may still answer what they hold"


def test_who_let_it_lapse_may_take_it_up_again(now: datetime) -> None:
    factories.panel()
    crew = people(*"abc")
    next_for(crew[0], now)
    services.leases_lapse(now=now + timedelta(hours=1))
    assert found(now) == []
    linked(crew[0], crew[1])
    assert found(now) == [(LINKED, 3, 2)]


def test_two_accounts_of_one_person_that_both_let_it_lapse_may_not(now: datetime) -> None:
    """Each may not because the other one was asked: nobody is left of them, though nobody answered."""
    factories.panel()
    crew = people(*"abcd")
    for each in crew[:2]:
        next_for(each, now)
    services.leases_lapse(now=now + timedelta(hours=1))
    linked(crew[0], crew[1])
    assert the_one(now).people == 2


def test_an_answer_that_came_while_its_tasker_was_paused(now: datetime) -> None:
    """It is surplus: its place is free, and who gave it is never asked again, also after the pause."""
    olga, crew = factories.user("olga", "organizers"), people(*"abc")
    panel = factories.panel()
    lease = next_for(crew[0], now)
    services.leases_end(tasker=crew[0], now=now)
    tasker_state_change(tasker=crew[0], after=TaskerState.PAUSED, code="test", reason="test", now=now, by=olga)
    services.response_submit(
        tasker=crew[0], assignment_id=lease.public_id, lease_token=lease.lease_token,
        data={"contains_bird": "definitely_no", "contains_bicycle": "definitely_no", "outline": None,
              "complete": None, "unoccluded": None, "real": None, "seconds": 3},
        policy_at=lambda moment: Policy(), now=now,
    )  # fmt: skip
    tasker_state_change(tasker=crew[0], after=TaskerState.QUALIFIED, code="test", reason="test", now=now, by=olga)
    assert Panel.objects.get(pk=panel.pk).missing == 3
    assert found(now) == [(SEEN, 3, 2)]


def test_a_picture_that_a_tasker_reported_and_an_organizer_let_in_again(now: datetime) -> None:
    factories.panel()
    crew = people(*"abc")
    lease = next_for(crew[0], now)
    services.assignment_release(
        tasker=crew[0], assignment_id=lease.public_id, lease_token=None, problem="torn", now=now
    )
    Panel.objects.update(state="open")
    assert found(now) == [(SEEN, 3, 2)]


@pytest.mark.parametrize("fresh", [True, False], ids=["a fresh panel", "more taskers"])
def test_what_the_board_asked_for(fresh: bool, now: datetime) -> None:
    panel = factories.panel()
    crew = people(*"abc")
    answered(panel, *crew)
    factories.settle(panel)
    if fresh:
        panel_fresh(panel.image, 3, now=now)
    else:
        panel_join(Panel.objects.get(pk=panel.pk), 3, now=now)
    assert found(now) == [(SEEN, 3, 0)]
    people(*"def")
    assert found(now) == []


@pytest.mark.parametrize("state", ["held", "full", "settled"])
def test_what_waits_for_somebody_else_is_not_stuck(state: str, now: datetime) -> None:
    panel = factories.panel()
    if state == "held":
        Panel.objects.update(state="held")
    else:
        answered(panel, *people(*"abc"))
        if state == "settled":
            factories.settle(panel)
    assert found(now) == []


# Who is away ----------------------------------------------------------------------------------------------------------


def test_people_who_have_not_been_here_for_days(now: datetime) -> None:
    panel = factories.panel(dealt_at=now - AWAY_AFTER)
    crew = people(*"abc")
    Tasker.objects.update(created_at=now - 30 * timedelta(days=1))
    assert found(now) == [(AWAY, 3, 0)]
    assert the_one(now).away == 3
    other = factories.panel(dealt_at=now - AWAY_AFTER + timedelta(hours=1))
    for each in crew[:2]:
        factories.response(each, other, now=now - timedelta(days=1))
    assert [(row.panel.pk, row.cause, row.people) for row in stuck_panels(now=now)] == [(panel.pk, AWAY, 2)]
    factories.response(crew[2], other, now=now - timedelta(days=1))
    assert found(now) == []


# How much it asks -----------------------------------------------------------------------------------------------------


def test_with_enough_people_no_panel_of_the_queue_is_read(now: datetime) -> None:
    """The statements are those of a database with nothing to find, and none reads the panels one by one."""
    people(*"abc")
    for _ in range(30):
        factories.panel()
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert stuck_panels(now=now) == []
    assert len(asked) <= 8
    of_panels = [row["sql"] for row in asked if 'FROM "labeling_panel"' in row["sql"]]
    assert of_panels and all("urgent" in sql.partition("WHERE")[2] or " IN (SELECT" in sql for sql in of_panels)


def test_of_very_many_the_oldest_are_looked_at(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labeling.stuck_panels.MOST_LOOKED_AT", 3)
    panels = [factories.panel(dealt_at=now - timedelta(minutes=number)) for number in range(6)]
    assert [each.panel.pk for each in stuck_panels(now=now)] == [each.pk for each in panels[:2:-1]]
