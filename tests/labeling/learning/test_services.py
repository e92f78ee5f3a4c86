"""Learning (R5): worked examples, tries, waiting, fresh pictures, passing, and new instructions."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from common.errors import Conflict, InvalidInput, WrongFields
from labeling import selectors as versions
from labeling.enums import AttemptKind, KnownUse, TaskerState, Topic
from labeling.learning import selectors
from labeling.learning.services import instructions_publish, lesson_see
from labeling.models import (
    InstructionVersion,
    KnownPicture,
    LessonSeen,
    QualificationItem,
    StateChange,
    Tasker,
)
from labeling.states import tasker_state_change
from tests.labeling.cast import kept, refused
from tests.labeling.learning.cast import POLICY, RIGHT, UNSURE, answer, begin, known, lessons, pool, ready, take

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def refusal(tasker: Tasker, now: datetime) -> str:
    with pytest.raises(Conflict) as caught:
        begin(tasker, now)
    return caught.value.code


# Worked examples.


def test_the_last_worked_example_finishes_the_tutorial(nell: Tasker, now: datetime) -> None:
    """Reading one again changes nothing."""
    first, second = lessons(2)
    for lesson, at, done, due in (
        (second, now, None, "tutorial"),
        (second, now + HOUR, None, "tutorial"),
        (first, now + 2 * HOUR, now + 2 * HOUR, "qualification"),
        (first, now + 3 * HOUR, now + 2 * HOUR, "qualification"),
    ):
        lesson_see(tasker=nell, known=lesson, now=at)
        nell.refresh_from_db()
        assert (nell.tutorial_done_at, selectors.what_is_due(nell, at)) == (done, due)
    assert LessonSeen.objects.get(known=second).seen_at == now


# Beginning a try.


def test_a_try_comes_after_the_tutorial_and_when_it_is_due(tara: Tasker, nell: Tasker, now: datetime) -> None:
    lessons(1), pool(10)
    assert (refusal(nell, now), refusal(tara, now)) == ("tutorial_first", "nothing_due")
    tasker_state_change(tasker=ready(nell), after=TaskerState.PAUSED, code="paused", reason="a pause", now=now)
    assert refusal(nell, now) == "nothing_due"


def test_a_try_has_ten_pictures_of_all_topics(nell: Tasker, now: datetime) -> None:
    """Unfinished, it goes on."""
    pool(45)
    attempt = begin(ready(nell), now)
    items = list(attempt.items.select_related("known").order_by("position"))
    assert (attempt.number, attempt.kind, attempt.size, attempt.needed) == (1, AttemptKind.FULL, 10, 8)
    assert [item.position for item in items] == list(range(1, 11))
    assert {item.known.topic for item in items} == set(Topic) - {Topic.UNCERTAIN}
    assert {item.known.use for item in items} == {KnownUse.QUALIFICATION}
    assert begin(nell, now + 30 * HOUR, seed=2) == attempt
    assert QualificationItem.objects.count() == 10


def test_retired_and_held_pictures_are_not_asked(nell: Tasker, now: datetime) -> None:
    rows = pool(12)
    KnownPicture.objects.filter(pk=rows[0].pk).update(retired_at=now, retired_because="leaked")
    KnownPicture.objects.filter(pk=rows[1].pk).update(held_at=now)
    assert {item.known_id for item in begin(ready(nell), now).items.all()} == {row.pk for row in rows[2:]}


def test_pictures_are_fresh_until_there_are_too_few(nell: Tasker, now: datetime) -> None:
    pool(29)
    first, second = take(ready(nell), now, right=0), take(nell, now, right=0, seed=2)
    seen = set(first.items.values_list("known", flat=True)) & set(second.items.values_list("known", flat=True))
    assert seen == set()
    assert refusal(nell, now) == "pool_exhausted"
    health = selectors.pool_health(POLICY)
    assert (health.tries, health.run_out, health.needs_pictures) == (2, [nell], True)
    pool(1)
    assert begin(nell, now).number == 3
    assert selectors.pool_health(POLICY).run_out == []


def test_after_the_third_try_there_is_a_day_between(nell: Tasker, now: datetime) -> None:
    pool(60)
    ready(nell)
    assert [take(nell, now, right=7, seed=number).passed for number in range(3)] == [False] * 3
    again = now + timedelta(seconds=9) + 24 * HOUR  # the tenth picture was answered nine seconds after the first
    assert refusal(nell, again - timedelta(microseconds=1)) == "wait"
    assert selectors.next_try_from(selectors.attempts_of(nell), POLICY) == again
    assert take(nell, again, right=7, seed=4).number == 4
    assert refusal(nell, again + HOUR) == "wait"


# Answering.


def test_answers_are_read_as_in_labeling(nell: Tasker, now: datetime) -> None:
    pool(10)
    item = begin(ready(nell), now).items.order_by("position")[0]
    with pytest.raises(WrongFields) as caught:
        answer(item, now, RIGHT | {"real": None, "outline": [[[1, 1], [9, 9], [1, 9], [9, 1]]]})
    assert set(caught.value.fields) == {"real", "outline"}
    assert kept(item, "answered_at") is None


def test_an_answer_is_marked_at_once_and_never_replaced(nell: Tasker, now: datetime) -> None:
    pool(10)
    item = begin(ready(nell), now).items.order_by("position")[0]
    sent = [answer(item, now + HOUR * late, RIGHT | {"seconds": 4.2 + late}).repeated for late in range(2)]
    assert sent == [False, True]
    with pytest.raises(Conflict, match="already"):
        answer(item, now, UNSURE)
    assert kept(item, "right", "answered_at", "milliseconds") == (True, now, 4200)
    assert item.marks == {"questions": dict.fromkeys(RIGHT, True), "iou_percent": 100.0}


# The outcome.


@pytest.mark.parametrize(("right", "state"), [(8, "qualified"), (10, "qualified"), (7, "learning")])
def test_eight_of_ten_pass(nell: Tasker, now: datetime, right: int, state: str) -> None:
    pool(10)
    attempt = take(ready(nell), now, right=right)
    assert (attempt.passed, nell.state, attempt.finished_at) == (right >= 8, state, now + timedelta(seconds=9))
    changes = list(StateChange.objects.values_list("before", "after", "code", "reason"))
    words = f"You passed the qualification: {right} of 10 pictures fully right."
    assert changes == ([("learning", "qualified", "qualified", words)] if right >= 8 else [])


def test_somebody_paused_in_the_middle_stays_paused(nell: Tasker, now: datetime) -> None:
    pool(10)
    attempt = begin(ready(nell), now)
    tasker_state_change(tasker=nell, after=TaskerState.PAUSED, code="paused", reason="a pause", now=now)
    for item in attempt.items.all():
        answer(item, now)
    nell.refresh_from_db()
    attempt.refresh_from_db()
    assert (nell.state, attempt.passed) == ("paused", True)


# New instructions, and monitoring.


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    yield
    versions.forget_versions()


def publish(by: object, now: datetime, **values: object) -> InstructionVersion:
    given = {"summary": "Wheels count.", "clarification": "", "requalify": True, "in_force_from": now} | values
    version = instructions_publish(by=by, now=now, **given)  # type: ignore[arg-type]
    versions.forget_versions()
    return version


@pytest.mark.parametrize(
    ("right", "instructions", "due"),
    [(4, 2, None), (3, 1, "short_qualification")],
    ids=["passed", "failed: it stays due"],
)
def test_new_instructions_ask_for_a_short_try(
    right: int, instructions: int, due: str | None, tara: Tasker, olga: object, now: datetime
) -> None:
    """If they say so."""
    pool(10)
    publish(olga, now - HOUR, requalify=False)
    assert selectors.what_is_due(tara, now) is None
    publish(olga, now)
    assert selectors.what_is_due(tara, now - HOUR) is None
    assert selectors.what_is_due(tara, now) == "short_qualification"
    attempt = take(tara, now, right=right)
    assert (attempt.kind, attempt.size, attempt.needed, attempt.passed) == ("short", 5, 4, right > 3)
    assert (tara.state, tara.instructions) == ("qualified", 3 if right > 3 else 1)
    assert selectors.what_is_due(tara, now) == due
    assert not StateChange.objects.exists()


def test_a_try_qualifies_for_the_instructions_it_was_begun_under(nell: Tasker, olga: object, now: datetime) -> None:
    pool(20)
    attempt = begin(ready(nell), now)
    publish(olga, now + HOUR)
    for item in attempt.items.all():
        answer(item, now + 2 * HOUR)
    assert kept(nell, "state", "instructions") == ("qualified", 1)
    assert selectors.what_is_due(nell, now + 2 * HOUR) == "short_qualification"


def test_monitoring_asks_for_a_short_try_and_tries_are_counted_anew_after_a_pass(tara: Tasker, now: datetime) -> None:
    pool(60)
    requalify = {"tasker": tara, "after": TaskerState.LEARNING, "code": "requalify", "reason": "gold", "now": now}
    tasker_state_change(**requalify)
    assert selectors.what_is_due(tara, now) == "short_qualification"
    tries = [take(tara, now, right=right, seed=right) for right in (0, 1, 5)]
    assert [(each.kind, each.passed) for each in tries] == [("short", False), ("short", False), ("short", True)]
    assert tara.state == "qualified"
    tasker_state_change(**requalify)
    assert take(tara, now, right=0, seed=6).number == 4
    assert begin(tara, now, seed=7).number == 5


def test_what_is_due_costs_the_ordinary_tasker_no_query(
    tara: Tasker, now: datetime, django_assert_num_queries: object
) -> None:
    selectors.what_is_due(tara, now)
    with django_assert_num_queries(0):  # type: ignore[operator]
        assert selectors.what_is_due(tara, now) is None


PUBLISHED = [
    ({"summary": "  "}, "no_summary", "nobody would know what changed"),
    ({"summary": "x" * 4001}, "too_long", "longer than anybody reads"),
    ({"clarification": "x" * 4001}, "too_long", "longer than anybody reads"),
    ({"in_force_from": timedelta(seconds=-1)}, "too_early", "answers already given would name another version"),
]


@pytest.mark.parametrize(("values", "code", "reason"), PUBLISHED, ids=[row[2] + row[1] for row in PUBLISHED])
def test_a_version_is_refused(olga: object, now: datetime, values: dict[str, object], code: str, reason: str) -> None:
    if "in_force_from" in values:
        values = {"in_force_from": now + timedelta(seconds=-1)}
    with refused(InvalidInput, code=code):
        publish(olga, now, **values)
    assert InstructionVersion.objects.count() == 1


def test_versions_follow_each_other_in_time(olga: object, now: datetime) -> None:
    later = publish(olga, now, in_force_from=now + 48 * HOUR, clarification=" A unicycle is no bicycle. ")
    assert (later.version, later.clarification, later.published_by) == (2, "A unicycle is no bicycle.", olga)
    with pytest.raises(InvalidInput, match="Version 2 begins later"):
        publish(olga, now)
    assert publish(olga, now, in_force_from=now + 48 * HOUR).version == 3


def test_a_tie_is_broken_towards_the_known_outline(nell: Tasker, now: datetime) -> None:
    for number in range(10):
        known(
            KnownUse.QUALIFICATION,
            position=number,
            topic=Topic.SEVERAL,
            outline="[[[5,5],[90,5],[90,90]]]" if number % 2 else "[[[205,5],[290,5],[290,90]]]",
        )
    asked = {item.known.position % 2: item.tie_break for item in begin(ready(nell), now).items.select_related("known")}
    assert asked == {0: "rightmost", 1: "leftmost"}
