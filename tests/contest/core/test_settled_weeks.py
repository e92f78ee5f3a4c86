"""When a week is over for money: every verdict there, and past its appeals (R22)."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from contest.core.models import Attack, Release, Team
from contest.core.settled_weeks import Weeks, weeks_between
from contest.core.weeks import week_at
from labeling.enums import PanelState, ReportKind
from labeling.models import Image, Panel, Report
from labeling.selectors import forget_versions
from policy.calendar import Week
from policy.models import PolicyVersion
from policy.numbers import Policy
from scoring.enums import RunState
from scoring.models import Defense, Run
from tests import factories
from tests.contest.ledger import cast
from tests.contest.ledger.cast import CLOSED, MONDAY

pytestmark = pytest.mark.django_db
DAY = timedelta(1)
INSTANT = timedelta(microseconds=1)
EARLY = -16  # days before MONDAY


@pytest.fixture(autouse=True)
def looked_over(db: None) -> Iterator[None]:
    """Whatever a test leaves behind: many weeks that are looked over at once say the same as each by itself."""
    yield
    weeks, each, at_once = list(weeks_between(MONDAY + EARLY * DAY, MONDAY)), Weeks(CLOSED), Weeks(CLOSED)
    at_once.look_over(weeks)
    for of in Defense.objects.all():
        assert [told(at_once, week, of) for week in weeks] == [told(each, week, of) for week in weeks]


def told(weeks: Weeks, week: Week, of: Defense) -> dict[str, Any]:
    return {
        "week": week.name,
        "settled": weeks.settled(week, of=of),
        "rulings close": weeks.rulings_close_at(week),
        "cases": weeks.has_cases(week),
        "appeals close": weeks.appeals_close_at(week, of=of),
    }


@pytest.fixture
def red(db: None) -> Team:
    factories.policy_version()
    return cast.team("red")


def settled(week: Week, of: Defense | None = None) -> bool:
    """Say whether every verdict is there, and every run of a defense where one is given."""
    weeks = Weeks(CLOSED)
    return weeks.rulings_close_at(week) is not None if of is None else weeks.settled(week, of=of)


def test_a_week_has_its_verdicts_when_every_picture_is_ruled_upon(red: Team) -> None:
    week = week_at(MONDAY)
    assert settled(week), "nothing was sent"
    sent = [cast.attack(red, days=days) for days in (1, 2)]
    assert not settled(week)
    cast.ruled(sent[0].image, "")
    assert not settled(week)
    cast.ruled(sent[1].image, "")
    assert settled(week)
    cast.open_again(sent[0].image)
    assert not settled(week), "more taskers were asked"


def test_a_valid_picture_is_waited_for_until_it_was_run(red: Team) -> None:
    week, net, image = week_at(MONDAY), cast.defense("net"), cast.attack(red).image
    cast.ruled(image)
    assert not settled(week, net)
    cast.answered(net, image, 1, at=week.end, rounds=2)
    assert not settled(week, net), "a round is missing"
    cast.broken(net, cast.attack(red, days=2))
    assert not settled(week, net), "one of two was run"


def test_only_a_defense_that_is_in_force_is_waited_for(red: Team) -> None:
    week, net = week_at(MONDAY), cast.defense("net")
    cast.broken(net, cast.attack(red))
    late = cast.defense("late")
    assert (settled(week, net), settled(week, late)) == (True, False), "each waits for its own runs"
    late.retired_at = CLOSED
    late.save()
    assert settled(week, late), "nothing new is run against it"


ROUNDS = [
    (3, 2, False, "as in its week"),
    (2, 2, True, "fewer since then: no third one is ever planned"),
    (2, 3, False, "fewer since then, and a third one is still to come"),
]


@pytest.mark.parametrize(("rounds", "run", "is_settled", "why"), ROUNDS, ids=[row[3] for row in ROUNDS])
def test_rounds_are_those_of_the_policy_they_were_planned_by(
    rounds: int, run: int, is_settled: bool, why: str, red: Team
) -> None:
    week, net, image = week_at(MONDAY), cast.defense("net"), cast.attack(red).image
    _next_policy(since=week.end + DAY, evaluation_runs=rounds)
    cast.ruled(image)
    cast.answered(net, image, 1, at=week.end + (3 * DAY if run == 2 else 0 * DAY), rounds=run)
    Run.objects.filter(round=3).update(state=RunState.QUEUED)
    assert settled(week, net) is is_settled, why


def _next_policy(*, since: datetime, **numbers: int) -> None:
    PolicyVersion.objects.create(version=2, numbers=Policy(**numbers).to_json(), in_force_from=since, reason="tests")
    forget_versions()


def in_state(panel: Panel, state: PanelState) -> None:
    Panel.objects.filter(pk=panel.pk).update(state=state)


KNOWN: list[tuple[Callable[[Image], object], bool, str]] = [
    (lambda image: None, False, "known before it was sent, and never shown"),
    (lambda image: image.attacks.update(withdrawn_at=MONDAY + 2 * DAY), True, "taken back"),
    (lambda image: in_state(factories.panel(image), PanelState.HELD), True, "kept out"),
    (lambda image: cast.ruled(image, ""), True, "ruled upon"),
]


@pytest.mark.parametrize(("story", "is_settled", "why"), KNOWN, ids=[row[2] for row in KNOWN])
def test_what_came_before_it_was_sent_is_waited_for_as_well(
    story: Callable[[Image], object], is_settled: bool, why: str, red: Team
) -> None:
    image = factories.image(origin="gold", received_at=cast.BEFORE, label_from=week_at(MONDAY).end)
    cast.attack(red, image=image)
    story(image)
    assert settled(week_at(MONDAY)) is is_settled, why


@pytest.fixture
def net(red: Team) -> Defense:
    """A defense that is asked about nothing, so that verdicts alone are waited for."""
    Defense.objects.filter(pk=cast.defense("net").pk).update(retired_at=cast.BEFORE)
    return Defense.objects.get()


def test_appeals_close_when_the_newest_ruling_is_old_enough(red: Team, net: Defense) -> None:
    week = week_at(MONDAY)
    first, second = (cast.attack(red, days=days) for days in (1, 2))
    cast.ruled(first.image, "", at=week.end + DAY)
    assert Weeks(CLOSED).appeals_close_at(week, of=net) is None
    cast.ruled(second.image, "", at=week.end + 3 * DAY)
    assert Weeks(CLOSED).appeals_close_at(week, of=net) == (closing := week.end + 10 * DAY)
    assert Weeks(closing).appeals_closed(week, of=net) and not Weeks(closing - INSTANT).appeals_closed(week, of=net)
    cast.overruled(first.image, at=closing)
    assert Weeks(CLOSED).appeals_close_at(week, of=net) == closing + 7 * DAY


def test_each_ruling_may_be_appealed_for_the_days_of_its_own_policy(red: Team, net: Defense) -> None:
    week = week_at(MONDAY)
    PolicyVersion.objects.update(numbers=Policy(appeal_days=28).to_json())
    first, second = (cast.attack(red, days=days) for days in (1, 2))
    cast.ruled(first.image, "", at=week.end + DAY)
    _next_policy(since=week.end + 2 * DAY, appeal_days=7)
    cast.ruled(second.image, "", at=week.end + 3 * DAY)
    assert Weeks(CLOSED).appeals_close_at(week, of=net) == week.end + 29 * DAY, "not ten days after the week"


def test_who_sent_a_copy_of_a_rejected_picture_has_days_from_its_release_on(red: Team, net: Defense) -> None:
    week, first = week_at(MONDAY), cast.attack(red)
    copy = cast.attack(cast.team("green"), days=2, image=first.image, copy_of=first)
    cast.ruled(first.image, "", at=week.end + DAY)
    assert Weeks(CLOSED).appeals_close_at(week, of=net) is None, "they do not know of it yet"
    assert Weeks(CLOSED).open_before(CLOSED, of=net) == [week]
    cast.released(week.name)
    Release.objects.update(released_at=CLOSED - DAY)
    assert Weeks(CLOSED).appeals_close_at(week, of=net) == (closing := CLOSED + 6 * DAY)
    for now, closed, still_open in ((closing - INSTANT, False, [week]), (closing, True, [])):
        weeks = Weeks(now)
        assert (weeks.appeals_closed(week, of=net), weeks.open_before(now, of=net)) == (closed, still_open)
    Attack.objects.filter(pk=copy.pk).update(withdrawn_at=MONDAY + 2.5 * DAY)
    assert Weeks(CLOSED).appeals_close_at(week, of=net) == week.end + 8 * DAY, "what was taken back was never sent"


def test_a_copy_of_a_valid_picture_or_of_one_that_is_never_released_changes_nothing(red: Team, net: Defense) -> None:
    week, green = week_at(MONDAY), cast.team("green")
    valid = cast.attack(red)
    gold = cast.attack(red, image=factories.image(origin="gold", received_at=cast.BEFORE))
    for each, label in ((valid, "bird"), (gold, "")):
        cast.attack(green, days=2, image=each.image, copy_of=each)
        cast.ruled(each.image, label, at=week.end + DAY)
    assert Weeks(CLOSED).appeals_close_at(week, of=net) == week.end + 8 * DAY


def test_what_is_asked_of_many_defenses_reads_a_week_once(red: Team, django_assert_max_num_queries: Any) -> None:
    week, nets = week_at(MONDAY), [cast.defense(f"net {number}") for number in range(4)]
    cast.broken(nets[0], cast.attack(red))
    with django_assert_max_num_queries(10) as first:
        assert Weeks(CLOSED).appeals_closed(week, of=nets[0])
    with django_assert_max_num_queries(len(first)):
        weeks = Weeks(CLOSED)
        assert all(weeks.appeals_closed(week, of=each) for each in nets)


def test_of_weeks_without_a_picture_nothing_is_asked_and_each_is_closed_at_its_end(
    red: Team, django_assert_max_num_queries: Any
) -> None:
    net, many = cast.defense("net"), list(weeks_between(MONDAY - 84 * DAY, MONDAY - 7 * DAY))
    with django_assert_max_num_queries(2):
        weeks = Weeks(CLOSED)
        weeks.look_over(many)
        assert all(weeks.appeals_close_at(week, of=net) == week.end for week in many)
    week = week_at(MONDAY)
    for now, closed in ((week.end - INSTANT, False), (week.end, True)):
        found = Weeks(now)
        assert found.appeals_closed(week, of=net) is closed, "asked by itself"
        found.look_over([week])
        assert found.appeals_closed(week, of=net) is closed, "looked over"


# Weeks before a moment ------------------------------------------------------------------------------------------------

Story = Callable[[Team, Defense], object]


def sent(red: Team) -> Image:
    return cast.attack(red, days=EARLY).image


def answered(image: Image, net: Defense, *, rounds: int = 3) -> Image:
    cast.ruled(image, at=MONDAY)
    cast.answered(net, image, 1, at=MONDAY, rounds=rounds)
    return image


def reported(image: Image) -> None:
    asked = factories.assignment(factories.tasker("ada"), factories.panel(image))
    in_state(asked.panel, PanelState.HELD)
    told = {"kind": ReportKind.OFFENSIVE, "reported_at": MONDAY}
    Report.objects.create(assignment=asked, image=image, tasker=asked.tasker, **told)


def run_again(image: Image, net: Defense) -> None:
    answered(image, net)
    Run.objects.filter(items__image=image, round=3).update(state=RunState.QUEUED)


OPEN_BEFORE: list[tuple[Story, bool, str]] = [
    (lambda red, net: None, False, "nothing was sent"),
    (lambda red, net: sent(red), True, "no panel yet"),
    (lambda red, net: factories.panel(sent(red)), True, "no answers yet"),
    (lambda red, net: in_state(factories.settle(factories.panel(sent(red))), PanelState.FULL), True, "no ruling yet"),
    (lambda red, net: reported(sent(red)), True, "reported, and nobody decided"),
    (
        lambda red, net: cast.attack(
            red, days=EARLY, image=factories.image(origin="gold", received_at=cast.BEFORE)
        ),
        True,
        "known before",
    ),
    (lambda red, net: cast.ruled(sent(red), "", at=CLOSED - DAY), True, "rejected, and can be appealed"),
    (lambda red, net: cast.ruled(sent(red), "", at=MONDAY), False, "rejected, and past its appeals"),
    (lambda red, net: cast.ruled(sent(red), at=MONDAY), True, "valid, and not run"),
    (lambda red, net: answered(sent(red), net, rounds=2), True, "a round is missing"),
    (lambda red, net: run_again(sent(red), net), True, "a run is to come"),
    (lambda red, net: answered(sent(red), net), False, "valid, run, and past its appeals"),
    (lambda red, net: cast.overruled(answered(sent(red), net), at=CLOSED - DAY), True, "ruled again of late"),
    (lambda red, net: cast.attack(red, days=1), False, "of the week itself"),
    (lambda red, net: cast.attack(red, days=-2.4), True, "of the last day before"),
]  # fmt: skip


@pytest.mark.parametrize(("story", "is_open", "why"), OPEN_BEFORE, ids=[row[2] for row in OPEN_BEFORE])
def test_the_weeks_before_a_moment_that_are_open(story: Story, is_open: bool, why: str, red: Team) -> None:
    net = cast.defense("net")
    answered(cast.attack(red, days=EARLY - 7).image, net)
    story(red, net)
    weeks, each = Weeks(CLOSED).open_before(MONDAY, of=net), Weeks(CLOSED)
    early = [week for week in weeks_between(MONDAY - 24 * DAY, MONDAY) if week.end <= week_at(MONDAY).start]
    assert bool(weeks) is is_open, why
    assert weeks == [week for week in early if not each.appeals_closed(week, of=net)], why


ZONES = [("UTC", "a day is of one week"), ("Pacific/Kiritimati", "a day of UTC ends in the next week")]


@pytest.mark.both("the database cuts moments into days")
@pytest.mark.parametrize(("zone", "why"), ZONES, ids=[row[0] for row in ZONES])
def test_a_day_of_two_weeks_is_of_both(zone: str, why: str) -> None:
    factories.policy_version()
    PolicyVersion.objects.update(numbers=Policy(time_zone=zone).to_json())
    forget_versions()
    red, net = cast.team("red"), cast.defense("net")
    edge = week_at(MONDAY).start
    before = cast.attack(red, days=(edge - INSTANT - MONDAY) / DAY)
    cast.attack(red, days=(edge - MONDAY) / DAY)
    assert [week.name for week in Weeks(CLOSED).open_before(MONDAY, of=net)] == [before.week], why


def test_a_policy_of_more_rounds_asks_nothing_more_of_the_weeks_before_it(red: Team) -> None:
    net = cast.defense("net")
    answered(sent(red), net)
    _next_policy(since=MONDAY - 10 * DAY, evaluation_runs=5)
    assert Weeks(CLOSED).open_before(MONDAY, of=net) == []
    late = cast.attack(red, days=-4)
    answered(late.image, net)
    assert [week.name for week in Weeks(CLOSED).open_before(MONDAY + 7 * DAY, of=net)] == [late.week]


def test_of_many_closed_weeks_nothing_more_is_asked(red: Team, django_assert_max_num_queries: Any) -> None:
    net = cast.defense("net")
    answered(sent(red), net)
    with django_assert_max_num_queries(10) as few:
        assert Weeks(CLOSED).open_before(MONDAY, of=net) == []
    for week in range(10):
        answered(cast.attack(red, days=EARLY - 7 * week).image, net)
    with django_assert_max_num_queries(len(few)):
        assert Weeks(CLOSED).open_before(MONDAY, of=net) == []


def test_the_weeks_between_two_moments_are_whole_and_without_gaps(red: Team) -> None:
    weeks = list(weeks_between(MONDAY, MONDAY + 90 * DAY))
    assert (weeks[0], weeks[-1]) == (week_at(MONDAY), week_at(MONDAY + 90 * DAY))
    assert [week.end for week in weeks[:-1]] == [week.start for week in weeks[1:]]
    assert [week.name for week in weeks_between(MONDAY, MONDAY)] == ["2026-W47"]
