"""Entries and stakes in a real browser: a team hands in, the board stakes, the clock runs; accessible throughout."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from common.models import UserSession
from contest.models import Case, Entry, Stake, StakeBatch, Team
from contest.stakes import ends, services
from contest.stakes.entries import defenses_publish
from scoring.enums import TrialKind
from scoring.models import Defense
from tests import factories
from tests.browser.looking import SCREENS, too_wide, violations
from tests.contest.stakes import cast
from tests.factories import PASSWORD
from tests.scoring.trials import cast as trials

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
DAY = timedelta(days=1)


@pytest.fixture
def blue(olga: User) -> Team:
    """A team and money in the pool; a board member."""
    made = cast.team("blue", now=timezone.now())
    cast.funded(now=timezone.now())
    cast.board()
    return made


@pytest.fixture
def full(blue: Team) -> Entry:
    """A defense in every state, with stakes of every kind, a wish, a question to the board, and one overdue."""
    now = timezone.now()
    captain = cast.captain(blue)
    shown = cast.entry(blue, "A net with a rather long name", now=now - 20 * DAY, published=now - 10 * DAY)
    trials.passed(shown.defense, TrialKind.SMOKE, log="loading weights from a_rather_long_path/" * 8)
    trials.passed(shown.defense, TrialKind.PRIVATE)
    closed, broken, wish, free = (
        cast.published(blue, name, now=now - 9 * DAY, closed=name == "closed")
        for name in ("closed", "broken", "wish", "free")
    )
    cast.staked(shown.defense, closed, broken, now=now - 8 * DAY)
    cast.broken(broken, now - 7 * DAY, found=now - DAY)
    ends.stakes_end(now=now)
    services.return_ask(cast.stake(shown.defense), "We found a mistake. " * 9, by=captain, now=now)
    services.stake_ask(wish, by=captain, now=now)
    assert free in cast.selectors.stakeable()
    cast.entry(blue, "late", now=now - 40 * DAY)
    cast.entry(blue, "new", now=now - 8 * DAY, closed=True)
    return shown


def addresses(shown: Entry) -> dict[str, tuple[str, str]]:
    of = {each.name: each.public_id for each in Defense.objects.all()}
    return {
        "list": ("/defenses/", ""),
        "staked": (f"/defenses/{shown.defense.public_id}/", ""),
        "closed": (f"/defenses/{of['closed']}/", ""),
        "team": ("/team/defenses/", "cap-blue"),
        "hand in": ("/team/defenses/new/", "cap-blue"),
        "own staked": (f"/team/defenses/{shown.defense.public_id}/", "cap-blue"),
        "own wish": (f"/team/defenses/{of['wish']}/", "cap-blue"),
        "own closed": (f"/team/defenses/{of['new']}/", "cap-blue"),
        "own free": (f"/team/defenses/{of['free']}/", "cap-blue"),
        "board": ("/board/stakes/", "rita"),
        "organizer": ("/organizer/stakes/", "olga"),
    }


@pytest.mark.parametrize("screen", SCREENS)
def test_the_pages_are_accessible_and_fit(screen: str, full: Entry, visit: Callable[..., Page]) -> None:
    found, pages = {}, {}
    for name, (address, who) in addresses(full).items():
        if who not in pages:
            pages[who] = visit(address, screen=screen, who=who)
        page = pages[who]
        page.goto(re.sub(r"(https?://[^/]+).*", r"\1", page.url) + address)
        for details in page.locator("details").all():
            details.locator("summary").click()
        expect(page.locator("h1")).to_have_count(1)
        found[name] = violations(page) + too_wide(page)
    assert found == dict.fromkeys(found, [])


def test_a_team_hands_in_an_archive_the_board_stakes_it_and_the_clock_runs(
    blue: Team, visit: Callable[..., Page], tmp_path: Path
) -> None:
    page = visit("/team/defenses/", who="cap-blue")
    page.get_by_role("button", name="Hand in a defense").click()
    page.get_by_label("Name (required)", exact=True).fill("steadfast")
    page.get_by_label("Licence").fill("Apache-2.0")
    page.get_by_label("Archive").set_input_files(cast.zipped(tmp_path / "wrong.tar"))
    page.get_by_role("button", name="Hand in").click()
    # Refused on the spot, at its field, and everything typed is still there.
    expect(page.locator("#archive-wrong")).to_contain_text("not an archive as docker save writes it")
    expect(page.get_by_label("Name (required)", exact=True)).to_have_value("steadfast")
    assert violations(page) == []
    page.get_by_label("Archive").set_input_files(cast.archive(tmp_path / "a"))
    page.get_by_label("Source").set_input_files(cast.zipped(tmp_path / "source.zip"))
    page.get_by_role("button", name="Hand in").click()
    expect(page.locator("h1")).to_have_text("steadfast")
    expect(page.locator("main")).to_contain_text("Published if eligible by")
    defense = Defense.objects.get(name="steadfast")
    assert defense.archive and defense.source and Entry.objects.get().opened_at is not None
    # Its trials are passed, and the sweep publishes it.
    cast.eligible(defense)
    now = timezone.now()
    assert defenses_publish(policy=cast.policy(now), now=now) == 1
    board = visit("/board/stakes/", who="rita")
    board.get_by_label("steadfast").check()
    board.get_by_label("Criteria").fill("Reproducible and easy to run.")
    board.get_by_label("Reason of the decision").fill("It is the first of its kind.")
    board.get_by_role("button", name="Move to stake them").click()
    board.get_by_role("button", name="Move it").click()
    case = Case.objects.get()
    expect(board.get_by_role("status")).to_contain_text(f"Moved as case {case.public_id}: 2 votes are needed")
    expect(board.get_by_role("link", name=case.public_id)).to_be_visible()
    factories.carried(case, factories.user("ron", "review board"), timezone.now())
    board.reload()
    expect(board.locator("#batches ~ .story")).to_contain_text(StakeBatch.objects.get().public_id)
    stranger = visit(f"/defenses/{defense.public_id}/", who="")
    clock = stranger.locator(".clock")
    expect(clock).to_have_text(re.compile(r"^89 d 23:59:\d\d$"))
    first = clock.inner_text()
    expect(clock).not_to_have_text(first)
    expect(stranger.locator("#stake + .facts")).to_contain_text("90 × 24 h, until")
    assert Stake.objects.get().staked_at is not None


def test_a_file_that_is_too_large_is_marked_before_it_is_sent(
    blue: Team, visit: Callable[..., Page], tmp_path: Path
) -> None:
    page = visit("/team/defenses/new/", who="cap-blue")
    page.locator("#source").evaluate("(input) => { input.dataset.most = '10'; }")
    page.get_by_label("Source").set_input_files(cast.zipped(tmp_path / "source.zip"))
    expect(page.locator("#source-wrong")).to_have_text("This file has more than is allowed. Make it smaller.")
    expect(page.get_by_label("Source")).to_have_attribute("aria-invalid", "true")


def test_a_sign_in_that_is_over_costs_no_files(blue: Team, visit: Callable[..., Page]) -> None:
    """Signing in anew in another tab changes the CSRF token; the form is sent from the page that was open."""
    page = visit("/team/defenses/new/", who="cap-blue")
    page.get_by_label("Name (required)", exact=True).fill("steadfast")
    page.get_by_label("Licence").fill("Apache-2.0")
    page.get_by_label("Or its name and digest").fill(cast.IN_REGISTRY)
    UserSession.objects.all().delete()
    page.get_by_role("button", name="Hand in").click()
    refused = page.locator("[data-refused]")
    expect(refused).to_contain_text("You are signed out, and nothing was sent. Your files stay chosen here")
    assert violations(page) == []
    with page.expect_popup() as opened:
        refused.get_by_role("link", name="Sign in, in a new tab").click()
    tab = opened.value
    tab.get_by_label("User name").fill("cap-blue")
    tab.get_by_label("Password", exact=True).fill(PASSWORD)
    tab.get_by_role("button", name="Sign in").click()
    expect(tab.get_by_role("heading", name="Hand in a defense")).to_be_visible()
    page.get_by_role("button", name="Hand in").click()
    page.wait_for_url(re.compile(r"/team/defenses/D-"))
    assert Entry.objects.get().defense.name == "steadfast"


def test_how_far_an_upload_is_can_be_read(blue: Team, visit: Callable[..., Page], tmp_path: Path) -> None:
    page = visit("/team/defenses/new/", who="cap-blue")
    big = tmp_path / "big.zip"
    big.write_bytes(bytes(8_000_000))
    page.get_by_label("Name (required)", exact=True).fill("steadfast")
    page.get_by_label("Licence").fill("Apache-2.0")
    page.get_by_label("Or its name and digest").fill(cast.IN_REGISTRY)
    page.get_by_label("Training code").set_input_files(big)
    client = page.context.new_cdp_session(page)
    client.send("Network.enable")
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 2_000_000}
    client.send("Network.emulateNetworkConditions", slow)
    page.get_by_role("button", name="Hand in").click()
    expect(page.locator("[data-progress]")).to_contain_text(re.compile(r"of 8\.0 MB sent|are sent"))
    expect(page.get_by_role("button", name="Hand in")).to_be_disabled()
    expect(page.locator("#training_code-wrong")).to_contain_text("not a zip that can be read", timeout=30_000)
    expect(page.get_by_role("button", name="Hand in")).to_be_enabled()


def test_without_a_script_a_team_hands_in_all_the_same(blue: Team, visit: Callable[..., Page]) -> None:
    page = visit("/team/defenses/new/", who="cap-blue", java_script_enabled=False)
    page.locator("#name").fill("plain")
    page.locator("#licence").fill("MIT")
    page.locator("#image").fill(cast.IN_REGISTRY)
    page.get_by_role("button", name="Hand in").click()
    expect(page.locator("h1")).to_have_text("plain")


def test_on_paper_the_clock_and_its_end_stay(full: Entry, visit: Callable[..., Page]) -> None:
    page: Any = visit(f"/defenses/{full.defense.public_id}/", who="")
    page.emulate_media(media="print")
    expect(page.locator(".clock")).to_be_visible()
