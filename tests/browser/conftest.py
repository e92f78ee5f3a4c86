"""A real Chromium for the tests of this folder, and sites that a module makes once."""

import copy
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from playwright.sync_api import Browser, expect, sync_playwright

from labeling.pages import label_form
from tests.browser.label_desk import contexts, desk, pictures
from tests.browser.looking import browser, olga, visit
from tests.chromium import ARGUMENTS, PATIENCE_MS, engine_path
from tests.in_flight import wait_until_quiet

__all__ = ["browser", "contexts", "desk", "olga", "pictures", "visit"]

HERE = Path(__file__).parent
SLOW = pytest.mark.slow("the process that is measured serves the pages, and speaks with Chromium")

expect.set_options(timeout=PATIENCE_MS)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark every test of this folder."""
    item.add_marker(pytest.mark.browser)
    item.add_marker(SLOW)


class _Kept:
    """The Chromium of this process, from the first test that needs it to the first test of another folder.

    Playwright's event loop runs in this thread; the ORM is used between its steps, never inside them. Left running, it
    would upset the tests of other folders.
    """

    def __init__(self) -> None:
        self._playwright: Any = None
        self._chromium: Browser | None = None

    def chromium(self) -> Browser:
        if self._chromium is None or not self._chromium.is_connected():
            self.end()
            os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
            self._playwright = sync_playwright().start()
            self._chromium = self._playwright.chromium.launch(executable_path=engine_path(), args=ARGUMENTS)
        return self._chromium

    def end(self) -> None:
        if self._playwright is not None:
            self._playwright.stop()
            self._playwright = self._chromium = None
            del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


_kept = _Kept()


@pytest.fixture
def chromium() -> Browser:
    """The browser, in which each test opens contexts of its own."""
    return _kept.chromium()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """End Chromium behind the last test of this folder."""
    try:
        return (yield)
    finally:
        if nextitem is None or HERE not in nextitem.path.parents:
            _kept.end()


@pytest.fixture(autouse=True)
def answers_go_out_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold no answer for five seconds, save where a test is about that."""
    monkeypatch.setattr(label_form, "HOLD_SECONDS", 0)


@pytest.fixture(autouse=True)
def quiet_before_emptying(request: pytest.FixtureRequest) -> Iterator[None]:
    """Between the end of a test's pages and the emptying of the tables, let the last requests end."""
    if "live_server" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("transactional_db")
    yield
    wait_until_quiet()


@pytest.fixture(scope="module")
def _once() -> dict[Callable[..., Any], Any]:
    return {}


@pytest.fixture
def made_once(
    _once: dict[Any, Any], transactional_db: None, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Callable[[], Any]], Any]:
    """Return a function that gives what `build` makes: built by a module's first case that asks, with all rows and
    files put back as they were for each other one."""

    def _site(build: Callable[[], Any]) -> Any:
        if connection.vendor != "sqlite":
            return build()
        connection.ensure_connection()
        if build not in _once:
            result, rows, files = build(), sqlite3.connect(":memory:"), tmp_path_factory.mktemp("site") / "files"
            connection.connection.backup(rows)
            shutil.copytree(tmp_path, files)
            _once[build] = result, rows, files
        result, rows, files = _once[build]
        rows.backup(connection.connection)
        shutil.copytree(files, tmp_path, dirs_exist_ok=True)
        return copy.deepcopy(result)

    return _site
