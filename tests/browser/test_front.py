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
from tests.browser.looking import DESK, PHONE, Look, organizer, too_wide
from tests.contest import release_fixtures as fixtures


def made() -> fixtures.Contest:
    """A released week, and a stake that began an hour before its attacks, with nine tenths of its clock left."""
    organizer()
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


CHECK = "/organizer/leaderboard/"
PAGES = ["/", "/leaderboard/", "/leaderboard/?week=2026-W47&defenses=-days", "/rules/", "/docs/defenses/"]
PAGES += ["/docs/release-format/", "/docs/status/", "/sign-in/"]


def pages(found: fixtures.Contest) -> list[Look]:
    """And the check of the leaderboard, where it finds a difference and where it finds none."""
    row = Leaderboard.objects.get(week="2026-W47")
    row.tables["attackers"] = []
    row.save()
    snapshots.board_check(now=timezone.now())
    anew = "Make all tables anew"
    return [
        *(("", address) for address in PAGES),
        ("olga", CHECK),
        ("olga", CHECK, lambda page: page.get_by_role("button", name=anew).click()),
    ]


@pytest.fixture
def week(made_once: Any) -> fixtures.Contest:
    return made_once(made)


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
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Rules", exact=True).click()
    page.get_by_role("link", name="H. Prizes").click()
    expect(page).to_have_url(re.compile("/rules/#h-prizes$"))


def test_no_width_scrolls_sideways_and_a_finger_hits_everything(
    browser: Callable[..., BrowserContext], week: fixtures.Contest
) -> None:
    page = browser(viewport=PHONE, has_touch=True).new_page()
    for address in PAGES:
        page.goto(address)
        for width in (320, 390, 650, 700, 768, 1024, 1100):
            page.set_viewport_size({"width": width, "height": 900})
            assert too_wide(page) == [], (address, width)
    page.set_viewport_size(PHONE)
    page.goto("/leaderboard/")
    for target in page.locator(".site-header a, .sort-by a, main button, main select").all():
        box = target.bounding_box()
        assert box is None or min(box["height"], 44) == 44, target.inner_text()
