"""Entries and stakes in a real browser: a team hands in, the board stakes, the clock runs; accessible throughout."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from common.models import UserSession
from contest.models import Entry, Team
from contest.stakes import ends, services
from scoring.enums import TrialKind
from scoring.models import Defense
from tests.browser.looking import Look, organizer
from tests.contest.stakes import cast
from tests.factories import PASSWORD
from tests.scoring.trials import cast as trials

DAY = timedelta(days=1)


def made() -> Team:
    """A team and money in the pool; a board member."""
    organizer()
    blue = cast.team("blue", now=timezone.now())
    cast.funded(now=timezone.now())
    cast.board()
    return blue


@pytest.fixture
def blue(made_once: Any) -> Team:
    return made_once(made)


def pages(blue: Team) -> list[Look]:
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
    own, of = shown.defense.public_id, {each.name: each.public_id for each in Defense.objects.all()}
    return [
        *(("", address) for address in ("/defenses/", f"/defenses/{own}/", f"/defenses/{of['closed']}/")),
        ("cap-blue", "/team/defenses/"),
        ("cap-blue", "/team/defenses/new/"),
        *(("cap-blue", f"/team/defenses/{each}/") for each in (own, of["wish"], of["new"], of["free"])),
        ("rita", "/board/stakes/"),
        ("olga", "/organizer/stakes/"),
    ]


def test_a_team_hands_in_an_archive_and_is_told_at_its_field_what_is_wrong(
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
    page.get_by_label("Archive").set_input_files(cast.archive(tmp_path / "a"))
    page.get_by_label("Source").set_input_files(cast.zipped(tmp_path / "source.zip"))
    page.get_by_role("button", name="Hand in").click()
    expect(page.locator("h1")).to_have_text("steadfast")
    expect(page.locator("main")).to_contain_text("Published if eligible by")
    defense = Defense.objects.get(name="steadfast")
    assert defense.archive and defense.source and Entry.objects.get().opened_at is not None


def test_the_clock_of_a_stake_runs_for_everybody_and_stays_on_paper(blue: Team, visit: Callable[..., Page]) -> None:
    defense = cast.published(blue, "steadfast", now=timezone.now() - DAY)
    cast.staked(defense, now=timezone.now())
    page = visit(f"/defenses/{defense.public_id}/", who="")
    clock = page.locator(".clock")
    expect(clock).to_have_text(re.compile(r"^89 d 23:59:\d\d$"))
    expect(clock).not_to_have_text(clock.inner_text())
    expect(page.locator("#stake + .facts")).to_contain_text("90 × 24 h, until")
    page.emulate_media(media="print")
    expect(clock).to_be_visible()


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
