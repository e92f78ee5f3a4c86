"""Several tabs of one person at once, against PostgreSQL."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import pytest

from labeling.enums import KnownUse
from labeling.learning.services import attempt_start, instructions_publish, item_answer, lesson_see
from labeling.models import InstructionVersion, LessonSeen, QualificationAttempt, QualificationItem, StateChange, Tasker
from labeling.selectors import forget_versions
from tests import factories
from tests.labeling import cast as labeling_cast
from tests.labeling.cast import kept
from tests.labeling.learning.cast import POLICY, RIGHT, UNSURE, answer, begin, known, pool, ready

pytestmark = [
    pytest.mark.postgres("tabs of one person at once, with row locks"),
    pytest.mark.django_db(transaction=True),
]
TABS = 8


@pytest.fixture(autouse=True)
def recorded(transactional_db: None) -> None:
    forget_versions()
    factories.policy_version()


def at_once(act: Callable[[int], Any]) -> list[Any]:
    """What `act(number)` returns for each of several tabs, or the code it is refused with."""
    return labeling_cast.at_once(*[partial(act, number) for number in range(TABS)])


def test_two_starts_make_one_try(nell: Tasker, now: datetime) -> None:
    pool(40)
    ready(nell)
    started = at_once(lambda seed: attempt_start(tasker=nell, policy=POLICY, now=now, rng=Random(seed)).pk)
    assert set(started) == {QualificationAttempt.objects.get().pk}
    assert QualificationItem.objects.count() == 10


def test_the_last_answer_in_two_tabs_finishes_once(nell: Tasker, now: datetime) -> None:
    pool(10)
    items = list(begin(ready(nell), now).items.order_by("position"))
    for item in items[:-1]:
        answer(item, now)
    said = at_once(lambda number: answer(items[-1], now + timedelta(seconds=number)).repeated)
    assert sorted(said) == [False] + [True] * (TABS - 1)
    nell.refresh_from_db()
    assert (nell.state, StateChange.objects.count()) == ("qualified", 1)


def test_of_two_different_answers_one_is_kept(nell: Tasker, now: datetime) -> None:
    pool(10)
    item = begin(ready(nell), now).items.order_by("position")[0]
    forms = [RIGHT, UNSURE]

    def _say(number: int) -> bool:
        form = forms[number % 2]
        return item_answer(
            tasker=nell, item_id=item.public_id, data=dict(form), policy_at=lambda moment: POLICY, now=now
        ).repeated

    said = at_once(_say)
    assert said.count(False) == 1
    assert said.count("already_answered") == TABS // 2
    assert kept(item, "right") == (said.index(False) % 2 == 0)


def test_all_pictures_answered_at_once_finish_the_try(nell: Tasker, now: datetime) -> None:
    pool(10)
    items = list(begin(ready(nell), now).items.order_by("position"))
    for item in items[TABS:]:
        answer(item, now)
    at_once(lambda number: answer(items[number], now))
    assert QualificationAttempt.objects.get().passed is True
    assert StateChange.objects.count() == 1


def test_an_example_gone_through_twice_is_seen_once(nell: Tasker, now: datetime) -> None:
    only = known(KnownUse.TUTORIAL)
    at_once(lambda number: lesson_see(tasker=Tasker.objects.get(pk=nell.pk), known=only, now=now))
    nell.refresh_from_db()
    assert (LessonSeen.objects.count(), nell.tutorial_done_at) == (1, now)


def test_versions_published_at_once_follow_each_other(olga: Any, now: datetime) -> None:
    published = at_once(
        lambda number: (
            instructions_publish(
                summary=f"Change {number}.", clarification="", requalify=False, in_force_from=now, by=olga, now=now
            ).version
        )
    )
    numbers = sorted(number for number in published if isinstance(number, int))
    assert numbers == list(range(2, 2 + len(numbers)))
    assert numbers and InstructionVersion.objects.count() == 1 + len(numbers)
    assert published.count("ask_again") == TABS - len(numbers)
