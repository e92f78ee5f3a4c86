"""The steps of a week: what is done, what an organizer has to do, and what comes later."""

from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from adjudication.models import Ruling
from contest.core.models import Case, Release, Team
from contest.ledger.models import Account
from contest.releases import services
from contest.releases.week_checklist import StepState, WeekStep, week_checklist
from labeling.enums import PanelState
from labeling.models import Panel, Report
from policy.calendar import week_named
from scoring.enums import Fault
from tests import factories
from tests.contest import release_fixtures as cast
from tests.labeling.cast import shows

WEEK = week_named("2026-W47", "UTC")
TITLES = (
    "Reports",
    "Labeling",
    "Rulings",
    "Scoring",
    "Release",
    "Corrections",
    "Appeals",
    "Payments",
)
REPORTS, LABELED, RULED, SCORED, RELEASED, CORRECTED, APPEALS, MONEY = TITLES
IN_WEEK = cast.MONDAY + timedelta(hours=3)
MONTH_LATER = cast.AFTER + timedelta(days=30)


@pytest.fixture(scope="module")
def week_made(module_world: Path) -> cast.Contest:
    return cast.a_week()


@pytest.fixture
def contest(week_made: cast.Contest, db: None) -> cast.Contest:
    return deepcopy(week_made)


def steps(now: datetime = cast.AFTER) -> dict[str, WeekStep]:
    found = week_checklist(WEEK, now=now)
    assert tuple(each.title for each in found) == TITLES
    return {each.title: each for each in found}


def release(tmp_path: Path) -> Release:
    return services.release_week(WEEK, out=tmp_path, now=cast.AFTER).release


def _reopened(contest: cast.Contest, state: PanelState, case: str = "depiction", **values: Any) -> None:
    panel = contest.panels[case]
    Panel.objects.filter(pk=panel.pk).update(state=state, **values)


def _misses_an_answer(contest: cast.Contest, case: str = "depiction") -> None:
    _reopened(contest, PanelState.OPEN, case, answered=2, missing=1)


def _is_reported(contest: cast.Contest) -> None:
    _reopened(contest, PanelState.HELD, answered=2, missing=1)
    lease = factories.assignment(factories.tasker("theo"), contest.panels["depiction"])
    given = {"assignment": lease, "image": lease.image, "tasker": lease.tasker, "kind": "other"}
    Report.objects.create(**given, reported_at=cast.MONDAY)


def _is_full(contest: cast.Contest) -> None:
    _reopened(contest, PanelState.FULL)


def _has_another_defense(contest: cast.Contest) -> None:
    cast.defense(9)


def _gave_up(contest: cast.Contest) -> None:
    cast.faulted(cast.defense(9), contest.images["valid bird"], 1, Fault.IMAGE_PULL)


@pytest.mark.parametrize(
    ("change", "step", "words", "page"),
    [
        (_is_reported, REPORTS, "1 for an organizer to decide on a report", "reports"),
        (_misses_an_answer, LABELED, "1 for answers", "organizer-taskers"),
        (_is_full, RULED, "1 for a ruling", "overview"),
        (_has_another_defense, SCORED, "2 for runs", "scoring-queue"),
        (_gave_up, SCORED, "1 for runs, 1 for runs that gave up", "scoring-queue"),
    ],
)
def test_a_picture_that_waits_keeps_its_step_open_and_the_release_back(
    change: Callable[[cast.Contest], None], step: str, words: str, page: str, contest: cast.Contest
) -> None:
    change(contest)
    found = steps()
    at = TITLES.index(step)
    states = [found[title].state for title in TITLES[:4]]
    assert states == [StepState.DONE] * at + [StepState.WAITS] + [StepState.LATER] * (3 - at)
    assert (found[step].words, found[step].page) == (f"Pictures waiting: {words}.", page)
    assert (found[RELEASED].state, found[CORRECTED].state) == (StepState.LATER, StepState.LATER)


@pytest.mark.parametrize(
    ("now", "state", "words"),
    [
        (IN_WEEK, StepState.LATER, "After the week's end, when no picture waits."),
        (cast.AFTER, StepState.WAITS, "It is due, and is built by itself after those of the weeks before."),
    ],
)
def test_a_week_in_which_nothing_waits_is_released_when_it_is_over(
    now: datetime, state: StepState, words: str, contest: cast.Contest
) -> None:
    assert (steps(now)[RELEASED].state, steps(now)[RELEASED].words) == (state, words)


def test_what_is_added_after_the_release_is_a_correction_to_publish(contest: cast.Contest, tmp_path: Path) -> None:
    release(tmp_path)
    found = steps()
    assert (found[RELEASED].state, found[CORRECTED].state) == (StepState.DONE, StepState.DONE)
    assert "python3 verify.pyz release-2026-W47.zip" in found[RELEASED].words
    late = contest.panels["uncertain"]
    factories.response(factories.tasker("late"), late, now=MONTH_LATER, counted=False, **cast.drawn(cast.LARGE))
    found = steps(MONTH_LATER)
    assert (found[CORRECTED].state, found[CORRECTED].page) == (StepState.WAITS, "organizer-releases")
    assert found[CORRECTED].words == "Added since release-2026-W47: 1 answer of a tasker."


def test_appeals_end_a_week_after_the_last_ruling_and_wait_for_the_board(contest: cast.Contest) -> None:
    open_step = steps()[APPEALS]
    assert open_step.state is StepState.WAITS and open_step.until is not None
    assert steps(open_step.until - timedelta(seconds=1))[APPEALS].state is StepState.WAITS
    assert steps(open_step.until)[APPEALS].state is StepState.DONE
    _misses_an_answer(contest, "valid bird")
    assert steps()[APPEALS].state is StepState.LATER


def test_a_case_before_the_board_keeps_appeals_open(contest: cast.Contest) -> None:
    ruling = Ruling.objects.get(image=contest.images["valid bird"])
    at = {"opened_at": cast.AFTER, "due_at": MONTH_LATER}
    Case.objects.create(kind="picture", state="open", image=ruling.image, ruling=ruling, policy=ruling.policy, **at)
    found = steps(MONTH_LATER)[APPEALS]
    assert (found.state, found.words) == (StepState.WAITS, "The board has an open case about one of its pictures.")


def test_a_week_in_which_nothing_happened_has_no_release(contest: cast.Contest) -> None:
    week = week_named("2026-W50", "UTC")
    found = week_checklist(week, now=MONTH_LATER)
    assert {each.state for each in found} == {StepState.DONE}
    assert "Nothing happened in this week, so it has none." in [each.words for each in found]


def test_money_that_can_be_paid_is_a_step_of_the_week_that_ended_last(contest: cast.Contest) -> None:
    assert steps()[MONEY].state is StepState.DONE
    team = Team.objects.create(name="Rich", created_at=cast.MONDAY)
    Account.objects.create(kind="team", team=team, balance_cents=100)
    assert steps(MONTH_LATER)[MONEY].state is StepState.DONE, "by then it is a step of a later week"
    assert steps(IN_WEEK)[MONEY].state is StepState.LATER
    found = steps()[MONEY]
    assert (found.state, found.page, found.words) == (
        StepState.WAITS, "organizer-money", "1 team has money that can be paid."
    )  # fmt: skip


def test_the_page_of_a_week_shows_its_steps(contest: cast.Contest, olga: User, signed_in: Any, tmp_path: Path) -> None:
    release(tmp_path)
    page = signed_in(olga).get(f"/organizer/weeks/{WEEK.name}/")
    shows(page, *TITLES, "Check a copy with python3 verify.pyz")
