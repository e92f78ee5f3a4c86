"""A real Chromium for the tests of this folder."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.label_desk import contexts, desk, orm_beside_playwright, pictures
from tests.in_flight import wait_until_quiet

__all__ = ["contexts", "desk", "orm_beside_playwright", "pictures"]

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def browser_path() -> str | None:
    """The Chromium of this machine; None for the one that Playwright brings."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser per module: Playwright's event loop, left running, would upset the database tests after it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=ARGUMENTS)
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
