"""The overview and what all pages share, in a real browser: figures, charts, the header, keyboard and paper."""

import json
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.utils import timezone
from playwright.sync_api import Page, expect

from config.context import ORGANIZER
from contest.core.models import Release
from labeling.models import Question, Report
from scoring.models import Defense, Run
from tests import factories
from tests.browser.looking import (
    DESK,
    FOCUSED,
    HIDDEN,
    REFRESH_MS,
    SHOWN,
    Hands,
    Look,
    follow,
    once,
    organizer,
    push,
    shows,
    timed,
)
from tests.contest.operations.test_parts import HALF, SQUARE, case, leased, ruled


def made() -> None:
    """A contest with something of everything to look at."""
    organizer()
    now = timezone.now()
    tara, otto, uma = (factories.tasker(name) for name in ("tara", "otto", "uma"))
    leased(tara, since=now - timedelta(hours=5), until=now + timedelta(hours=1))
    reported = leased(otto, since=now, until=now + timedelta(hours=1))
    Report.objects.create(
        assignment=reported, image=reported.image, tasker=otto, kind="other", words="It is grey. " * 30, reported_at=now
    )
    Question.objects.create(tasker=otto, text="Is a weathercock a bird?", asked_at=now - timedelta(hours=3))
    factories.gold(held_at=now)
    factories.tasker("pat", state="paused")
    defense = Defense.objects.create(name="Small CNN", digest="a", created_at=now, published_at=now)
    Run.objects.create(
        defense=defense, round=1, seed=1, batch_size=16, state="dead", attempt=3, fault="platform",
        fault_text="no_room_on_the_disk_" * 20, created_at=now, finished_at=now,
    )  # fmt: skip
    case(now - timedelta(days=9), now - timedelta(days=1))
    for outline in (SQUARE, HALF):
        panel = factories.panel(dealt_at=now - timedelta(hours=2))
        for tasker, drawn in ((tara, SQUARE), (otto, outline), (uma, SQUARE)):
            factories.response(tasker, panel, outline=drawn, now=now - timedelta(hours=1))
        ruled(panel, now - timedelta(minutes=30))
    for hours in (-3, 3):
        factories.image(label_from=now + timedelta(hours=hours))
    Release.objects.create(
        week="2026-W40", manifest_sha256="ab" * 32, counts={"images": 7, "responses": 21}, bytes=1234, released_at=now
    )


def pages(_: None) -> list[Look]:
    for name, group in (("rita", "review board"), ("stan", "")):
        factories.user(name, *([group] if group else []))
    return [
        *(("", address) for address in ("/sign-in/", "/api/docs/", "/nothing")),
        ("rita", "/"),
        ("stan", "/"),
        ("olga", "/organizer/"),
    ]


def empty(_: User) -> list[Look]:
    """Pages that have nothing to show yet."""
    tara = factories.tasker("tara")
    addresses = ("", "releases/", "scoring/", "scoring/retry/", "scoring/retry-trials/", "reports/", "questions/")
    return [
        *(("olga", f"/organizer/{address}") for address in addresses),
        *(("", address) for address in ("/defenses/", "/releases/")),
        *((tara, address) for address in ("/my-work/", "/my-work/checks/", "/questions/", "/label/")),
    ]


full = once(made)


def test_on_a_phone_a_finger_hits_everything_in_the_header(olga: User, visit: Callable[..., Page]) -> None:
    for address in ("/account/", "/organizer/taskers/"):
        page = visit(address, screen="phone")
        boxes = [each.bounding_box() for each in page.locator(".site-header :is(a, button)").all()]
        what = "the name of the site, its pages, the messages, the account, and signing out"
        assert len(boxes) == 4 + len(ORGANIZER), what
        assert [box for box in boxes if not box or box["width"] < 44 or box["height"] < 44] == [], address


def test_the_overview_refreshes_itself_and_nothing_jumps(full: None, visit: Callable[..., Page]) -> None:
    page = timed(visit("/organizer/"))
    figures = page.locator("#day-figures > summary")
    figures.click()
    figures.focus()
    page.evaluate("scrollTo(0, 300)")
    waiting = page.locator("tr", has_text="Waiting for a panel").locator("td").first
    expect(waiting).to_have_text("1")
    factories.image(label_from=timezone.now() - timedelta(minutes=1))
    cache.clear()
    page.clock.run_for(REFRESH_MS)
    expect(waiting).to_have_text("2")
    shows(page, {"#day-figures[open] > summary": FOCUSED})
    assert page.evaluate("scrollY") == 300
    page.route("**/organizer/now/", lambda route: route.fulfill(status=403))
    page.clock.run_for(REFRESH_MS)
    shows(page, {".refresh-note": "Not refreshed since"})


