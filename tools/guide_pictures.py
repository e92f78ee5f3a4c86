"""Takes the pictures of the guides from a running demo, so that they show the pages as they are.

Run by hand in the repository root, with the demo on PORT, after its pages have changed; what it writes is committed:

    python -m tools.guide_pictures http://127.0.0.1:8000

Needs Playwright and Chromium (the tests' requirements). Nothing of the application imports it.
"""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image
from playwright.sync_api import Page, sync_playwright

FOLDER = Path("static/img/guides")
SIZE: Any = {"width": 1200, "height": 720}
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
PASSWORD = "demo-only"  # of every account of the demo


class GuidePicture(NamedTuple):
    """One picture: its file, who is signed in, the page, and what is done there before."""

    name: str
    who: str
    address: str
    before: Callable[[Page], object] = lambda page: None


def _answer(page: Page) -> None:
    """Answer the first two questions: the outline is asked for."""
    page.keyboard.press("1")
    page.keyboard.press("4")


def _open_case(page: Page) -> None:
    page.locator("main table a").first.click()
    for choice in page.get_by_label("No conflict with this team").all():
        choice.check()
    if page.get_by_role("button", name="Record and go on").count():
        page.get_by_role("button", name="Record and go on").click()


_TRIED = "/organizer/what-if/?min_box_fraction=30&panel_size=3&outline_gate=best_guess_yes"
PICTURES = (
    GuidePicture("learn", "newcomer", "/learn/1/"),
    GuidePicture("label", "tasker1", "/label/", _answer),
    GuidePicture("my-work", "tasker1", "/my-work/"),
    GuidePicture("board-cases", "board1", "/board/"),
    GuidePicture("board-case", "board1", "/board/", _open_case),
    GuidePicture("overview", "organizer", "/organizer/"),
    GuidePicture("pictures", "organizer", "/organizer/pictures/"),
    GuidePicture("taskers", "organizer", "/organizer/taskers/"),
    GuidePicture(
        "what-if", "organizer", "/organizer/what-if/?min_box_fraction=30&panel_size=3&outline_gate=best_guess_yes"
    ),
    GuidePicture("attacks", "red", "/attacks/"),
    GuidePicture("team-defenses", "blue", "/team/defenses/"),
)


def main(site: str) -> None:
    """Take every picture."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for each in PICTURES:
            page = browser.new_context(viewport=SIZE, color_scheme="light", base_url=site).new_page()
            page.goto("/sign-in/")
            page.fill("#id_username", each.who)
            page.fill("#id_password", PASSWORD)
            page.click("main button[type=submit]")
            page.goto(each.address)
            page.wait_for_load_state("networkidle")
            each.before(page)
            page.wait_for_load_state("networkidle")
            with Image.open(io.BytesIO(page.screenshot())) as taken:
                taken.convert("RGB").save(FOLDER / f"{each.name}.webp", quality=70, method=6)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
