"""The weekly publication (R39): ended weeks, oldest first, as soon as nothing of them is open."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from adjudication.services import panels_settle
from adjudication.verify import verify
from contest.models import Release
from contest.publishing import unreleased_weeks
from contest.record.builds import due_weeks_release
from contest.releases import release_week
from contest.rules import week_named
from labeling.enums import Answer
from labeling.png import encode_png, pixels_sha256
from labeling.selectors import policy_in_force
from labeling.store import picture_key, picture_store
from tests import factories

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)
W46, W47, W48 = (datetime(2026, 11, day, 12, 0, tzinfo=UTC) for day in (11, 18, 24))


def settled(at: datetime) -> None:
    """A picture received at `at`, in the store, that three taskers found to show neither class."""
    pixels = at.isoformat().encode().ljust(48, b".")
    sha = pixels_sha256(4, 4, pixels)
    picture_store().put(picture_key(sha), encode_png(4, 4, pixels))
    image = factories.image(pixels_sha256=sha, width=4, height=4, received_at=at, label_from=at)
    panel = factories.panel(image, dealt_at=at)
    for n in range(3):
        factories.response(
            factories.tasker(f"{panel.pk}-{n}"), panel, bird=Answer.DEFINITELY_NO, box=None, complete=None,
            unoccluded=None, real=None, now=at,
        )  # fmt: skip
    panels_settle(policy_at=policy_in_force, now=at)


def test_ended_weeks_in_order_and_never_the_present_one(settings: Any) -> None:
    for at in (W47, W46, W48):
        settled(at)
    assert [week.name for week in unreleased_weeks(NOW)] == ["2026-W46", "2026-W47"]
    assert due_weeks_release(clock=lambda: NOW) == 2
    assert due_weeks_release(clock=lambda: NOW) == 0, "running it twice adds nothing"
    assert sorted(Release.objects.values_list("week", flat=True)) == ["2026-W46", "2026-W47"]
    assert (Path(settings.RELEASE_DIR) / "release-2026-W46.zip").exists()


def test_a_week_that_waits_holds_back_the_ones_after_it() -> None:
    factories.panel(factories.image(received_at=W46), dealt_at=W46)
    settled(W47)
    assert due_weeks_release(clock=lambda: NOW) == 0
    assert not Release.objects.exists()


def test_a_week_released_out_of_turn_hides_none_before_it(settings: Any) -> None:
    for at in (W46, W47):
        settled(at)
    release_week(week_named("2026-W47", "UTC"), out=settings.RELEASE_DIR, now=NOW)
    assert [week.name for week in unreleased_weeks(NOW)] == ["2026-W46"]
    assert due_weeks_release(clock=lambda: NOW) == 1
    assert list(Release.objects.order_by("pk").values_list("week", flat=True)) == ["2026-W47", "2026-W46"]
    assert verify(settings.RELEASE_DIR / "release-2026-W46").differences == []


def test_pictures_that_are_never_released_make_no_week() -> None:
    factories.image(origin="gold", received_at=W46, label_from=W46)
    assert list(unreleased_weeks(NOW)) == []


def test_a_week_without_pictures_is_passed_over() -> None:
    settled(W46 - timedelta(weeks=4))
    settled(W47)
    assert [week.name for week in unreleased_weeks(NOW)] == ["2026-W42", "2026-W47"]


def test_without_pictures_there_is_nothing_to_release() -> None:
    assert due_weeks_release(clock=lambda: NOW) == 0
