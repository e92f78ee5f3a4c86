"""A language that is read from right to left: the pages turn round, the picture does not."""

from typing import Any

from playwright.sync_api import expect

from labeling.models import Panel
from tests import factories
from tests.browser.label_desk import Desk
from tests.browser.looking import DESK, PHONE, too_wide


def test_every_page_turns_round_and_fits(pictures: list[Panel], contexts: Any, live_server: Any, settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("ar", "العربية")]
    tara = factories.tasker("tara")
    tara.language = "ar"
    tara.save()
    desk = Desk(contexts(tara).new_page(), live_server.url).open()
    expect(desk.page.locator("html")).to_have_attribute("dir", "rtl")
    direction = "getComputedStyle(document.querySelector('.outline-surface')).direction"
    assert desk.page.evaluate(direction) == "ltr", "x counts from the left in every language"
    picture, questions = (desk.page.locator(each).bounding_box() for each in ("#picture", "#questions"))
    assert picture and questions and questions["x"] < picture["x"]
    for address in ("label", "my-work", "questions", "learn", "label/instructions", "account"):
        desk.page.goto(f"{live_server.url}/{address}/")
        for size in (DESK, PHONE):
            desk.page.set_viewport_size(size)
            assert too_wide(desk.page) == [], address
    assert desk.complaints == []
