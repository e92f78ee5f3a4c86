"""Weeks being labeled: which are named, what is counted, on whom the forecast counts, and when there is none.
Organizers are told of pictures that nobody left may finish, with the cause and what to do, until somebody may."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from contest.core.enums import MessageKind
from contest.core.stuck_panels import ADVICE, CAUSES, read_stuck_groups
from contest.notifications.organizers import notify_stuck_panels
from contest.operations.deadlines import deadline_words, read_deadlines
from contest.operations.metrics import pipeline_metrics
from contest.outbox.letters import write_message
from contest.outbox.models import Message
from labeling.enums import AssignmentState, PanelState, StuckCause, TaskerState
from labeling.models import Assignment, Panel, Tasker, VoidedResponse, Voiding
from labeling.selectors import forget_versions
from policy.models import PolicyVersion
from policy.numbers import Policy
from tests import factories
from tests.contest.pages import lacking, words

pytestmark = pytest.mark.django_db
LAST_WEEK = datetime(2026, 11, 10, 9, tzinfo=UTC)  # in 2026-W46, which ends on Friday the 13th
DAY = timedelta(days=1)
ITS_LAST_LABELING_SECOND = datetime(2026, 11, 20, 23, 59, 59, tzinfo=UTC)


@pytest.fixture(autouse=True)
def in_force() -> None:
    factories.policy_version()


def waiting(count: int, *, received: datetime = LAST_WEEK) -> list[Panel]:
    return [factories.panel(factories.image(received_at=received), dealt_at=received) for _ in range(count)]


def worked(taskers: Sequence[Tasker], now: datetime, *, a_day: int = 4, days: int = 7) -> None:
    """Everybody answered so many settled pictures three hours before now, and at the same hour of each day before."""
    for day in range(days):
        at = now - timedelta(hours=3, days=day)
        for _ in range(a_day):
            panel = factories.panel(dealt_at=at)
            for tasker in taskers:
                factories.response(tasker, panel, now=at)
            factories.settle(panel, now=at)


@pytest.fixture(scope="class")
def crew(class_world: Path) -> list[Tasker]:
    factories.policy_version()
    crew = [factories.tasker(name) for name in ("tara", "otto", "uma")]
    worked(crew, factories.NOW)
    return crew


def test_the_deadline_is_told_in_the_contests_zone(now: datetime) -> None:
    numbers, since = Policy(time_zone="America/New_York").to_json(), datetime(2026, 2, 1, tzinfo=UTC)
    PolicyVersion.objects.create(version=2, numbers=numbers, in_force_from=since, reason="moved")
    forget_versions()
    waiting(1)
    told = (datetime(2026, 11, 21, 5, tzinfo=UTC), "America/New_York")
    assert [(week.at, week.zone) for week in read_deadlines(now=now).weeks] == [told]


@pytest.mark.parametrize(
    ("taskers", "a_day", "days", "ago", "words"),
    [
        (0, 0, 0, 0, "No answer in the last 24 hours: no forecast."),
        (3, 4, 7, 30, "No answer in the last 24 hours: no forecast."),
        (3, 3, 2, 0, "Only 18 answers by those at work in the last 7 days: too few for a forecast."),
        (3, 10, 1, 0, "Those at work began 3 h ago: a forecast needs what they do in a whole day."),
    ],
)
def test_too_little_to_go_by_is_said_plainly(
    taskers: int, a_day: int, days: int, ago: int, words: str, now: datetime
) -> None:
    waiting(2)
    crew = [factories.tasker(f"w{number}") for number in range(taskers)]
    worked(crew, now - timedelta(hours=ago), a_day=a_day, days=days)
    found = read_deadlines(now=now)
    told = [(week.left, week.chance, week.at_risk, week.finish, week.chance_words) for week in found.weeks]
    assert (found.why_not, told) == (words, [(2, None, 0, None, "")])


@pytest.mark.parametrize(
    ("chance", "words"),
    [
        (None, ""),
        (0.0, "under 1 %"),
        (0.004, "under 1 %"),
        (0.01, "1 %"),
        (0.964, "96 %"),
        (0.99, "99 %"),
        (1.0, "over 99 %"),
    ],
)
def test_a_chance_is_never_told_as_certain(chance: float | None, words: str) -> None:
    assert deadline_words(chance) == words


class TestWithACrew:
    """Three who answered four pictures on each of the last seven days."""

    def test_a_week_is_due_by_the_end_of_the_next_one(self, now: datetime, crew: list[Tasker]) -> None:
        found = read_deadlines(now=now)
        assert (found.weeks, found.waiting, found.why_not) == ((), (), ""), "without pictures nothing is wrong"
        waiting(5)
        factories.image(received_at=LAST_WEEK, label_from=now)  # due, and not dealt yet
        factories.image(received_at=LAST_WEEK, label_from=now + timedelta(days=1))  # nobody may see it yet
        (week,) = read_deadlines(now=now).weeks
        assert (week.week, week.last_second) == ("2026-W46", ITS_LAST_LABELING_SECOND)
        assert (week.left, week.answers, week.ahead) == (6, 18, 18)
        assert week.chance and 0.4 < week.chance < 0.7, "of the eight that each may give, six are needed"

    def test_too_many_pictures_are_at_risk_and_more_taskers_would_help(self, now: datetime, crew: list[Tasker]) -> None:
        waiting(20)  # 60 answers; twelve come in the morning of a day, so that two mornings until Friday bring 24
        found = read_deadlines(now=now)
        (week,) = found.weeks
        assert (week.chance, week.chance_words, week.unlikely) == (0, "under 1 %", True)
        assert week.given and week.given[0] <= 24 <= week.given[2] and week.more and week.more > 2
        assert 12 <= week.at_risk == sum(each.at_risk for each in found.waiting) <= 19
        assert week.finish == datetime(2026, 11, 23, 10, tzinfo=UTC), "the fifth day's answers are the last"

    def test_what_the_queue_has_first_is_at_risk_last(self, now: datetime, crew: list[Tasker]) -> None:
        panels = waiting(20)
        Panel.objects.filter(pk=panels[-1].pk).update(urgent=True)
        factories.response(factories.tasker("zoe"), panels[-2])
        found = read_deadlines(now=now)
        assert [each.image_id for each in found.waiting[:2]] == [panels[-1].image_id, panels[-2].image_id]
        chances = [each.chance for each in found.waiting if each.chance is not None]
        assert chances == sorted(chances, reverse=True)

    def test_what_the_board_asks_about_again_goes_first_and_is_of_no_week(
        self, now: datetime, crew: list[Tasker]
    ) -> None:
        """And it is named where too few may answer it (R19)."""
        again = waiting(2)[1]
        Panel.objects.filter(pk=again.pk).update(urgent=True)
        found = read_deadlines(now=now)
        assert (found.again, [(week.left, week.ahead) for week in found.weeks], found.stuck) == (1, [(1, 6)], ())
        Tasker.objects.exclude(pk=crew[0].pk).update(state="paused")
        cache.clear()
        stuck = [each for group in read_deadlines(now=now).stuck for each in group.panels]
        assert (again, 3, 1) in [(each.panel, each.places, each.people) for each in stuck]

    def test_what_nobody_left_may_finish_is_counted_and_has_no_chance(self, now: datetime, crew: list[Tasker]) -> None:
        panel, other = waiting(2)
        for each in crew[:2]:
            factories.response(each, Panel.objects.get(pk=panel.pk), now=now - timedelta(hours=2))
        factories.assignment(crew[2], panel, state=AssignmentState.RELEASED)
        assert all(each.chance for each in read_deadlines(now=now).waiting), "the third may take it up again"
        Assignment.objects.filter(state=AssignmentState.RELEASED).update(problem="It is grey.")
        cache.clear()
        found = read_deadlines(now=now)
        chances = {each.image_id: each.chance or 0 for each in found.waiting}
        assert chances[panel.image_id] == 0 and chances[other.image_id] > 0.95
        assert [(week.left, week.stuck) for week in found.weeks] == [(2, 1)]
        Panel.objects.filter(pk=panel.pk).update(state=PanelState.HELD)
        counts = [(week.left, week.held, week.answers) for week in read_deadlines(now=now).weeks]
        assert counts == [(1, 1, 3)], "a reported picture is told and not counted"

    def test_a_week_past_its_deadline_has_no_chance_and_an_end(self, now: datetime, crew: list[Tasker]) -> None:
        waiting(1, received=LAST_WEEK - timedelta(days=14))
        waiting(1)
        late, present = read_deadlines(now=now).weeks
        assert (late.week, late.chance, late.at <= now) == ("2026-W44", None, True)
        assert late.finish and late.finish > now and present.chance and present.chance > 0.95

    def test_on_whom_the_forecast_counts(self, now: datetime, crew: list[Tasker], olga: object) -> None:
        waiting(1)
        known, hour_ago = factories.gold(), now - timedelta(hours=1)
        factories.response(crew[0], known.panel, known=known, counted=False, now=hour_ago)
        voiding = Voiding.objects.create(tasker=crew[0], reason="careless", voided_at=now)
        for response in crew[0].responses.all()[:21]:
            VoidedResponse.objects.create(response=response, voiding=voiding)
        found = read_deadlines(now=now)
        # Surplus answers and gold fill no place; voided answers are given once more.
        assert ({each.per_day for each in found.at_work}, found.lost) == ({4}, 21 / 84)
        Tasker.objects.filter(pk__in=[crew[0].pk, crew[1].pk]).update(person=crew[0].pk)
        found = read_deadlines(now=now)
        both = (", ".join(sorted(each.public_id for each in crew[:2])), 8)
        assert [(each.public_id, each.per_day) for each in found.at_work] == [both, (crew[2].public_id, 4)]
        assert [each.chance for each in found.weeks] == [0], "two persons fill no panel of three"
        Tasker.objects.update(person=None)
        Tasker.objects.filter(pk=crew[0].pk).update(state="paused")
        found = read_deadlines(now=now)
        at_work = {each.public_id for each in found.at_work}
        assert (at_work, [each.chance for each in found.weeks]) == ({each.public_id for each in crew[1:]}, [0])

    def test_too_many_pictures_are_said_plainly(
        self, now: datetime, crew: list[Tasker], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("contest.operations.deadlines.MAX_PICTURES", 3)
        waiting(4)
        found = read_deadlines(now=now)
        assert (found.weeks, found.why_not) == ((), "More than 3 pictures wait: too many for a forecast of each.")


# Pictures that nobody left may finish --------------------------------------------------------------------------------


@pytest.fixture
def stuck(now: datetime) -> Panel:
    """Six accounts that became two persons, both of whom answered: a picture stays at 2 of 3."""
    panel, six = factories.panel(dealt_at=now - DAY), [factories.tasker(name) for name in "abcdef"]
    for each in (six[0], six[3]):
        factories.response(each, panel)
    for first in (0, 3):
        Tasker.objects.filter(pk__in=[each.pk for each in six[first : first + 3]]).update(person=six[first].pk)
    return panel


WHY = (
    "1 answer missing that nobody is giving, and nobody may still be asked. 4 accounts not asked yet cannot be: they "
    "are linked with another account that was, or with each other, and linked accounts are one person"
)
DO = "Invite 1 more tasker, or end a link that is wrong."


def test_the_overview_the_deadlines_and_health_name_the_cause(
    olga: Any, stuck: Panel, signed_in: Any, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    client = signed_in(olga)
    page = words(client, "/organizer/")
    waits, _, deadlines = page.partition("Needs attention")[2].partition("Deadlines")
    assert f"1 picture that nobody left may finish: {WHY}. {DO}" in waits
    assert not lacking(deadlines, WHY, DO, stuck.image.public_id)
    assert gauges(now) == {"linked": 1}
    factories.tasker("somebody new")
    cache.clear()
    page = words(client, "/organizer/")
    assert "nobody left may finish" not in page and "Nobody left" not in page and gauges(now) == {}


def gauges(now: datetime) -> dict[str, float]:
    cache.clear()
    (metric,) = (each for each in pipeline_metrics(now=now) if each.name == "unanimous_panels_stuck")
    values = {sample.labels["cause"]: sample.value for sample in metric.samples}
    assert set(values) == {cause.value for cause in StuckCause}
    return {cause: value for cause, value in values.items() if value}


def test_organizers_are_written_to_once_of_each_panel_and_cause(olga: Any, stuck: Panel, now: datetime) -> None:
    assert [notify_stuck_panels(now=now) for _ in range(2)] == [1, 0]
    letter = write_message(Message.objects.get(kind=MessageKind.PANELS_STUCK))
    assert letter.title == "Nobody left may finish 1 picture"
    assert not lacking(letter.text, WHY, DO, stuck.image.public_id)
    assert notify_stuck_panels(now=now + DAY) == 0, "nothing new"
    another = factories.panel(dealt_at=now)
    assert [notify_stuck_panels(now=now + timedelta(hours=2)) for _ in range(2)] == [0, 0], "once a day at most"
    assert notify_stuck_panels(now=now + DAY) == 1, "another picture"
    assert another.image.public_id in write_message(Message.objects.latest("pk")).text
    Tasker.objects.update(state=TaskerState.PAUSED)
    assert notify_stuck_panels(now=now + DAY) == 1, "another cause"
    Tasker.objects.update(state=TaskerState.QUALIFIED, person=None)
    assert read_stuck_groups(now=now) == () and notify_stuck_panels(now=now + 2 * DAY) == 0


def test_a_panel_that_has_just_come_is_not_written_of(olga: Any, now: datetime) -> None:
    factories.panel(dealt_at=now - timedelta(minutes=59))
    assert [notify_stuck_panels(now=now + timedelta(minutes=late)) for late in (0, 1)] == [0, 1]


def test_every_cause_has_its_words_and_its_advice() -> None:
    assert set(CAUSES) == set(ADVICE) == set(StuckCause)
