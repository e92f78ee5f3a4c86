"""Sign-in, start page, overview and API page in a real browser: accessible, within the policy, on every screen."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.utils import timezone
from playwright.sync_api import Page, expect

from adjudication.models import Ruling
from config.context import ORGANIZER
from contest.models import Release
from labeling.models import Assignment, Panel
from scoring.models import Defense, Run
from tests import factories
from tests.browser.looking import REFRESH_MS, SCREENS, timed, too_wide, violations

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def full(olga: User) -> None:
    """A contest in which every part of the overview has something to show."""
    now = timezone.now()
    taskers = [factories.tasker(name) for name in ("tara", "otto", "uma")]
    factories.image(label_from=now - timedelta(hours=3))
    factories.image(label_from=now + timedelta(hours=3))
    asked = factories.panel(dealt_at=now - timedelta(hours=1))
    held = factories.assignment(taskers[0], asked, state="leased", now=now)
    Assignment.objects.filter(pk=held.pk).update(expires_at=now + timedelta(minutes=20), problem="It is grey. " * 30)
    for verdict, reasons in (("valid", []), ("rejected", ["uncertain", "no_outline"]), ("rejected", ["truncated"])):
        panel = factories.panel()
        for tasker in taskers:
            factories.response(tasker, panel, now=now - timedelta(hours=5))
        Panel.objects.filter(pk=panel.pk).update(state="settled")
        Ruling.objects.create(
            image=panel.image,
            number=1,
            panel=panel,
            verdict=verdict,
            label="bird" if verdict == "valid" else "",
            reasons=reasons,
            response_ids=[],
            policy=factories.policy_version(),
            decided_at=now,
            decided_by="rules",
        )
    defense = Defense.objects.create(name="A small CNN", digest="x", demo=True, created_at=now, published_at=now)
    Run.objects.create(
        defense=defense,
        round=1,
        seed=1,
        batch_size=16,
        state="dead",
        attempt=3,
        fault="platform",
        fault_text="no_room_on_the_disk_" * 20,
        created_at=now,
        finished_at=now,
    )
    Release.objects.create(
        week="2026-W40", manifest_sha256="ab" * 32, counts={"images": 7, "responses": 21}, bytes=1234, released_at=now
    )


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("filled", [False, True], ids=["empty", "full"])
def test_the_overview_is_accessible_and_fits(
    filled: bool, screen: str, olga: User, visit: Callable[..., Page], request: pytest.FixtureRequest
) -> None:
    if filled:
        request.getfixturevalue("full")
    page = visit("/organizer/", screen=screen)
    for summary in page.locator("summary").all():  # one that is inside of another comes after it
        summary.click()
    assert violations(page) == []
    assert too_wide(page) == []


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("address", ["/sign-in/", "/api/docs/", "/nothing"])
def test_the_other_pages_are_accessible_and_fit(
    address: str, screen: str, olga: User, visit: Callable[..., Page], settings: Any
) -> None:
    settings.DEMO = True
    page = visit(address, screen=screen, who="")
    assert violations(page) == []
    assert too_wide(page) == []


@pytest.mark.parametrize(("name", "group"), [("rita", "review board"), ("stan", "")])
def test_the_start_page_is_accessible(name: str, group: str, olga: User, visit: Callable[..., Page]) -> None:
    factories.user(name, *([group] if group else []))
    page = visit("/", screen="phone", who=name)
    expect(page.locator("h1")).to_have_text("Your account")
    assert violations(page) == []
    assert too_wide(page) == []


@pytest.mark.parametrize("address", ["/account/", "/organizer/taskers/"])
def test_on_a_phone_a_finger_hits_everything_in_the_header(
    address: str, olga: User, visit: Callable[..., Page]
) -> None:
    page = visit(address, screen="phone")
    boxes = [each.bounding_box() for each in page.locator(".site-header :is(a, button)").all()]
    what = "the name of the site, its pages, the messages, the account, and signing out"
    assert len(boxes) == 4 + len(ORGANIZER), what
    assert [box for box in boxes if not box or box["width"] < 44 or box["height"] < 44] == []


def test_a_wrong_password_is_told_where_a_screen_reader_hears_it(olga: User, visit: Callable[..., Page]) -> None:
    page = visit("/sign-in/", who="")
    page.fill("#id_username", "olga")
    page.fill("#id_password", "wrong")
    page.click("main button")
    expect(page.get_by_role("alert")).to_contain_text("do not belong together")
    expect(page.locator("#id_username")).to_have_value("olga")
    expect(page.locator("#id_password")).to_be_focused()
    assert violations(page) == []


def test_the_overview_refreshes_itself_and_nothing_jumps(full: None, visit: Callable[..., Page]) -> None:
    page = timed(visit("/organizer/"))
    page.locator("#day-figures > summary").click()
    page.locator("#day-figures > summary").focus()
    page.evaluate("scrollTo(0, 300)")
    waiting = page.locator("tr", has_text="Waiting for a panel").locator("td").first
    expect(waiting).to_have_text("1")
    factories.image(label_from=timezone.now() - timedelta(minutes=1))
    cache.clear()
    page.clock.run_for(REFRESH_MS)
    expect(waiting).to_have_text("2")
    expect(page.locator("#day-figures")).to_have_attribute("open", "")
    expect(page.locator("#day-figures > summary")).to_be_focused()
    assert page.evaluate("scrollY") == 300


def test_the_overview_says_when_it_cannot_refresh(full: None, visit: Callable[..., Page]) -> None:
    page = timed(visit("/organizer/"))
    page.route("**/organizer/now/", lambda route: route.fulfill(status=403))
    page.clock.run_for(REFRESH_MS)
    expect(page.locator(".refresh-note")).to_contain_text("Not refreshed since")


def test_the_overview_is_whole_without_scripts_and_on_paper(full: None, visit: Callable[..., Page]) -> None:
    page = visit("/organizer/", java_script_enabled=False)
    expect(page.locator("#day-figures")).to_be_visible()
    expect(page.get_by_text("2026-W40")).not_to_have_count(0)
    page.emulate_media(media="print")
    expect(page.get_by_role("button", name="Sign out")).not_to_be_visible()
    expect(page.locator("h1")).to_be_visible()


def test_the_keyboard_reaches_the_content_first(olga: User, visit: Callable[..., Page]) -> None:
    page = visit("/organizer/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    expect(page.locator(".skip")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
