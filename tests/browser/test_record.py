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
from contest.enums import BuildState
from contest.models import ReleaseBuild, Subscriber
from contest.record import builds
from contest.releases import release_week
from tests import factories
from tests.browser.looking import Look, organizer
from tests.contest import release_fixtures
from tests.contest.record import cast


def made() -> list[Look]:
    """A released week with errata, builds of every kind, and the addresses of what there is to see."""
    olga = organizer()
    contest = release_fixtures.a_week()
    release_week(cast.W47, out=settings.RELEASE_DIR, now=cast.W47.end)
    late = {"now": cast.W47.end, "counted": False}
    factories.response(contest.taskers[3], contest.panels["occluded"], **release_fixtures.EXCLUDED, **late)
    errata = release_week(cast.W47, out=settings.RELEASE_DIR, now=cast.W47.end).release
    now = timezone.now()
    times = dict.fromkeys(["asked_at", "started_at", "seen_at"], now)
    rows: list[dict[str, Any]] = [
        {"week": "2026-W47", "state": BuildState.DONE, "release": errata},
        {"week": "2026-W46", "state": BuildState.RUNNING, "stage": "images", "done": 1_234, "total": 5_000},
        {"week": "2026-W45", "state": BuildState.FAILED, "error": "no_room_on_the_disk_" * 12},
    ]
    for row in rows:
        ReleaseBuild.objects.create(asked_by=olga, **(times | row))
    key = Subscriber.objects.create(email="ann@example.org", confirmed_at=now).key
    everybody = [
        "/releases/",
        "/releases/release-2026-W47/",
        "/releases/release-2026-W47-errata-1/",
        "/weeks/2026-W47/",
    ]
    everybody += ["/weeks/2026-W47/", "/releases/mail/", f"/releases/mail/end/{key}/"]
    return [
        *(("", address) for address in everybody),
        ("olga", "/organizer/releases/"),
        ("olga", "/organizer/releases/2026-W47/"),
    ]


def test_an_organizer_closes_a_week(olga: User, visit: Callable[..., Page], tmp_path: Path) -> None:
    release_fixtures.a_week()
    factories.panel(release_fixtures.picture(50), dealt_at=release_fixtures.MONDAY)
    page = visit("/organizer/releases/")
    expect(page.locator("#builds")).to_contain_text("Pictures still wait: 1 for answers.")
    page.get_by_role("link", name="Build it now").click()
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Build and publish it").click()
    expect(page.get_by_role("status")).to_contain_text("is being built")
    expect(page.locator("#builds")).to_contain_text("waits for a worker")
    assert builds.due_weeks_release(clock=timezone.now) == 1
    cache.clear()
    expect(page.locator("#builds")).to_contain_text("done")  # by itself, without a reload
    page.get_by_role("link", name="release-2026-W47").first.click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download release-2026-W47.zip").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert verify(tmp_path / "unpacked" / "release-2026-W47").differences == []


def test_a_stranger_sees_every_picture_of_the_week(transactional_db: None, visit: Callable[..., Page]) -> None:
    made()
    page = visit("/weeks/2026-W47/", who="")
    expect(page.locator(".pictures img")).to_have_count(9)
    page.locator(".pictures img").last.scroll_into_view_if_needed()
    expect(page.locator(".pictures img").last).to_have_js_property("naturalWidth", release_fixtures.SIDE)
