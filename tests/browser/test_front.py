"""What a stranger reads in a real browser: every width fits, and a finger hits everything."""

from collections.abc import Callable
from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from contest.core.enums import StakeKind
from contest.core.models import Attack, Release, Stake, Team
from contest.defenses.models import DefenseEntry
from contest.record.leaderboard import snapshots
from contest.record.models import Leaderboard
from labeling.models import Image
from tests.browser.looking import PHONE, Look, organizer, too_wide
from tests.contest import release_fixtures as fixtures


def made() -> fixtures.Contest:
    """A released week, and a stake that began an hour before its attacks, with nine tenths of its clock left."""
    organizer()
    found = fixtures.a_week()
    Attack.objects.update(week="2026-W47")
    Image.objects.filter(attacks__isnull=False).update(origin="attack")
    Release.objects.create(week="2026-W47", manifest_sha256="0" * 64, counts={}, bytes=1, released_at=fixtures.AFTER)
    team, at, clock = Team.objects.create(name="makers", created_at=fixtures.MONDAY), fixtures.MONDAY, timezone.now()
    DefenseEntry.objects.create(
        team=team, defense=found.defenses[0], received_at=at, due_at=at, licence="MIT", opened_at=at
    )
    Stake.objects.create(
        defense=found.defenses[0], kind=StakeKind.TEAM, paid_by=team, cents=100_000, asked_at=at,
        staked_at=at - timedelta(hours=1), clock_from=clock,
    )  # fmt: skip
    snapshots.boards_make(now=max(timezone.now(), fixtures.AFTER + timedelta(days=1)))
    return found


CHECK = "/organizer/leaderboard/"
PAGES = ["/", "/leaderboard/", "/leaderboard/?week=2026-W47&defenses=-days", "/rules/", "/docs/defenses/"]
PAGES += ["/docs/release-format/", "/docs/status/", "/docs/verdicts-in-pandas/", "/sign-in/"]


def pages(found: fixtures.Contest) -> list[Look]:
    """And the check of the leaderboard, where it finds a difference and where it finds none."""
    row = Leaderboard.objects.get(week="2026-W47")
    Leaderboard.objects.filter(pk=row.pk).update(tables=row.tables | {"attackers": []})
    snapshots.board_check(now=timezone.now())
    anew = "Rebuild all tables"
    return [
        *(("", address) for address in PAGES),
        ("olga", CHECK),
        ("olga", CHECK, lambda page: page.get_by_role("button", name=anew).click()),
    ]


def test_no_width_scrolls_sideways_and_a_finger_hits_everything(browser: Callable[..., BrowserContext]) -> None:
    made()
    page = browser(viewport=PHONE, has_touch=True).new_page()
    for address in PAGES:
        page.goto(address)
        for width in (320, 390, 650, 700, 768, 1024, 1100):
            page.set_viewport_size({"width": width, "height": 900})
            assert too_wide(page) == [], (address, width)
    page.set_viewport_size(PHONE)
    page.goto("/leaderboard/")
    for target in page.locator(".site-header a, .sort-by a, main button, main select").all():
        assert (target.bounding_box() or {"height": 44})["height"] >= 44, target.inner_text()


def test_a_rule_is_found_by_its_words(olga: User, visit: Callable[..., Page]) -> None:
    page = visit("/rules/", "")
    rules, parts = page.locator("li[id^=R]:visible"), page.locator("h2:visible")
    all_rules, all_parts = rules.count(), parts.count()
    expect(page.locator(".contents")).to_be_visible()
    page.get_by_role("searchbox").fill("smallest BOX")
    expect(page.locator("#R14")).to_be_visible()
    assert 0 < rules.count() < 6 and parts.count() < all_parts
    page.get_by_role("searchbox").fill("")
    expect(rules).to_have_count(all_rules)
    expect(page.locator(".contents")).to_be_visible()
