"""The published record in a real browser: an organizer closes a week, and what everybody then reads."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.utils import timezone
from playwright.sync_api import Page, expect

from adjudication.verify import verify
from contest.core.enums import BuildState
from contest.releases import builds
from contest.releases.keys import make_key
from contest.releases.models import ReleaseBuild, Subscriber
from contest.releases.services import release_week
from tests import factories
from tests.browser.looking import Look, organizer, push, shows
from tests.contest import release_fixtures
from tests.contest.record import cast


def made() -> list[Look]:
    """A released week with errata, builds of every kind, and the addresses of what there is to see."""
    olga = organizer()
    contest = release_fixtures.a_week()
    make_key(folder=settings.RELEASE_DIR, now=cast.W47.end)
    release_week(cast.W47, out=settings.RELEASE_DIR, now=cast.W47.end)
    late = {"now": cast.W47.end, "counted": False}
    factories.response(contest.taskers[3], contest.panels["occluded"], **release_fixtures.EXCLUDED, **late)
    errata = release_week(cast.W47, out=settings.RELEASE_DIR, now=cast.W47.end).release
    times = dict.fromkeys(["asked_at", "started_at", "seen_at"], timezone.now())
    rows: list[dict[str, Any]] = [
        {"week": "2026-W47", "state": BuildState.DONE, "release": errata},
        {"week": "2026-W46", "state": BuildState.RUNNING, "stage": "images", "done": 1_234, "total": 5_000},
        {"week": "2026-W45", "state": BuildState.FAILED, "error": "no_room_on_the_disk_" * 12},
    ]
    for row in rows:
        ReleaseBuild.objects.create(asked_by=olga, **(times | row))
    key = Subscriber.objects.create(email="ann@example.org", confirmed_at=timezone.now()).key
    releases = ("", "release-2026-W47/", "release-2026-W47-errata-1/", "keys/", "mail/", f"mail/end/{key}/")
    return [
        *(("", f"/releases/{each}") for each in releases),
        ("", "/releases/check/"),
        ("", "/weeks/2026-W47/"),
        ("olga", "/organizer/releases/"),
        ("olga", "/organizer/releases/2026-W47/"),
    ]


def test_an_organizer_closes_a_week(olga: User, visit: Callable[..., Page], tmp_path: Path) -> None:
    release_fixtures.a_week()
    factories.panel(release_fixtures.picture(50), dealt_at=release_fixtures.MONDAY)
    page = visit("/organizer/releases/")
    shows(page, {"#builds": "Pictures still wait: 1 for answers."})
    page.get_by_role("link", name="Build it now").click()
    page.get_by_role("checkbox").check()
    push(page, "Build and publish it")
    shows(page, {"[role=status]": "is being built", "#builds": "waits for a worker"})
    assert builds.due_weeks_release(clock=timezone.now) == 1
    cache.clear()
    shows(page, {"#builds": "done"})  # by itself, without a reload
    page.get_by_role("link", name="release-2026-W47").first.click()
    with page.expect_download() as download:
        push(page, "Download release-2026-W47.zip")
    with zipfile.ZipFile(download.value.path()) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert verify(tmp_path / "unpacked" / "release-2026-W47").differences == []


def test_a_stranger_sees_every_picture_of_the_week(transactional_db: None, visit: Callable[..., Page]) -> None:
    made()
    pictures = visit("/weeks/2026-W47/", who="").locator(".pictures img")
    expect(pictures).to_have_count(9)
    pictures.last.scroll_into_view_if_needed()
    expect(pictures.last).to_have_js_property("naturalWidth", release_fixtures.SIDE)
