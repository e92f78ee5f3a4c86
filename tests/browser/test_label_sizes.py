"""The labeling page at every size of a screen, and from right to left: what is saved, what is missing and Submit can be
read and reached, and nothing lies over anything else.
"""

from typing import Any

import pytest
from playwright.sync_api import expect

from labeling.models import Panel, Tasker
from tests import factories
from tests.browser.label_desk import Desk
from tests.browser.looking import DESK, PHONE, too_wide

WIDTHS = (
    *(320, 360, 390, 480, 600, 683, 768, 820, 821, 844, 900, 960, 1024, 1100, 1101),
    *(1300, 1301, 1340, 1341, 1366, 1760, 1761, 1920, 2560),
)


HEIGHTS = (390, 480, 560, 561, 720, 844, 1180, 1440)


# Every width at an ordinary height, and every height at widths of each layout.
SIZES = sorted(
    {(width, 720) for width in WIDTHS}
    | {(width, height) for width in (320, 390, 683, 820, 844, 960, 1366, 2560) for height in HEIGHTS}
    | {(width, height) for width, height in ((480, 320), (568, 320), (740, 360), (320, 480), (1180, 820))}
)


# What is wrong with the bar, in words; an empty list where all is well.
WRONG = """(wide) => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
    const wrong = [];
    const name = (each) => `${each.id || each.className}: ${each.textContent.trim().slice(0, 40)}`;
    const complain = (each, what) => wrong.push(`${name(each)} ${what}`);
    const box = (each) => each.getBoundingClientRect();
    const shown = (each) => each.checkVisibility() && each.textContent.trim();
    const hit = (each, x, y) => {
        const found = document.elementFromPoint(x, y);
        if (!found || !(each.contains(found) || found.contains(each))) complain(each, `is covered by ${found?.id}`);
    };
    // A phone makes room for what is too wide, so that its own width says nothing.
    const across = document.scrollingElement.scrollWidth;
    if (across > wide) wrong.push(`scrolls to ${across} px`);
    const tools = [...document.querySelectorAll(".tools > .tool")].filter(shown);
    const [submit, missing, status, saved] = ["submit", "missing", "status", "saved"].map(
        (id) => document.getElementById(id));
    // Where there is little space, how an answer went has the place of what is saved.
    if (!shown(saved) && !shown(status)) wrong.push("no news is shown");
    if (!shown(missing) || !shown(submit)) wrong.push("what is missing or Submit is not shown");
    const texts = [status, saved, missing].filter(shown);
    for (const each of [...texts, submit, ...tools]) {
        const { left, top, right, bottom, width, height } = box(each);
        if (left < -0.5 || top < -0.5 || right > wide + 0.5 || bottom > innerHeight + 0.5) complain(each, "is cut off");
        const [wider, higher] = [each.scrollWidth - each.clientWidth, each.scrollHeight - each.clientHeight];
        if (wider > 1 || higher > 3) complain(each, "does not fit");
        hit(each, (left + right) / 2, (top + bottom) / 2);
        if (tools.includes(each)) continue;
        const words = document.createRange();
        words.selectNodeContents(each);
        for (const line of [...words.getClientRects()].filter((line) => line.width > 2)) {
            if (line.left < left - 1 || line.right > right + 1) complain(each, "runs out of its place");
            hit(each, line.left + 1, (line.top + line.bottom) / 2);
            hit(each, line.right - 1, (line.top + line.bottom) / 2);
        }
        const size = parseFloat(getComputedStyle(each).fontSize);
        const column = size < 11 || width < 110 || height > 7.5 * size;
        if (texts.includes(each) && column) complain(each, `is a column of ${width} x ${height}`);
    }
    const parts = [...texts, submit, ...tools];
    for (const [at, one] of parts.entries()) {
        for (const other of parts.slice(at + 1)) {
            const [a, b] = [box(one), box(other)];
            const beside = a.right <= b.left + 0.5 || b.right <= a.left + 0.5;
            if (!beside && a.bottom > b.top + 0.5 && b.bottom > a.top + 0.5) complain(one, `lies over ${name(other)}`);
        }
    }
    done(wrong);
})))"""


# Each width and height that the styles tell apart, at least once.
SOME = [(320, 480), (390, 844), (568, 320), (683, 390), (820, 1180), (844, 390), (1024, 720), (1101, 720), (1366, 720)]


FINGER = {"has_touch": True, "is_mobile": True}


@pytest.mark.parametrize(
    ("language", "hand", "sizes"),
    [
        pytest.param("de", {}, SOME, id="German, some sizes"),
        pytest.param("en", {}, SIZES, id="English", marks=pytest.mark.long("ninety sizes, twice")),
        pytest.param("de", {}, SIZES, id="German", marks=pytest.mark.long("ninety sizes, twice")),
        pytest.param("de", FINGER, SIZES, id="German, by finger", marks=pytest.mark.long("ninety sizes, twice")),
    ],
)
def test_the_bar_at_every_size(
    language: str,
    hand: dict[str, Any],
    sizes: list[tuple[int, int]],
    pictures: list[Panel],
    contexts: Any,
    live_server: Any,
) -> None:
    tara = factories.tasker("tara")
    Tasker.objects.filter(pk=tara.pk).update(language=language)
    desk = Desk(contexts(tara, **hand).new_page(), live_server.url).open()
    wrong = {}
    for step, act in {
        "answered": lambda: desk.answer(1, 1),
        "refused": lambda: (desk.answer(2, 4), desk.submit()),
    }.items():
        act()
        for width, height in sizes:
            desk.page.set_viewport_size({"width": width, "height": height})
            wrong[f"{step} {width} x {height}"] = desk.page.evaluate(WRONG, width)
    assert wrong == dict.fromkeys(wrong, [])
    assert desk.complaints == []


def test_every_page_turns_round_and_fits(pictures: list[Panel], contexts: Any, live_server: Any, settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("ar", "العربية")]
    tara = factories.tasker("tara")
    Tasker.objects.filter(pk=tara.pk).update(language="ar")
    desk = Desk(contexts(tara).new_page(), live_server.url).open()
    expect(desk.page.locator("html")).to_have_attribute("dir", "rtl")
    # The picture does not turn round: x counts from the left in every language.
    expect(desk.page.locator(".outline-surface")).to_have_css("direction", "ltr")
    picture, questions = (desk.page.locator(each).bounding_box() for each in ("#picture", "#questions"))
    assert picture and questions and questions["x"] < picture["x"]
    for address in ("label", "my-work", "questions", "learn", "label/instructions", "account"):
        desk.page.goto(f"{live_server.url}/{address}/")
        for size in (DESK, PHONE):
            desk.page.set_viewport_size(size)
            assert too_wide(desk.page) == [], address
    assert desk.complaints == []
