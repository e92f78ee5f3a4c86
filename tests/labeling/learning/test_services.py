"""Learning (R5): examples, tries, passing, new instructions, known pictures, and how answers are marked (R6)."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from io import StringIO
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from hypothesis import given
from hypothesis import strategies as st

from common.errors import Conflict, InvalidInput, WrongFields
from labeling import selectors as versions
from labeling.enums import Answer, AttemptKind, KnownUse, Origin, TaskerState, TieBreak, Topic
from labeling.learning import content, selectors, wording
from labeling.learning.drawing import draw_pictures, tie_break_for
from labeling.learning.services import instructions_publish, lesson_mark_seen
from labeling.marking import RightAnswers, TaskerAnswers, mark
from labeling.models import (
    Image,
    InstructionVersion,
    KnownPicture,
    LessonSeen,
    QualificationItem,
    StateChange,
    Tasker,
)
from labeling.pictures.intake import import_picture
from labeling.states import tasker_state_change
from policy.numbers import Policy
from tests import factories
from tests.labeling.cast import kept, refused
from tests.labeling.learning.cast import POLICY, RIGHT, UNSURE, answer, begin, known, lessons, pool, ready, take
from tests.tables import cases

pytestmark = pytest.mark.django_db


HOUR = timedelta(hours=1)


def refusal(tasker: Tasker, now: datetime) -> str:
    return str(refused(Conflict, begin, tasker, now).code)


def test_the_last_worked_example_finishes_the_tutorial(nell: Tasker, now: datetime) -> None:
    """Reading one again changes nothing."""
    first, second = lessons(2)
    for lesson, at, done, due in (
        (second, now, None, "tutorial"),
        (second, now + HOUR, None, "tutorial"),
        (first, now + 2 * HOUR, now + 2 * HOUR, "qualification"),
        (first, now + 3 * HOUR, now + 2 * HOUR, "qualification"),
    ):
        lesson_mark_seen(tasker=nell, known=lesson, now=at)
        nell.refresh_from_db()
        assert (nell.tutorial_done_at, selectors.due_item(nell, at)) == (done, due)
    assert LessonSeen.objects.get(known=second).seen_at == now


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
    topics = set(Topic) - {Topic.UNCERTAIN}
    assert {(item.known.topic, item.known.use) for item in items} == {(each, KnownUse.QUALIFICATION) for each in topics}
    assert (begin(nell, now + 30 * HOUR, seed=2), QualificationItem.objects.count()) == (attempt, 10)


def test_retired_and_held_pictures_are_not_asked(nell: Tasker, now: datetime) -> None:
    rows = pool(12)
    KnownPicture.objects.filter(pk=rows[0].pk).update(retired_at=now, retired_because="leaked")
    KnownPicture.objects.filter(pk=rows[1].pk).update(held_at=now)
    assert {item.known_id for item in begin(ready(nell), now).items.all()} == {row.pk for row in rows[2:]}


def test_pictures_are_fresh_until_there_are_too_few(nell: Tasker, now: datetime) -> None:
    pool(29)
    first, second = take(ready(nell), now, right=0), take(nell, now, right=0, seed=2)
    seen = set(first.items.values_list("known", flat=True)) & set(second.items.values_list("known", flat=True))
    assert (seen, refusal(nell, now)) == (set(), "pool_exhausted")
    health = selectors.pool_health(POLICY)
    assert (health.tries, health.run_out, health.needs_pictures) == (2, [nell], True)
    pool(1)
    assert (begin(nell, now).number, selectors.pool_health(POLICY).run_out) == (3, [])


def test_after_the_third_try_there_is_a_day_between(nell: Tasker, now: datetime) -> None:
    pool(60)
    ready(nell)
    assert [take(nell, now, right=7, seed=number).passed for number in range(3)] == [False] * 3
    again = now + timedelta(seconds=9) + 24 * HOUR  # the tenth picture was answered nine seconds after the first
    assert refusal(nell, again - timedelta(microseconds=1)) == "wait"
    assert selectors.next_try_from(selectors.attempts_of(nell), POLICY) == again
    assert (take(nell, again, right=7, seed=4).number, refusal(nell, again + HOUR)) == (4, "wait")


def test_an_answer_is_read_as_in_labeling_marked_at_once_and_never_replaced(nell: Tasker, now: datetime) -> None:
    pool(10)
    item = begin(ready(nell), now).items.order_by("position")[0]
    wrong = refused(WrongFields, answer, item, now, RIGHT | {"real": None, "outline": 7})
    assert (set(wrong.fields), kept(item, "answered_at")) == ({"real", "outline"}, None)
    sent = [answer(item, now + HOUR * late, RIGHT | {"seconds": 4.2 + late}).repeated for late in range(2)]
    assert sent == [False, True]
    assert "already" in str(refused(Conflict, answer, item, now, UNSURE))
    assert kept(item, "right", "answered_at", "milliseconds") == (True, now, 4200)
    assert item.marks == {"questions": dict.fromkeys(RIGHT, True), "iou_percent": 100.0}


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
    assert (kept(nell, "state"), kept(attempt, "passed")) == ("paused", True)


def publish(by: object, now: datetime, **values: object) -> InstructionVersion:
    given = {"summary": "Wheels count.", "clarification": "", "requalify": True, "in_force_from": now} | values
    version = instructions_publish(by=by, now=now, **given)  # type: ignore[arg-type]
    versions.forget_versions()
    return version


@pytest.mark.parametrize(
    ("right", "instructions", "due"),
    [(4, 3, None), (3, 1, "short_qualification")],
    ids=["passed", "failed: it stays due"],
)
def test_new_instructions_ask_for_a_short_try(
    right: int, instructions: int, due: str | None, tara: Tasker, olga: object, now: datetime
) -> None:
    """If they say so."""
    pool(10)
    publish(olga, now - HOUR, requalify=False)
    assert selectors.due_item(tara, now) is None
    publish(olga, now)
    assert [selectors.due_item(tara, at) for at in (now - HOUR, now)] == [None, "short_qualification"]
    attempt = take(tara, now, right=right)
    assert (attempt.kind, attempt.size, attempt.needed, attempt.passed) == ("short", 5, 4, right > 3)
    assert (tara.state, tara.instructions) == ("qualified", instructions)
    assert (selectors.due_item(tara, now), StateChange.objects.count()) == (due, 0)


def test_a_try_qualifies_for_the_instructions_it_was_begun_under(nell: Tasker, olga: object, now: datetime) -> None:
    pool(20)
    attempt = begin(ready(nell), now)
    publish(olga, now + HOUR)
    for item in attempt.items.all():
        answer(item, now + 2 * HOUR)
    assert kept(nell, "state", "instructions") == ("qualified", 1)
    assert selectors.due_item(nell, now + 2 * HOUR) == "short_qualification"


def test_monitoring_asks_for_a_short_try_and_tries_are_counted_anew_after_a_pass(tara: Tasker, now: datetime) -> None:
    pool(60)
    requalify = {"tasker": tara, "after": TaskerState.LEARNING, "code": "requalify", "reason": "gold", "now": now}
    tasker_state_change(**requalify)
    assert selectors.due_item(tara, now) == "short_qualification"
    tries = [take(tara, now, right=right, seed=right) for right in (0, 1, 5)]
    assert [(each.kind, each.passed) for each in tries] == [("short", False), ("short", False), ("short", True)]
    assert tara.state == "qualified"
    tasker_state_change(**requalify)
    assert (take(tara, now, right=0, seed=6).number, begin(tara, now, seed=7).number) == (4, 5)


def test_what_is_due_costs_the_ordinary_tasker_no_query(
    tara: Tasker, now: datetime, django_assert_num_queries: object
) -> None:
    selectors.due_item(tara, now)
    with django_assert_num_queries(0):  # type: ignore[operator]
        assert selectors.due_item(tara, now) is None


@cases(
    "values code reason",
    ({"summary": "  "}, "no_summary", "nobody would know what changed"),
    ({"summary": "x" * 4001}, "too_long", "longer than anybody reads"),
    ({"clarification": "x" * 4001}, "too_long", "a clarification longer than that"),
    (
        {"in_force_from": factories.NOW - timedelta(seconds=1)},
        "too_early",
        "answers already given would name another version",
    ),
)
def test_a_version_is_refused(olga: object, now: datetime, values: dict[str, object], code: str, reason: str) -> None:
    assert refused(InvalidInput, publish, olga, now, **values).code == code
    assert InstructionVersion.objects.count() == 1


def test_versions_follow_each_other_in_time(olga: object, now: datetime) -> None:
    later = publish(olga, now, in_force_from=now + 48 * HOUR, clarification=" A unicycle is no bicycle. ")
    assert (later.version, later.clarification, later.published_by) == (2, "A unicycle is no bicycle.", olga)
    assert "Version 2 begins later" in str(refused(InvalidInput, publish, olga, now))
    assert publish(olga, now, in_force_from=now + 48 * HOUR).version == 3


def test_a_tie_is_broken_towards_the_known_outline(nell: Tasker, now: datetime) -> None:
    sides = ("[[[205,5],[290,5],[290,90]]]", "[[[5,5],[90,5],[90,90]]]")
    for number in range(10):
        known(KnownUse.QUALIFICATION, position=number, topic=Topic.SEVERAL, outline=sides[number % 2])
    asked = {item.known.position % 2: item.tie_break for item in begin(ready(nell), now).items.select_related("known")}
    assert asked == {0: "rightmost", 1: "leftmost"}


ROWS = [dict(row) for row in content.listed_pictures()]


POOL = [row for row in ROWS if row["use"] == KnownUse.QUALIFICATION]


@pytest.fixture(scope="class")
def loaded(class_world: Path) -> int:
    """How many pictures of the application the first loading took in."""
    return content.known_pictures_load(policy=Policy(), now=factories.NOW)


class TestAllOfThem:
    def test_loading_takes_every_picture_in_once(self, loaded: int, now: datetime) -> None:
        assert (loaded, content.known_pictures_load(policy=Policy(), now=now)) == (len(ROWS), 0)
        assert KnownPicture.objects.count() == Image.objects.count() == len(ROWS)
        # Never dealt to taskers, and their origin says what they are.
        assert set(Image.objects.values_list("origin", "label_from")) == {(Origin.EXAMPLE, None)}

    def test_loading_again_brings_the_answers_to_what_they_are_now(self, loaded: int, now: datetime) -> None:
        """The command says how many are new."""
        row = KnownPicture.objects.filter(use=KnownUse.QUALIFICATION).latest("pk")
        KnownPicture.objects.filter(pk=row.pk).update(min_iou_percent=1, retired_at=now, retired_because="leaked")
        out = StringIO()
        call_command("load_known_pictures", stdout=out)
        assert out.getvalue() == "0 pictures to learn from are new.\n"
        # What an organizer decided stays.
        right = row.min_iou_percent
        assert kept(row, "min_iou_percent", "retired_because") == (right, "leaked")


def test_a_contest_with_pictures_of_another_size_is_refused(now: datetime) -> None:
    assert "is 299 x 299; pictures of this contest are 64 x 64" in str(
        refused(InvalidInput, content.known_pictures_load, policy=replace(Policy(), image_size=64), now=now)
    )


def test_the_pool_lasts_for_four_whole_tries_of_every_kind() -> None:
    assert len(POOL) >= 4 * Policy().qualification_size
    kinds = Counter((row["topic"], row["accepts_bird"][0] if row["topic"] == Topic.CLEAR else "") for row in POOL)
    assert ({topic for topic, _ in kinds}, min(kinds.values()) >= 4) == (set(Topic) - {Topic.UNCERTAIN}, True)


def test_the_tutorial_shows_each_rule_right_and_wrong() -> None:
    lessons = [row for row in ROWS if row["use"] == KnownUse.TUTORIAL]
    assert [row["position"] for row in lessons] == list(range(1, len(lessons) + 1))
    assert {row["topic"] for row in lessons} == set(Topic)
    statements = ("complete", "unoccluded", "real")
    assert {(name, row[name]) for row in lessons for name in statements} == set(
        product(statements, (True, False, None))
    )


def test_every_answer_has_its_reason_in_both_languages() -> None:
    for row in ROWS:
        asked = set(QUESTIONS if row["outline"] else QUESTIONS[:2])
        titled = {"title"} if row["use"] == KnownUse.TUTORIAL else set()
        english, german = row["reasons"]["en"], row["reasons"]["de"]
        assert [name for name in asked | titled if not (english[name].strip() and german[name].strip())] == []
        assert [name for name in asked if english[name] == german[name]] == [], row["file"]


def test_outlines_go_with_the_answers() -> None:
    for row in ROWS:
        one_class = {row["accepts_bird"][0], row["accepts_bicycle"][0]} == {"definitely_yes", "definitely_no"}
        assert bool(row["outline"]) is one_class, row["file"]
        stated = [row[name] for name in ("complete", "unoccluded", "real")]
        assert all(isinstance(value, bool) for value in stated) is one_class, row["file"]
        edges = [each for ring in row["outline"] for corner in ring for each in corner]
        if edges:
            assert row["complete"] is all(1 <= each <= 298 for each in edges), row["file"]


def test_sizes_are_what_the_topics_say() -> None:
    fraction = Policy().min_box_fraction
    for row in POOL:
        if row["topic"] in (Topic.TOO_SMALL, Topic.CLEAR):
            share = wording.box_share(str(row["outline"]), 299**2)
            # No borderline cases: clearly below or clearly above.
            assert share < fraction * 3 / 4 if row["topic"] == Topic.TOO_SMALL else share > fraction * 5 / 4, row[
                "file"
            ]


def test_every_picture_is_credited_and_small_enough() -> None:
    files = {path.name: path.stat().st_size for path in content.PICTURES.glob("*.png")}
    assert (set(files), sum(files.values()) < 6_000_000) == ({row["file"] for row in ROWS}, True)
    assert all(row["source"] and row["licence"].startswith("CC BY 2.0") for row in ROWS)


@cases(
    "said words reason",
    ({}, "is not a list of pictures", "no list"),
    ([{"file": "a.png"}], "a.png: give exactly accepts_bicycle", "fields are missing"),
    ([ROWS[0] | {"topic": "weather"}], "tutorial-01-clear.png: topic is one of", "no such topic"),
    ([ROWS[0] | {"use": "gold"}], "use is one of qualification, tutorial", "gold is made of settled pictures"),
    ([ROWS[0] | {"accepts_bird": []}], "accepts_bird is one of", "nothing would be right"),
    ([ROWS[0] | {"file": "none.png"}], "none.png cannot be read", "no file"),
    ([ROWS[0] | {"outline": [[[0, 0], [9, 9], [0, 9], [9, 0]]]}], "crosses or touches itself", "a crossing"),
    ([ROWS[0] | {"licence": " "}], "Give the licence of the picture", "no licence (R3)"),
)
def test_a_folder_that_is_wrong_is_refused_whole(
    said: object, words: str, reason: str, tmp_path: Path, now: datetime
) -> None:
    shutil.copy(content.PICTURES / str(ROWS[0]["file"]), tmp_path)
    (tmp_path / "known.json").write_text(json.dumps(said))
    refusal = refused(InvalidInput, content.known_pictures_load, policy=Policy(), now=now, folder=tmp_path)
    assert (words in str(refusal), Image.objects.count()) == (True, 0)


def test_a_folder_of_one_s_own_is_taken_in(tmp_path: Path, now: datetime) -> None:
    shutil.copy(content.PICTURES / str(ROWS[0]["file"]), tmp_path)
    (tmp_path / "known.json").write_text(json.dumps([ROWS[0] | {"use": "qualification", "author": "Olga"}]))
    assert content.known_pictures_load(policy=Policy(), now=now, folder=tmp_path) == 1
    row = KnownPicture.objects.values_list("use", "image__author", "image__origin").get()
    assert row == ("qualification", "Olga", "example")


@pytest.mark.parametrize(
    "since",
    [
        {"origin": Origin.GOLD, "label_from": factories.NOW},
        {"origin": Origin.GOLD, "dealt_at": factories.NOW},
        {"origin": Origin.DATASET},
        {"origin": Origin.ATTACK},
    ],
    ids=["due", "dealt", "an attack may make it due", "its attack was withdrawn, and another may make it due"],
)
@pytest.mark.parametrize("number", [0, 1], ids=["the same file", "the same pixels in another file"])
def test_a_picture_that_taskers_label_is_not_one_to_learn_from(
    since: dict[str, Any], number: int, tmp_path: Path, now: datetime
) -> None:
    """They would have been taught its right answers (R5, R8)."""
    files = [str(row["file"]) for row in ROWS[:2]]
    for file in files:
        shutil.copy(content.PICTURES / file, tmp_path)
    data = (tmp_path / files[1]).read_bytes()
    image, _, _ = import_picture(
        data, size=299, origin=Origin.DATASET, source="test", licence="CC0", now=now, label_from=None
    )
    if number:
        Image.objects.update(original_sha256="0" * 64)
    Image.objects.update(**since)
    (tmp_path / "known.json").write_text(json.dumps(ROWS[:2]))
    refusal = refused(InvalidInput, content.known_pictures_load, policy=Policy(), now=now, folder=tmp_path)
    assert f"{files[1]} is the same picture as {image.public_id}" in str(refusal)
    assert (KnownPicture.objects.count(), Image.objects.count()) == (0, 1)


def test_a_folder_that_is_not_there_is_named() -> None:
    assert "known.json cannot be read" in str(refused(CommandError, call_command, "load_known_pictures", "/nowhere"))


@given(
    kinds=st.lists(st.integers(0, 6), max_size=60),
    size=st.integers(1, 12),
    seed=st.integers(0, 2**32),
)
def test_every_kind_comes_once_before_any_comes_twice(kinds: list[int], size: int, seed: int) -> None:
    pool = list(enumerate(kinds))
    drawn = draw_pictures(pool, size, Random(seed))
    assert (drawn is None) == (len(pool) < size)
    if drawn is None:
        return
    assert len(drawn) == len(set(drawn)) == size
    counts, available = Counter(kinds[key] for key in drawn), Counter(kinds)
    for kind, count in counts.items():
        # A kind is drawn again only when the others have been drawn as often, as far as there are any.
        assert all(counts[other] >= min(count - 1, available[other]) for other in available), kind


def test_the_order_says_nothing_about_the_kind() -> None:
    pool = [(key, key % 10) for key in range(40)]
    firsts = Counter(draw_pictures(pool, 10, Random(seed))[0] % 10 for seed in range(400))  # type: ignore[index]
    assert (len(firsts), max(firsts.values()) < 80) == (10, True)


ON_THE_LEFT, ON_THE_RIGHT = "[[[10,10],[90,10],[90,90]]]", "[[[210,10],[290,10],[290,90]]]"


@pytest.mark.parametrize(
    ("topic", "outline", "drawn"),
    [
        (Topic.SEVERAL, ON_THE_LEFT, {TieBreak.LEFTMOST}),
        (Topic.SEVERAL, ON_THE_RIGHT, {TieBreak.RIGHTMOST}),
        (Topic.CLEAR, ON_THE_LEFT, set(TieBreak)),
    ],
    ids=["left", "right", "of one the choice is random"],
)
def test_of_several_the_known_outline_is_the_one_asked_for(topic: Topic, outline: str, drawn: set[TieBreak]) -> None:
    assert {tie_break_for(topic, outline, width=299, rng=Random(seed)) for seed in range(20)} == drawn


YES, NO, MAYBE = Answer.DEFINITELY_YES, Answer.DEFINITELY_NO, Answer.UNSURE_YES


BIRD = RightAnswers({YES}, {NO}, True, 70, True, False, True)


QUESTIONS = ["contains_bird", "contains_bicycle", "outline", "complete", "unoccluded", "real"]


NEITHER = RightAnswers({NO}, {NO}, False, 70, None, None, None)


DOUBTFUL = RightAnswers({Answer.UNSURE_YES, Answer.UNSURE_NO}, {NO}, False, 70, None, None, None)


PERHAPS_A_BIRD = RightAnswers({Answer.UNSURE_YES, Answer.UNSURE_NO}, {NO}, True, 70, True, True, True)


@cases(
    "known said wrong reason",
    (BIRD, TaskerAnswers(YES, NO, 70.0, True, False, True), set(), "everything right; the overlap is just enough"),
    (BIRD, TaskerAnswers(YES, NO, 69.999, True, False, True), {"outline"}, "just too little overlap"),
    (BIRD, TaskerAnswers(YES, NO, None, True, False, True), {"outline"}, "said that it cannot be outlined"),
    (BIRD, TaskerAnswers(MAYBE, NO, 90.0, True, False, True), {"contains_bird"}, "unsure where nobody doubts"),
    (BIRD, TaskerAnswers(YES, NO, 90.0, True, True, True), {"unoccluded"}, "missed what is in front"),
    (
        BIRD,
        TaskerAnswers(YES, YES, None, None, None, None),
        {"contains_bicycle", "outline", "complete", "unoccluded", "real"},
        "questions 3 and 4 were not asked, because of a wrong answer",
    ),
    (
        BIRD,
        TaskerAnswers(YES, NO, 90.0, None, False, True),
        {"complete"},
        "a missing statement is not true by itself (R12)",
    ),
    (NEITHER, TaskerAnswers(NO, NO, None, None, None, None), set(), "nothing to outline"),
    (
        NEITHER,
        TaskerAnswers(YES, NO, None, True, True, True),
        {"contains_bird"},
        "what follows a wrong answer is not marked",
    ),
    (DOUBTFUL, TaskerAnswers(Answer.UNSURE_NO, NO, None, None, None, None), set(), "one of several right answers"),
    (DOUBTFUL, TaskerAnswers(YES, NO, None, True, True, True), {"contains_bird"}, "sure where nobody can be"),
    (
        PERHAPS_A_BIRD,
        TaskerAnswers(Answer.UNSURE_YES, NO, None, True, True, False),
        {"outline", "real"},
        "one of several right answers, that leads to questions 3 and 4",
    ),
)
def test_marks(known: RightAnswers, said: TaskerAnswers, wrong: set[str], reason: str) -> None:
    """In the order of the form."""
    marks = mark(said, known)
    assert ({name for name, right in marks.questions.items() if not right}, marks.right) == (wrong, not wrong)
    assert list(marks.questions) == QUESTIONS[: 6 if known.outline else 2]


def test_questions_that_no_wrong_answer_kept_away_are_not_marked() -> None:
    """Of several right answers one leads to questions 3 and 4, the other one does not (R10)."""
    marks = mark(TaskerAnswers(Answer.UNSURE_NO, NO, None, None, None, None), PERHAPS_A_BIRD)
    assert (marks.right, list(marks.questions)) == (True, QUESTIONS[:2])
