"""Every key of the labeling page's table, wherever the focus is: it does what it is for, or the page says why not."""

from typing import Any

import pytest

from labeling.preferences import ACTIONS
from tests.browser.label_desk import Desk

# Where the focus may be: what to open first, and what to focus; nothing focused is the page itself.
PLACES = {
    "the page itself": ("", ""),
    "an answer of question 1": ("[data-field=contains_bird]", "[name=contains_bird]:checked"),
    "the name of a question": ("[data-field=contains_bird]", "[data-field=contains_bicycle] summary"),
    "the box to tick": ("[data-field=outline]", "[name=cannot_outline]"),
    "a switch of question 4": ("[data-field=statements]", "[name=complete]"),
    "the picture": ("[data-field=outline]", ".outline-surface"),
    "a tool": ("[data-field=outline]", "#fit"),
    "the link to the instructions": ("[data-field=outline]", "#open-instructions"),
    "a link of the page's head": ("[data-field=outline]", ".site-header a"),
    "Submit": ("[data-field=outline]", "#submit"),
}
# The order leaves something to do for the next one: an outline is open, then closed; a corner is chosen, then removed.
ORDER = [
    "close_outline", "next_corner", "previous_corner", "insert_corner", "remove_corner", "undo", "redo",
    "fewer_corners", "more_corners", "zoom_in", "zoom_out", "zoom_in", "fit", "move", "smoothing", "brighter", "darker",
    "more_contrast", "as_sent", "less_contrast", "guides", "minimap", "next_question", "previous_question",
    "cannot_outline", "cannot_outline", "report", "ask", "receipts", "keys", "instructions", "dismiss", "submit",
    "take_back", "choice_4", "choice_3", "choice_2", "choice_1",
]  # fmt: skip
FURTHER = {"next_corner": "PageDown", "previous_corner": "PageUp", "remove_corner": "Backspace", "zoom_in": "="}
KEYS = {action.name: action.key for action in ACTIONS}
# Focus the place with a silent page, and return all that can be seen.
FOCUS = """([open, focus]) => {
    for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
    if (open && !document.querySelector(open).open) document.querySelector(`${open} summary`).click();
    if (focus) {
        const part = document.querySelector(focus) ?? document.querySelector(focus.replace(":checked", ""));
        part.focus({ preventScroll: true });
        if (document.activeElement !== part) throw new Error(`${focus} takes no focus`);
    } else {
        document.activeElement.blur();
    }
    document.querySelector("#status").textContent = "";
}"""
SEEN = """() => new Promise((done) => requestAnimationFrame(() => done(JSON.stringify([
    [...new FormData(document.querySelector("#label-form"))],
    document.querySelector(".outline-surface").outerHTML,
    [...document.querySelectorAll("details")].map(({ open }) => open),
    [...document.querySelectorAll("[aria-pressed]")].map((each) => each.ariaPressed),
    [...document.querySelectorAll("dialog[open]")].map(({ id }) => id),
    document.querySelector("#status").textContent,
]))))"""


def test_the_order_has_every_action() -> None:
    assert set(ORDER) == set(KEYS)


@pytest.mark.parametrize(
    "places",
    [
        pytest.param(["the page itself", "a switch of question 4", "the picture"], id="three places"),
        pytest.param(list(PLACES), id="every place", marks=pytest.mark.long("37 keys from each of ten places")),
    ],
)
def test_every_key_from_every_place(places: list[str], desk: Desk) -> None:
    for number, place in enumerate(places):
        desk.press("Escape", "0")
        desk.answer_again(1, 1)
        desk.answer_again(2, 4)
        left, top = 30 + 20 * number, 40 + 15 * number
        desk.corner((left, top), (left + 12, top), (left, top + 12))
        for name in ORDER:
            if name == "submit":
                desk.corner((left, top + 40))  # an outline that is not closed: the picture stays
            for key in filter(None, (KEYS[name], FURTHER.get(name))):
                _press(desk, key, place)


def test_where_no_outline_is_asked_its_keys_say_so(desk: Desk) -> None:
    for place in ("an answer of question 1", "the picture"):
        for name in ("close_outline", "next_corner", "insert_corner", "remove_corner", "fewer_corners", "undo", "redo"):
            _press(desk, KEYS[name], place)
            desk.status.to_have_text("No outline is asked for with these answers to questions 1 and 2.")


def test_no_key_does_anything_behind_a_dialog(desk: Desk) -> None:
    for opener in ("report", "ask", "receipts", "keys", "instructions"):
        desk.press(KEYS[opener])
        desk.page.locator("dialog[open]").wait_for()
        desk.page.evaluate("() => document.activeElement.blur()")
        before = desk.page.evaluate(SEEN)
        for name in ORDER:
            if KEYS[name] != "Enter":
                desk.press(*filter(None, (KEYS[name], FURTHER.get(name))))
        assert desk.page.evaluate(SEEN) == before, opener
        desk.press("Escape")
        desk.page.locator("dialog[open]").wait_for(state="detached")


def _press(desk: Desk, key: str, place: str) -> None:
    if key == "Enter" and place.startswith(("a link", "the link", "a tool")):
        return  # Enter follows or presses it
    desk.page.evaluate(FOCUS, PLACES[place])
    before: Any = desk.page.evaluate(SEEN)
    desk.press(key)
    for _ in range(60):
        if desk.page.evaluate(SEEN) != before or desk.complaints:
            break
    else:
        raise AssertionError(f"{key} did nothing from {place}, and the page says nothing")
    assert desk.complaints == [], f"{key} from {place}"
