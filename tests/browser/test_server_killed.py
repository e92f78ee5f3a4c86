"""The server is killed between its commit and its answer: the answer is there once, and the tasker gets the receipt."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.label_desk import Desk
from tests.browser.looking import DESK
from tests.cut_wire import wire_to
from tests.processes import deployment, kill, wait_for

pytestmark = pytest.mark.postgres("a server is killed as in a contest")
FILL = """
from django.utils import timezone
from labeling.models import Tasker
from labeling.png import encode_png, pixels_sha256
from labeling.store import picture_key, picture_store
from tests import factories
factories.tasker("tara")
for shade in (40, 90, 140):
    pixels = bytes((shade, 150, 170)) * 299 * 299
    sha = pixels_sha256(299, 299, pixels)
    picture_store().put(picture_key(sha), encode_png(299, 299, pixels))
    factories.panel(factories.image(pixels_sha256=sha), dealt_at=timezone.now())
result = True
"""
KEPT = """
from labeling.models import Panel, Response
result = {
    "responses": list(Response.objects.values_list("receipt", flat=True)),
    "answered": sum(Panel.objects.values_list("answered", flat=True)),
}
"""


@pytest.mark.long("the page asks again after half a minute; killed before the answer arrives stays")
def test_killed_between_commit_and_answer(chromium: Browser, tmp_path: Path) -> None:
    with deployment(tmp_path) as site:
        site.run(FILL)
        web = site.start_web()
        with wire_to(site.port) as wire:
            desk = _signed_in(chromium, f"http://127.0.0.1:{wire.port}")
            wire.arm(b"/response/ ", lambda: kill(web))
            desk.press("4", "4", "Enter")
            assert wire.was_cut.wait(20), "the answer was on its way when the server died"
            before = site.run(KEPT)
            assert len(before["responses"]) == 1, "it was committed"
            site.start_web()
            expect(desk.page.locator("body")).to_contain_text(before["responses"][0], timeout=90_000)
            assert site.run(KEPT) == before | {"answered": 1}
            desk.page.context.close()


def test_killed_before_the_answer_arrived_and_the_tab_closed(chromium: Browser, tmp_path: Path) -> None:
    """The server is away altogether, the tab is closed, both come back: sent once, from what the device kept."""
    with deployment(tmp_path) as site:
        site.run(FILL)
        web = site.start_web()
        desk = _signed_in(chromium, site.url)
        kill(web)
        desk.press("4", "4", "Enter")
        # Beside the next picture if that was here already, else in place of it.
        expect(desk.page.get_by_text("1 answer waits for the network.").filter(visible=True)).to_be_visible()
        desk.page.close()
        assert site.run(KEPT)["responses"] == []
        site.start_web()
        context = desk.page.context
        again = Desk(context.new_page(), site.url).open()
        wait_for(lambda: len(site.run(KEPT)["responses"]) == 1, "the answer")
        again.reload()
        assert site.run(KEPT)["answered"] == 1
        context.close()


def _signed_in(chromium: Browser, address: str) -> Desk:
    page = chromium.new_context(viewport=DESK).new_page()
    page.goto(f"{address}/label/")
    page.fill("[name=username]", "tara")
    page.fill("[name=password]", "demo-only")
    page.click("main [type=submit]")
    return Desk(page, address).open()
