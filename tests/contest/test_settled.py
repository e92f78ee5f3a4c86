"""When a week is over for money: every verdict there, and past its appeals (R22)."""

from datetime import datetime, timedelta

import pytest

from contest.models import Team
from contest.settled import appeals_close_at, appeals_closed, week_settled, weeks_between
from contest.weeks import week_at
from labeling.enums import PanelState
from labeling.models import Panel
from tests import factories
from tests.contest.money import cast
from tests.contest.money.cast import CLOSED, MONDAY

pytestmark = pytest.mark.django_db
DAY = timedelta(1)


@pytest.fixture
def red(db: None) -> Team:
    factories.policy_version()
    return cast.team("red")


def test_a_week_is_settled_when_every_picture_is_ruled_upon(red: Team) -> None:
    week = week_at(MONDAY)
    assert week_settled(week), "nothing was sent"
    sent = [cast.attack(red, days=days) for days in (1, 2)]
    assert not week_settled(week)
    cast.ruled(sent[0].image, "")
    assert not week_settled(week)
    cast.ruled(sent[1].image, "")
    assert week_settled(week)
    cast.open_again(sent[0].image)
    assert not week_settled(week), "more taskers were asked"


def test_a_valid_picture_is_waited_for_until_it_was_run(red: Team) -> None:
    week, net = week_at(MONDAY), cast.defense("net")
    sent = cast.attack(red)
    cast.ruled(sent.image)
    assert not week_settled(week) and not week_settled(week, of=net)
    cast.answered(net, sent.image, 1, at=week.end, rounds=2)
    assert not week_settled(week, of=net), "a round is missing"
    other = cast.attack(red, days=2)
    cast.broken(net, other)
    assert not week_settled(week, of=net)


def test_for_one_defense_its_own_runs_count_and_not_those_of_one_published_since(red: Team) -> None:
    week, net = week_at(MONDAY), cast.defense("net")
    cast.broken(net, cast.attack(red))
    late = cast.defense("late")
    assert week_settled(week, of=net) and not week_settled(week) and not week_settled(week, of=late)
    late.retired_at = CLOSED
    late.save()
    assert week_settled(week, of=late), "nothing new is run against it"


def test_a_picture_that_came_in_an_earlier_week_is_waited_for_as_well(red: Team) -> None:
    image = factories.image(origin="gold", received_at=cast.BEFORE, label_from=week_at(MONDAY).end)
    cast.attack(red, image=image)
    assert not week_settled(week_at(MONDAY))
    cast.ruled(image, "")
    assert week_settled(week_at(MONDAY))


@pytest.mark.parametrize(("changes", "why"), [({"withdrawn_at": MONDAY + 2 * DAY}, "taken back"), ({}, "kept out")])
def test_what_is_never_ruled_upon_is_not_waited_for(changes: dict[str, datetime], why: str, red: Team) -> None:
    image = factories.image(origin="gold", received_at=cast.BEFORE)
    cast.attack(red, image=image, **changes)
    if why == "kept out":
        factories.panel(image)
        Panel.objects.update(state=PanelState.HELD)
    assert week_settled(week_at(MONDAY)), why


def test_appeals_close_when_the_newest_ruling_is_old_enough(red: Team) -> None:
    week = week_at(MONDAY)
    first, second = (cast.attack(red, days=days) for days in (1, 2))
    cast.ruled(first.image, "", at=week.end + DAY)
    assert appeals_close_at(week) is None
    cast.ruled(second.image, "", at=week.end + 3 * DAY)
    closing = week.end + 10 * DAY
    assert appeals_close_at(week) == closing
    assert appeals_closed(week, now=closing) and not appeals_closed(week, now=closing - timedelta(microseconds=1))
    cast.overruled(first.image, at=closing)
    assert appeals_close_at(week) == closing + 7 * DAY


def test_an_empty_week_is_closed_when_it_is_over(red: Team) -> None:
    week = week_at(MONDAY)
    assert appeals_closed(week, now=week.end) and not appeals_closed(week, now=week.end - timedelta(microseconds=1))


def test_the_weeks_between_two_moments_are_whole_and_without_gaps(red: Team) -> None:
    weeks = list(weeks_between(MONDAY, MONDAY + 90 * DAY))
    assert (weeks[0], weeks[-1]) == (week_at(MONDAY), week_at(MONDAY + 90 * DAY))
    assert [week.end for week in weeks[:-1]] == [week.start for week in weeks[1:]]
    assert [week.name for week in weeks_between(MONDAY, MONDAY)] == ["2026-W47"]
