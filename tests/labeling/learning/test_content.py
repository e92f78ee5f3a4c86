"""The pictures that come with the application."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from datetime import datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from common.errors import InvalidInput
from labeling.enums import KnownUse, Origin, Topic
from labeling.learning import content, wording
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
        differ = [name for name in asked if row["reasons"]["en"][name] == row["reasons"]["de"][name]]
        assert differ == [], row["file"]


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
