"""Which pictures are public: those of the released weeks and no others (R24)."""

from datetime import timedelta
from pathlib import Path

import pytest

from contest.publishing import published_images
from contest.releases import release_week
from contest.rules import week_named
from labeling.models import Image
from scoring.trials.published import published_pictures
from tests.contest import release_fixtures as cast

pytestmark = pytest.mark.django_db
WEEK = week_named("2026-W47", "UTC")


def test_nothing_is_public_before_the_first_release() -> None:
    cast.a_week()
    assert Image.objects.exists() and not published_images().exists()


def test_a_release_makes_its_week_public_and_nothing_later(tmp_path: Path) -> None:
    contest = cast.a_week()
    later = cast.picture(200, received_at=WEEK.end)
    before = cast.picture(201, received_at=WEEK.start - timedelta(microseconds=1))
    example = cast.picture(202, origin="example", label_from=None)
    release_week(WEEK, out=tmp_path / "out", now=cast.AFTER, incomplete=True)
    public = set(published_images())
    assert set(contest.images.values()) <= public
    assert not public & {later, before, example}
    release_week(week_named("2026-W46", "UTC"), out=tmp_path / "out", now=cast.AFTER, incomplete=True)
    assert set(published_images()) == public | {before}


def test_the_trials_of_defenses_are_told_so(tmp_path: Path) -> None:
    cast.a_week()
    release_week(WEEK, out=tmp_path / "out", now=cast.AFTER, incomplete=True)
    assert set(published_pictures()) == set(published_images()) != set()
