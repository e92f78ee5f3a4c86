"""Organizers are told of pictures that nobody left may finish, with the cause and what to do, until somebody may."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache

from contest.cockpit.stuck_panels import ADVICE, CAUSES, read_stuck_groups
from contest.enums import MessageKind
from contest.health import pipeline_metrics
from contest.messages.letters import written
from contest.messages.organizing import stuck_panels_tell
from contest.models import Message
from labeling.enums import StuckCause, TaskerState
from labeling.models import Panel, Tasker
from tests import factories
from tests.contest.pages import lacking, words

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def in_force(olga: Any) -> None:
    factories.policy_version()


@pytest.fixture
def stuck(now: datetime) -> Panel:
    """Six accounts that became two persons, both of whom answered: a picture stays at 2 of 3."""
    panel = factories.panel(dealt_at=now - DAY)
    six = [factories.tasker(name) for name in "abcdef"]
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
    deadlines, _, waits = page.partition("What waits, oldest first")
    assert f"1 picture that nobody left may finish: {WHY}. {DO}" in waits
    assert not lacking(deadlines, WHY, DO, stuck.image.public_id)
    assert gauges(now) == {"linked": 1}
    factories.tasker("somebody new")
    cache.clear()
    page = words(client, "/organizer/")
    assert "nobody left may finish" not in page and "Nobody left" not in page
    assert gauges(now) == {}


def gauges(now: datetime) -> dict[str, float]:
    cache.clear()
    (metric,) = (each for each in pipeline_metrics(now=now) if each.name == "unanimous_panels_stuck")
    assert {sample.labels["cause"] for sample in metric.samples} == {cause.value for cause in StuckCause}
    return {sample.labels["cause"]: sample.value for sample in metric.samples if sample.value}


def test_organizers_are_written_to_once_of_each_panel_and_cause(olga: Any, stuck: Panel, now: datetime) -> None:
    assert [stuck_panels_tell(now=now) for _ in range(2)] == [1, 0]
    letter = written(Message.objects.get(kind=MessageKind.PANELS_STUCK))
    assert letter.title == "Nobody left may finish 1 picture"
    assert not lacking(letter.text, WHY, DO, stuck.image.public_id)
    assert stuck_panels_tell(now=now + DAY) == 0, "nothing new"
    another = factories.panel(dealt_at=now)
    assert [stuck_panels_tell(now=now + timedelta(hours=2)) for _ in range(2)] == [0, 0], "once a day at most"
    assert stuck_panels_tell(now=now + DAY) == 1, "another picture"
    assert another.image.public_id in written(Message.objects.latest("pk")).text
    Tasker.objects.update(state=TaskerState.PAUSED)
    assert stuck_panels_tell(now=now + DAY) == 1, "another cause"
    Tasker.objects.update(state=TaskerState.QUALIFIED, person=None)
    assert read_stuck_groups(now=now) == () and stuck_panels_tell(now=now + 2 * DAY) == 0


def test_a_panel_that_has_just_come_is_not_written_of(olga: Any, now: datetime) -> None:
    factories.panel(dealt_at=now - timedelta(minutes=59))
    assert stuck_panels_tell(now=now) == 0
    assert stuck_panels_tell(now=now + timedelta(minutes=1)) == 1


def test_every_cause_has_its_words_and_its_advice() -> None:
    assert set(CAUSES) == set(ADVICE) == set(StuckCause)
