"""Entries and stakes in a real browser: a team hands in, the board stakes, the clock runs; accessible throughout."""

import hashlib
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from accounts.models import UserSession
from contest.core.models import Team
from contest.defenses import stake_ends, staking
from contest.defenses.models import DefenseEntry
from scoring.enums import TrialKind
from scoring.models import Defense
from tests.browser.looking import SHOWN, Look, holds, in_new_tab, once, organizer, push, shows
from tests.contest.defenses import cast
from tests.scoring.trials import cast as trials

DAY = timedelta(days=1)
PIECE = str(8 << 20)  # where the second piece of a file begins


def made() -> Team:
    """A team and money in the pool; a board member."""
    organizer()
    blue = cast.team("blue", now=timezone.now())
    cast.funded(now=timezone.now())
    cast.board()
    return blue


blue = once(made)


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
    stake_ends.stakes_end(now=now)
    staking.return_request(cast.stake(shown.defense), "We found a mistake. " * 9, by=captain, now=now)
    staking.stake_request(wish, by=captain, now=now)
    assert free in cast.selectors.stakeable()
    for name, days in (("late", 40), ("new", 8)):
        cast.entry(blue, name, now=now - days * DAY, closed=name == "new")
    own, of = shown.defense.public_id, {each.name: each.public_id for each in Defense.objects.all()}
    return [
        *(("", address) for address in ("/defenses/", f"/defenses/{own}/", f"/defenses/{of['closed']}/")),
        ("cap-blue", "/team/defenses/"),
        ("cap-blue", "/team/defenses/new/"),
        *(("cap-blue", f"/team/defenses/{each}/") for each in (own, of["wish"], of["new"], of["free"])),
        ("rita", "/board/stakes/"),
        ("olga", "/organizer/stakes/"),
    ]


def named(page: Page, image: str = "") -> None:
    """Fill in what every defense has, and perhaps an image in a registry."""
    fields = {"Name (required)": "steadfast", "Licence (required)": "Apache-2.0", "Or its name and digest": image}
    for label, words in fields.items():
        page.get_by_label(label, exact=label.startswith("Name")).fill(words)


def test_a_team_hands_in_an_archive_and_is_told_at_its_field_what_is_wrong(
    blue: Team, visit: Callable[..., Page], tmp_path: Path
) -> None:
    page = visit("/team/defenses/", who="cap-blue")
    push(page, "Hand in a defense")
    named(page)
    page.get_by_label("Archive").set_input_files(cast.zipped(tmp_path / "wrong.tar"))
    push(page, "Hand in")
    # Refused on the spot, at its field, and everything typed is still there.
    shows(page, {"#archive_error": "not an archive as docker save writes it", "[name=name]": holds("steadfast")})
    page.get_by_label("Archive").set_input_files(cast.archive(tmp_path / "a"))
    page.get_by_label("Source").set_input_files(cast.zipped(tmp_path / "source.zip"))
    push(page, "Hand in")
    shows(page, {"h1": "steadfast", "main": "Published if eligible by"})
    defense = Defense.objects.get(name="steadfast")
    assert defense.archive and defense.source and DefenseEntry.objects.get().opened_at is not None


def test_the_clock_of_a_stake_runs_for_everybody_and_stays_on_paper(blue: Team, visit: Callable[..., Page]) -> None:
    defense = cast.published(blue, "steadfast", now=timezone.now() - DAY)
    cast.staked(defense, now=timezone.now())
    page = visit(f"/defenses/{defense.public_id}/", who="")
    clock = page.locator(".clock")
    expect(clock).to_have_text(re.compile(r"^89 d 23:59:\d\d$"))
    expect(clock).not_to_have_text(clock.inner_text())
    shows(page, {"#stake + .facts": "90 × 24 h, until"})
    page.emulate_media(media="print")
    expect(clock).to_be_visible()


def test_a_sign_in_that_is_over_costs_no_files(blue: Team, visit: Callable[..., Page]) -> None:
    """Signing in anew in another tab changes the CSRF token; the form is sent from the page that was open."""
    page = visit("/team/defenses/new/", who="cap-blue")
    named(page, cast.IN_REGISTRY)
    UserSession.objects.all().delete()
    push(page, "Hand in")
    shows(page, {"[data-refused]": "You are signed out, and nothing was handed in. Your files stay chosen here"})
    in_new_tab(page, page.locator("[data-refused] a"), "cap-blue", "Hand in a defense")
    push(page, "Hand in")
    page.wait_for_url(re.compile(r"/team/defenses/D-"))
    assert DefenseEntry.objects.get().defense.name == "steadfast"


def test_how_far_an_upload_is_can_be_read(blue: Team, visit: Callable[..., Page], tmp_path: Path) -> None:
    page = visit("/team/defenses/new/", who="cap-blue")
    big = tmp_path / "big.zip"
    big.write_bytes(bytes(2_000_000))
    named(page, cast.IN_REGISTRY)
    page.get_by_label("Training code").set_input_files(big)
    client = page.context.new_cdp_session(page)
    client.send("Network.enable")
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 2_000_000}
    client.send("Network.emulateNetworkConditions", slow)
    push(page, "Hand in")
    expect(page.locator("[data-progress]")).to_contain_text(re.compile(r"of 2\.0 MB sent|are sent"))
    button = expect(page.get_by_role("button", name="Hand in"))
    button.to_be_disabled()
    shows(page, {"#training_code_error": "not a zip that can be read"})
    button.to_be_enabled()


def test_a_large_file_goes_on_where_the_connection_broke(
    blue: Team, visit: Callable[..., Page], tmp_path: Path
) -> None:
    page = visit("/team/defenses/new/", who="cap-blue")
    weights = tmp_path / "weights.bin"
    weights.write_bytes(bytes(range(256)) * 80_000)  # 20 MB are three pieces
    sent: list[str] = []

    def broken_at_the_second(route: Route) -> None:
        sent.append(re.findall(r"at=(\d+)", route.request.url)[0] if route.request.method == "POST" else "?")
        if sent.count(PIECE) < 2 and sent[-1] == PIECE:
            route.abort()
        else:
            route.continue_()

    page.route("**/pieces/**", broken_at_the_second)
    named(page)
    page.get_by_label("Weights").set_input_files(weights)
    push(page, "Hand in")
    shows(page, {"[data-refused]": SHOWN})
    assert sent == ["?", "0", PIECE, "?", PIECE, "16777216"]
    # Chosen again after a reload, nothing of it is sent again.
    page.reload()
    sent.clear()
    named(page, cast.IN_REGISTRY)
    page.get_by_label("Weights").set_input_files(weights)
    push(page, "Hand in")
    page.wait_for_url(re.compile(r"/team/defenses/D-"))
    assert sent == ["?"]
    assert Defense.objects.get().weights == hashlib.sha256(weights.read_bytes()).hexdigest()
