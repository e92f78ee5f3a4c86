"""Known pictures: those that come with the application, which a try gets, and how answers are marked (R5, R6)."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from datetime import datetime
from io import StringIO
from pathlib import Path
from random import Random

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from hypothesis import given
from hypothesis import strategies as st

from common.errors import InvalidInput
from labeling.enums import Answer, KnownUse, Origin, TieBreak, Topic
from labeling.learning import content, wording
from labeling.learning.drawing import draw, tie_break_for
from labeling.marking import Known, Said, mark
from labeling.models import Image, KnownPicture
from labeling.policy import Policy
from tests import factories

pytestmark = pytest.mark.django_db


SIDE = 299


ROWS = [dict(row) for row in content.rows()]


POOL = [row for row in ROWS if row["use"] == KnownUse.QUALIFICATION]


@pytest.fixture(scope="class")
def loaded(class_world: Path) -> int:
    """How many pictures of the application the first loading took in."""
    return content.known_pictures_load(policy=Policy(), now=factories.NOW)


class TestAllOfThem:
    def test_loading_takes_every_picture_in_once(self, loaded: int, now: datetime) -> None:
        assert loaded == len(ROWS)
        assert content.known_pictures_load(policy=Policy(), now=now) == 0
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
        again = KnownPicture.objects.get(pk=row.pk)
        # What an organizer decided stays.
        assert (again.min_iou_percent, again.retired_because) == (row.min_iou_percent, "leaked")


def test_a_contest_with_pictures_of_another_size_is_refused(now: datetime) -> None:
    with pytest.raises(InvalidInput, match="is 299 x 299; pictures of this contest are 64 x 64"):
        content.known_pictures_load(policy=replace(Policy(), image_size=64), now=now)


def test_the_pool_lasts_for_four_whole_tries_of_every_kind() -> None:
    policy = Policy()
    assert len(POOL) >= 4 * policy.qualification_size
    kinds = Counter((row["topic"], row["accepts_bird"][0] if row["topic"] == Topic.CLEAR else "") for row in POOL)
    assert {topic for topic, _ in kinds} == set(Topic) - {Topic.UNCERTAIN}
    assert min(kinds.values()) >= 4


def test_the_tutorial_shows_each_rule_right_and_wrong() -> None:
    lessons = [row for row in ROWS if row["use"] == KnownUse.TUTORIAL]
    assert [row["position"] for row in lessons] == list(range(1, len(lessons) + 1))
    assert {row["topic"] for row in lessons} == set(Topic)
    for statement in ("complete", "unoccluded", "real"):
        assert {row[statement] for row in lessons} == {True, False, None}


def test_every_answer_has_its_reason_in_both_languages() -> None:
    for row in ROWS:
        asked = {"contains_bird", "contains_bicycle"}
        asked |= {"outline", "complete", "unoccluded", "real"} if row["outline"] else set()
        titled = {"title"} if row["use"] == KnownUse.TUTORIAL else set()
        for language in ("en", "de"):
            reasons = row["reasons"][language]
            assert asked | titled <= set(reasons), (row["file"], language)
            assert all(reasons[name].strip() for name in asked | titled)
        assert [name for name in asked if row["reasons"]["en"][name] == row["reasons"]["de"][name]] == [], row["file"]


def test_outlines_go_with_the_answers() -> None:
    for row in ROWS:
        one_class = {row["accepts_bird"][0], row["accepts_bicycle"][0]} == {"definitely_yes", "definitely_no"}
        assert bool(row["outline"]) is one_class, row["file"]
        stated = [row[name] for name in ("complete", "unoccluded", "real")]
        assert all(isinstance(value, bool) for value in stated) is one_class, row["file"]
        edges = [each for ring in row["outline"] for corner in ring for each in corner]
        if edges:
            assert row["complete"] is all(1 <= each <= SIDE - 1 for each in edges), row["file"]


def test_sizes_are_what_the_topics_say() -> None:
    fraction = Policy().min_box_fraction
    for row in POOL:
        if row["topic"] in (Topic.TOO_SMALL, Topic.CLEAR):
            share = wording.box_share(str(row["outline"]), SIDE**2)
            # No borderline cases: clearly below or clearly above.
            assert share < fraction * 3 / 4 if row["topic"] == Topic.TOO_SMALL else share > fraction * 5 / 4, row[
                "file"
            ]


def test_every_picture_is_credited_and_small_enough() -> None:
    files = {path.name: path.stat().st_size for path in content.PICTURES.glob("*.png")}
    assert set(files) == {row["file"] for row in ROWS}
    assert sum(files.values()) < 6_000_000
    assert all(row["source"] and row["licence"].startswith("CC BY 2.0") for row in ROWS)


WRONG: list[tuple[object, str, str]] = [
    ({}, "is not a list of pictures", "no list"),
    ([{"file": "a.png"}], "a.png: give exactly accepts_bicycle", "fields are missing"),
    ([ROWS[0] | {"topic": "weather"}], "tutorial-01-clear.png: topic is one of", "no such topic"),
    ([ROWS[0] | {"use": "gold"}], "use is one of qualification, tutorial", "gold is made of settled pictures"),
    ([ROWS[0] | {"accepts_bird": []}], "accepts_bird is one of", "nothing would be right"),
    ([ROWS[0] | {"file": "none.png"}], "none.png cannot be read", "no file"),
    ([ROWS[0] | {"outline": [[[0, 0], [9, 9], [0, 9], [9, 0]]]}], "crosses or touches itself", "a crossing"),
    ([ROWS[0] | {"licence": " "}], "Give the licence of the picture", "no licence (R3)"),
]


@pytest.mark.parametrize(("said", "words", "reason"), WRONG, ids=[row[2] for row in WRONG])
def test_a_folder_that_is_wrong_is_refused_whole(
    said: object, words: str, reason: str, tmp_path: Path, now: datetime
) -> None:
    shutil.copy(content.PICTURES / str(ROWS[0]["file"]), tmp_path)
    (tmp_path / "known.json").write_text(json.dumps(said))
    with pytest.raises(InvalidInput, match=words):
        content.known_pictures_load(policy=Policy(), now=now, folder=tmp_path)
    assert not Image.objects.exists()


def test_a_folder_of_one_s_own_is_taken_in(tmp_path: Path, now: datetime) -> None:
    shutil.copy(content.PICTURES / str(ROWS[0]["file"]), tmp_path)
    (tmp_path / "known.json").write_text(json.dumps([ROWS[0] | {"use": "qualification", "author": "Olga"}]))
    assert content.known_pictures_load(policy=Policy(), now=now, folder=tmp_path) == 1
    row = KnownPicture.objects.get()
    assert (row.use, row.image.author, row.image.origin) == ("qualification", "Olga", "example")


def test_a_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(CommandError, match="known.json cannot be read"):
        call_command("load_known_pictures", "/nowhere")


@given(
    kinds=st.lists(st.integers(0, 6), max_size=60),
    size=st.integers(1, 12),
    seed=st.integers(0, 2**32),
)
def test_every_kind_comes_once_before_any_comes_twice(kinds: list[int], size: int, seed: int) -> None:
    pool = list(enumerate(kinds))
    drawn = draw(pool, size, Random(seed))
    if len(pool) < size:
        assert drawn is None
        return
    assert drawn is not None
    assert len(drawn) == len(set(drawn)) == size
    counts, available = Counter(kinds[key] for key in drawn), Counter(kinds)
    for kind, count in counts.items():
        # A kind is drawn again only when the others have been drawn as often, as far as there are any.
        assert all(counts[other] >= min(count - 1, available[other]) for other in available), kind


def test_the_order_says_nothing_about_the_kind() -> None:
    pool = [(key, key % 10) for key in range(40)]
    firsts = Counter(draw(pool, 10, Random(seed))[0] % 10 for seed in range(400))  # type: ignore[index]
    assert len(firsts) == 10
    assert max(firsts.values()) < 80


LEFT = "[[[10,10],[90,10],[90,90]]]"


RIGHT = "[[[210,10],[290,10],[290,90]]]"


@pytest.mark.parametrize(
    ("topic", "outline", "drawn"),
    [
        (Topic.SEVERAL, LEFT, {TieBreak.LEFTMOST}),
        (Topic.SEVERAL, RIGHT, {TieBreak.RIGHTMOST}),
        (Topic.CLEAR, LEFT, set(TieBreak)),
    ],
    ids=["left", "right", "of one the choice is random"],
)
def test_of_several_the_known_outline_is_the_one_asked_for(topic: Topic, outline: str, drawn: set[TieBreak]) -> None:
    assert {tie_break_for(topic, outline, width=299, rng=Random(seed)) for seed in range(20)} == drawn


YES, NO, MAYBE = Answer.DEFINITELY_YES, Answer.DEFINITELY_NO, Answer.UNSURE_YES


BIRD = Known({YES}, {NO}, True, 70, True, False, True)


QUESTIONS = ["contains_bird", "contains_bicycle", "outline", "complete", "unoccluded", "real"]


NEITHER = Known({NO}, {NO}, False, 70, None, None, None)


UNSURE = Known({Answer.UNSURE_YES, Answer.UNSURE_NO}, {NO}, False, 70, None, None, None)


MARKED = [
    (BIRD, Said(YES, NO, 70.0, True, False, True), set(), "everything right; the overlap is just enough"),
    (BIRD, Said(YES, NO, 69.999, True, False, True), {"outline"}, "just too little overlap"),
    (BIRD, Said(YES, NO, None, True, False, True), {"outline"}, "said that it cannot be outlined"),
    (BIRD, Said(MAYBE, NO, 90.0, True, False, True), {"contains_bird"}, "unsure where nobody doubts"),
    (BIRD, Said(YES, NO, 90.0, True, True, True), {"unoccluded"}, "missed what is in front"),
    (
        BIRD,
        Said(YES, YES, None, None, None, None),
        {"contains_bicycle", "outline", "complete", "unoccluded", "real"},
        "questions 3 and 4 were not asked, because of a wrong answer",
    ),
    (BIRD, Said(YES, NO, 90.0, None, False, True), {"complete"}, "a missing statement is not true by itself (R12)"),
    (NEITHER, Said(NO, NO, None, None, None, None), set(), "nothing to outline"),
    (NEITHER, Said(YES, NO, None, True, True, True), {"contains_bird"}, "what follows a wrong answer is not marked"),
    (UNSURE, Said(Answer.UNSURE_NO, NO, None, None, None, None), set(), "one of several right answers"),
    (UNSURE, Said(YES, NO, None, True, True, True), {"contains_bird"}, "sure where nobody can be"),
]


@pytest.mark.parametrize(("known", "said", "wrong", "reason"), MARKED, ids=[row[3] for row in MARKED])
def test_marks(known: Known, said: Said, wrong: set[str], reason: str) -> None:
    """In the order of the form."""
    marks = mark(said, known)
    assert {name for name, right in marks.questions.items() if not right} == wrong
    assert marks.right is (not wrong)
    assert list(marks.questions) == QUESTIONS[: 6 if known.outline else 2]
