"""A stranger in a real browser: what is this, what is at stake, who leads, by which rules."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, expect

from contest.enums import StakeKind
from contest.leaderboard import snapshots
from contest.models import Attack, Entry, Leaderboard, Release, Stake, Team
from labeling.models import Image
from tests import factories
from tests.browser.looking import DESK, PHONE, too_wide, violations
from tests.contest import release_fixtures as fixtures

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGES = ["/", "/leaderboard/", "/leaderboard/?week=2026-W47&defenses=-days", "/rules/", "/docs/defenses/"]
PAGES += ["/docs/release-format/", "/docs/status/", "/sign-in/"]


@pytest.fixture
def week(browser: Callable[..., BrowserContext]) -> fixtures.Contest:
    """A released week, and a stake that began an hour before its attacks, with nine tenths of its clock left."""
    found = fixtures.a_week()
    Attack.objects.update(week="2026-W47")
    Image.objects.filter(attacks__isnull=False).update(origin="attack")
    Release.objects.create(week="2026-W47", manifest_sha256="0" * 64, counts={}, bytes=1, released_at=fixtures.AFTER)
    team, at, clock = Team.objects.create(name="makers", created_at=fixtures.MONDAY), fixtures.MONDAY, timezone.now()
    Entry.objects.create(team=team, defense=found.defenses[0], received_at=at, due_at=at, licence="MIT", opened_at=at)
    Stake.objects.create(
        defense=found.defenses[0], kind=StakeKind.TEAM, paid_by=team, cents=100_000, asked_at=at,
        staked_at=at - timedelta(hours=1), clock_from=clock,
    )  # fmt: skip
    snapshots.boards_make(now=max(timezone.now(), fixtures.AFTER + timedelta(days=1)))
    return found


def test_a_stranger_finds_out_what_is_at_stake_and_who_leads(
    browser: Callable[..., BrowserContext], week: fixtures.Contest
) -> None:
    page = browser(viewport=DESK).new_page()
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("A picture that nobody mistakes, and a program that does")
    clock = page.locator("td [data-clock]")
    before = clock.inner_text()
    assert before.startswith(("89 d 23:59:", "90 d 00:00:00"))
    expect(clock).not_to_have_text(before)  # it runs
    page.get_by_role("link", name="The whole leaderboard").click()
    defenses = page.get_by_role("region", name="Defenses")
    expect(defenses.get_by_role("columnheader", name="Rank")).to_have_attribute("aria-sort", "ascending")
    defenses.get_by_role("link", name="Defense", exact=True).click()
    expect(defenses.get_by_role("columnheader", name="Defense")).to_have_attribute("aria-sort", "ascending")
    expect(defenses.locator("tbody th a").first).to_have_text("=SUM(A1)")
    defenses.get_by_role("link", name="Defense", exact=True).click()
    expect(defenses.locator("tbody th a").first).to_have_text("defense 1")
    page.get_by_label("Week").select_option("2026-W47")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("What was public when week 2026-W47 ended")).to_be_visible()
    attackers = page.get_by_role("region", name="Attackers")
    attackers.get_by_role("link", name="=red").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Team =red")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Rules", exact=True).click()
    page.get_by_role("link", name="H. Prizes").click()
    expect(page).to_have_url(re.compile("/rules/#h-prizes$"))


def test_without_script_the_tables_sort_and_the_clock_says_what_was_left(
    browser: Callable[..., BrowserContext], week: fixtures.Contest
) -> None:
    page = browser(viewport=PHONE, java_script_enabled=False).new_page()
    page.goto("/")
    expect(page.locator("td [data-clock]")).to_contain_text(":")
    page.goto("/leaderboard/")
    page.locator(".sort-by a", has_text="Days unbroken").first.click()
    expect(page.locator(".sort-by").first).to_contain_text("Days unbroken, descending")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_axe_finds_nothing_and_nothing_is_too_wide(
    size: Any, browser: Callable[..., BrowserContext], week: fixtures.Contest
) -> None:
    page = browser(viewport=size).new_page()
    for address in PAGES:
        page.goto(address)
        assert violations(page) == [], address
        assert too_wide(page) == [], address


@pytest.mark.parametrize("width", [320, 650, 700, 768, 1024, 1100])
def test_no_width_scrolls_sideways(width: int, browser: Callable[..., BrowserContext], week: fixtures.Contest) -> None:
    page = browser(viewport={"width": width, "height": 900}).new_page()
    for address in PAGES:
        page.goto(address)
        assert too_wide(page) == [], address


def test_on_a_phone_what_can_be_pressed_is_large_enough(
    browser: Callable[..., BrowserContext], week: fixtures.Contest
) -> None:
    page = browser(viewport=PHONE, has_touch=True).new_page()
    page.goto("/leaderboard/")
    for target in page.locator(".site-header a, .sort-by a, main button, main select").all():
        box = target.bounding_box()
        assert box is None or min(box["height"], 44) == 44, target.inner_text()


def test_the_check_s_page_in_both_states(browser: Callable[..., BrowserContext], week: fixtures.Contest) -> None:
    factories.user("olga", "organizers")
    row = Leaderboard.objects.get(week="2026-W47")
    row.tables["attackers"] = []
    row.save()
    snapshots.board_check(now=timezone.now())
    page = browser(viewport=DESK).new_page()
    page.goto("/sign-in/?next=/organizer/")
    page.fill("#id_username", "olga")
    page.fill("#id_password", factories.PASSWORD)
    page.click("main button[type=submit]")
    page.get_by_role("link", name="1 difference in the leaderboard").click()
    expect(page.get_by_text("is missing")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Make all tables anew").click()
    expect(page.get_by_text("no difference")).to_be_visible()
    assert violations(page) == []