def test_the_overview_is_whole_without_scripts_and_on_paper(full: None, visit: Callable[..., Page]) -> None:
    page = visit("/organizer/", java_script_enabled=False)
    shows(page, {"#day-figures": SHOWN, "button:has-text('Sign out')": SHOWN})
    page.emulate_media(media="print")
    shows(page, {"h1": SHOWN, "button:has-text('Sign out')": HIDDEN})


# A chart, and the column of the table beside it that has its figures.
BESIDE = {
    "panel-ages": ("#age-figures", -1),
    "disagreement": ("#differ-figures", 2),
    "answers": ("#day-figures", 0),
    "rulings": ("#day-figures", 1),
    "verdicts": ("#ruling-figures", 0),
    "reasons": ("#ruling-figures", 0),
    "usual-hours": ("#hour-figures", 0),
}
# Under a column only the number of a day or an hour stands, and shares lack their sign.
CHART = """([chart, where, column]) => {
    const words = (all) => [...all].map((each) => each.textContent.trim());
    const plain = (name) => name.replace(/^(?:from (\\d+):00|[A-Z]\\w\\w (\\d+) [A-Z]\\w\\w \\d{4})$/, "$1$2");
    const svg = document.querySelector(`svg[aria-labelledby="${chart}-title"]`);
    const values = words(svg.querySelectorAll(".value"));
    const told = Object.fromEntries([...document.querySelectorAll(`${where} tbody tr`)].map((row) =>
        [plain(words(row.querySelectorAll("th"))[0]), words(row.querySelectorAll("td")).at(column).replace(" %", "")]));
    return [Object.fromEntries(words(svg.querySelectorAll(".name")).map((name, at) => [name, values[at]])), told];
}"""


def test_every_chart_has_its_figures_as_a_table_beside_it(full: None, visit: Callable[..., Page]) -> None:
    page = visit("/organizer/")
    charts = page.locator("main .chart:not(.burn-down) svg").evaluate_all(
        '(all) => all.map((each) => each.getAttribute("aria-labelledby"))'
    )
    assert set(charts) == {f"{chart}-title" for chart in BESIDE}
    for chart, (where, column) in BESIDE.items():
        shown, told = page.evaluate(CHART, [chart, where, column])
        assert any(value != "0" for value in shown.values()), chart
        assert shown.items() <= told.items(), chart
    assert page.locator(".burn-down").count() == page.locator(".burn-down details table").count() > 0


def test_a_line_of_what_waits_leads_down_the_page(full: None, visit: Callable[..., Page]) -> None:
    page = visit("/organizer/")
    for line, heading in (("1 run gave up", "Runs that gave up"), ("1 case before the board", "Before the board")):
        page.locator(".waits").get_by_role("link", name=line).click()
        expect(page.get_by_role("heading", name=heading)).to_be_in_viewport()


def test_the_keyboard_reaches_the_content_first(olga: User, visit: Callable[..., Page]) -> None:
    follow(visit("/organizer/"), ("Tab", ".skip:focus", SHOWN), ("Enter", "main", FOCUSED))


def test_the_outline_of_gold_is_drawn_on_the_picture(olga: User, visit: Callable[..., Page]) -> None:
    panel = factories.panel()
    for name in ("tara", "otto", "uma"):
        factories.response(factories.tasker(name), panel, outline=SQUARE)
    factories.settle(panel)
    page = visit(f"/organizer/gold/new/{panel.image.public_id}/")
    desk, field = Hands(page), page.locator("#outline")
    proposed = field.input_value()
    page.fill("#outline", "")
    page.locator(".outline-surface").scroll_into_view_if_needed()
    desk.corner((20, 20), (120, 20), (120, 120))
    push(page, "Make it gold")
    shows(page, {"#outline-note": "begun and not closed"})
    page.locator(".outline-surface").press("c")
    assert json.loads(field.input_value()) != json.loads(proposed)
    push(page, "Preview the outline")
    expect(page.locator("path.outline").first).to_have_attribute("d", re.compile("^M(20|19)"))
    shows(page, {"#outline-editor .outline-surface": SHOWN})


@pytest.mark.parametrize("address", ["/organizer/policy/new/", "/organizer/learning/", "/api/docs/"])
def test_a_long_page_is_folded(address: str, olga: User, visit: Callable[..., Page]) -> None:
    assert visit(address).evaluate("document.documentElement.scrollHeight") < 4 * DESK["height"]
