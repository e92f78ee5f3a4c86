"""Panels that nobody left may finish are found, each with its cause, and gone when somebody may again (R7, R8)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from labeling import services
from labeling.enums import StuckCause, TaskerState
from labeling.models import InstructionVersion, Panel, Tasker
from labeling.more_taskers import panel_fresh, panel_join
from labeling.selectors import forget_versions
from labeling.states import tasker_state_change
from labeling.stuck_panels import AWAY_AFTER, stuck_panels
from labeling.voiding import responses_void
from tests import factories
from tests.labeling.cast import claim, give_back, linked, people, submit

pytestmark = pytest.mark.django_db
LINKED, REQUALIFYING, PAUSED, SEEN, TOO_FEW, AWAY = StuckCause


@pytest.fixture(autouse=True)
def versions() -> None:
    factories.policy_version()


def answered(panel: Panel, *by: Tasker) -> Panel:
    """A panel with a counted answer of each of these."""
    for tasker in by:
        factories.response(tasker, panel)
    return Panel.objects.get(pk=panel.pk)


def change(*taskers: Tasker, **values: Any) -> None:
    Tasker.objects.filter(pk__in=[each.pk for each in taskers]).update(**values)


def found(now: datetime) -> list[tuple[StuckCause, int, int]]:
    return [(each.cause, each.places, each.people) for each in stuck_panels(now=now)]


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
    one, *others = people(*"abc")
    answered(panel, one)
    change(*others, state=TaskerState.PAUSED)


def all_have_seen_it(panel: Panel) -> None:
    """Three answered, one answer was voided with its tasker going on: nobody is asked twice."""
    crew = people(*"abc")
    answered(panel, *crew)
    responses_void(tasker=crew[0], since=None, reason="a test", by=None, now=factories.NOW)


def gone(panel: Panel) -> None:
    """The accounts of two of three were closed."""
    one, *others = people(*"abc")
    answered(panel, one)
    change(*others, user=None, left_at=factories.NOW)
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


@pytest.mark.both("own SQL counts persons, not accounts")
@pytest.mark.parametrize(("make", "expected", "why"), CASES, ids=[row[2] for row in CASES])
def test_the_cause_is_named_and_one_more_person_for_each_place_mends_it(
    make: Callable[[Panel], Any], expected: tuple[StuckCause, int, int], why: str, now: datetime
) -> None:
    make(factories.panel())
    assert found(now) == [expected], why
    (stuck,) = stuck_panels(now=now)
    more = people(*(f"new {number}" for number in range(stuck.needed)))
    change(*more, instructions=InstructionVersion.objects.latest("version").version)
    assert found(now) == []
    change(more[0], state=TaskerState.PAUSED)
    assert len(found(now)) == 1, "not one fewer"


def test_ending_the_links_or_pauses_mends_it_as_well(now: datetime) -> None:
    six_accounts_two_persons(factories.panel())
    Tasker.objects.filter(user__username__in="abc").update(person=None)
    assert found(now) == []
    Tasker.objects.filter(user__username__in="bcef").update(state=TaskerState.PAUSED)
    assert [cause for cause, *_ in found(now)] == [PAUSED]


# Who needs nobody else ------------------------------------------------------------------------------------------------


def test_places_that_somebody_holds_need_nobody(now: datetime) -> None:
    factories.panel()
    crew = people(*"abc")
    for each in crew:
        claim(each, now)
    change(*crew, state=TaskerState.PAUSED)
    assert found(now) == [], "they may still answer what they hold"


@pytest.mark.parametrize(
    ("accounts", "asked", "why"),
    [(3, 1, "one of the two was asked"), (4, 2, "each may not because the other was asked, though nobody answered")],
)
def test_who_let_it_lapse_may_take_it_up_again_unless_an_account_of_theirs_was_asked(
    accounts: int, asked: int, why: str, now: datetime
) -> None:
    factories.panel()
    crew = people(*"abcd"[:accounts])
    for each in crew[:asked]:
        claim(each, now)
    services.leases_lapse(now=now + timedelta(hours=1))
    assert found(now) == []
    linked(*crew[:2])
    assert found(now) == [(LINKED, 3, 2)], why


def test_an_answer_that_came_while_its_tasker_was_paused(now: datetime) -> None:
    """It is surplus: its place is free, and who gave it is never asked again, also after the pause."""
    panel, (one, *_) = factories.panel(), people(*"abc")
    held = claim(one, now)
    services.leases_end(tasker=one, now=now)
    said = {"code": "test", "reason": "test", "now": now, "by": factories.user("olga", "organizers")}
    tasker_state_change(tasker=held.tasker, after=TaskerState.PAUSED, **said)
    submit(held, now)
    tasker_state_change(tasker=held.tasker, after=TaskerState.QUALIFIED, **said)
    assert Panel.objects.get(pk=panel.pk).missing == 3
    assert found(now) == [(SEEN, 3, 2)]


def test_a_picture_that_a_tasker_reported_and_an_organizer_let_in_again(now: datetime) -> None:
    factories.panel()
    give_back(claim(people(*"abc")[0], now), now, problem="torn")
    Panel.objects.update(state="open")
    assert found(now) == [(SEEN, 3, 2)]


@pytest.mark.parametrize("fresh", [True, False], ids=["a fresh panel", "more taskers"])
def test_what_the_board_asked_for(fresh: bool, now: datetime) -> None:
    panel = factories.settle(answered(factories.panel(), *people(*"abc")))
    if fresh:
        panel_fresh(panel.image, 3, now=now)
    else:
        panel_join(panel, 3, now=now)
    assert found(now) == [(SEEN, 3, 0)]
    people(*"def")
    assert found(now) == []


@pytest.mark.parametrize("state", ["held", "full", "settled"])
def test_what_waits_for_somebody_else_is_not_stuck(state: str, now: datetime) -> None:
    answered(factories.panel(), *people(*"abc"))
    Panel.objects.update(state=state, **({"answered": 0, "missing": 3, "full_at": None} if state == "held" else {}))
    assert found(now) == []


# Who is away ----------------------------------------------------------------------------------------------------------


def test_people_who_have_not_been_here_for_days(now: datetime) -> None:
    panel, other = (factories.panel(dealt_at=now - AWAY_AFTER + late) for late in (timedelta(0), timedelta(hours=1)))
    *crew, last = people(*"abc")
    Tasker.objects.update(created_at=now - timedelta(days=30))
    (stuck,) = stuck_panels(now=now)
    assert (stuck.panel, stuck.cause, stuck.places, stuck.people, stuck.away) == (panel, AWAY, 3, 0, 3)
    for each in crew:
        factories.response(each, other, now=now - timedelta(days=1))
    assert found(now) == [(AWAY, 3, 2)]
    factories.response(last, other, now=now - timedelta(days=1))
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
