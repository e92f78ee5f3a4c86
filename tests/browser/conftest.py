"""A real Chromium for the tests of this folder."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.label_desk import contexts, desk, pictures
from tests.browser.looking import browser, olga, orm_beside_playwright, visit
from tests.chromium import ARGUMENTS, PATIENCE_MS, engine_path
from tests.in_flight import wait_until_quiet

__all__ = ["browser", "contexts", "desk", "olga", "orm_beside_playwright", "pictures", "visit"]

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser per module: Playwright's event loop, left running, would upset the database tests after it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=engine_path(), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def quiet_before_emptying(request: pytest.FixtureRequest) -> Iterator[None]:
    """Between the end of a test's pages and the emptying of the tables, let the last requests end."""
    if "live_server" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("transactional_db")
    yield
    wait_until_quiet()
