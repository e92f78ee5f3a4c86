"""The labeling page as somebody in front of it has it: pictures, browsers, and hands on the keys."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, BrowserContext, Page, expect

from labeling.models import Panel, Tasker
from labeling.png import encode_png, pixels_sha256
from labeling.selectors import forget_versions
from labeling.store import picture_key, picture_store
from tests import factories
from tests.browser.looking import DESK, session_of
from tests.chromium import PATIENCE_MS

SIZE = 299
RECEIVED = re.compile(r"^Received \d\d:\d\d:\d\d, receipt [0-9A-F-]{14}\.$")
SQUARE = [(60, 60), (240, 60), (240, 240), (60, 240)]


def picture(shade: int) -> Panel:
    """A dealt panel on a picture that is in the store: a disc on a ground of its own shade."""
    sha, png = disc(shade)
    picture_store().put(picture_key(sha), png)
    return factories.panel(factories.image(pixels_sha256=sha))


@cache
def disc(shade: int) -> tuple[str, bytes]:
    """The checksum of its pixels, and the file; drawn once, since it takes a moment."""
    pixels = bytearray()
    for y in range(SIZE):
        for x in range(SIZE):
            inside = (x - 150) ** 2 + (y - 150) ** 2 < 90**2
            pixels += bytes((200, 90, shade) if inside else (shade, 150, 170))
    return pixels_sha256(SIZE, SIZE, bytes(pixels)), encode_png(SIZE, SIZE, bytes(pixels))


@pytest.fixture
def pictures(transactional_db: None) -> list[Panel]:
    """Four pictures to label."""
    forget_versions()
    factories.policy_version()
    return [picture(shade) for shade in (40, 80, 120, 160)]


class Desk:
    """The labeling page as somebody in front of it has it."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.complaints: list[str] = []
        self.pictures: set[str] = set()
        self.ticked = expect(page.locator("[name=cannot_outline]"))
        self.outline_short = expect(page.locator("[data-field=outline] .short"))
        self.spoken, self.status = expect(page.locator("#spoken")), expect(page.locator("#status"))
        self.waiting, self.messages = expect(page.locator("#waiting")), expect(page.locator("#messages"))
        self.missing = expect(page.locator("#missing"))
        page.on("requestfinished", lambda request: "/pictures/" in request.url and self.pictures.add(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self) -> "Desk":
        self.page.goto(f"{self.address}/label/")
        return self.ready()

    def reload(self) -> None:
        self.page.reload()
        self.ready()

    def ready(self) -> "Desk":
        """Wait until the script has read what this device keeps; before that no key does anything."""
        expect(self.page.locator(".outline-surface, #empty:not([hidden])").first).to_be_visible()
        return self

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def follow(self, *steps: tuple[str, str, Any]) -> None:
        """Press keys, and wait for what a place of the page says then."""
        for keys, place, words in steps:
            self.press(*keys.split())
            getattr(self, place).to_have_text(words)

    def corner(self, *points: tuple[float, float]) -> None:
        """Click at points given in image pixels."""
        for x, y in points:
            box = self.page.locator(".outline-surface").bounding_box()
            assert box is not None
            left, top, width, height = map(float, self.view_box().split())
            at_x = box["x"] + (x - left) * box["width"] / width
            self.page.mouse.click(at_x, box["y"] + (y - top) * box["height"] / height)

    def view_box(self) -> str:
        script = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
            done(document.querySelector(".outline-surface").getAttribute("viewBox")))))"""
        return str(self.page.evaluate(script))

    def answer(self, question: int, choice: int) -> None:
        self.page.locator(".question").nth(question - 1).locator(".answer").nth(choice - 1).click()

    def answer_again(self, question: int, choice: int) -> None:
        self.page.locator(".question summary").nth(question - 1).click()
        self.answer(question, choice)

    def say(self, name: str, value: bool) -> None:
        self.page.locator(f"[name={name}][value={str(value).lower()}]").check(force=True)

    def submit(self) -> None:
        self.page.click("#submit")

    def tick(self) -> None:
        """Click "I cannot outline it" where it can be seen, so in question 3."""
        self.page.locator(".tick").click()

    @property
    def assignment(self) -> str:
        return self.page.locator("[name=assignment]").input_value()

    def kept(self, store: str) -> list[dict[str, Any]]:
        """What this device keeps in one of its stores, of whichever account."""
        script = """(store) => new Promise((resolve, reject) => {
            const opening = indexedDB.open("unanimous");
            opening.onerror = () => reject(opening.error);
            opening.onsuccess = () => {
                const reading = opening.result.transaction(store).objectStore(store).getAll();
                reading.onsuccess = () => { opening.result.close(); resolve(reading.result); };
            };
        })"""
        found: list[dict[str, Any]] = self.page.evaluate(script, store)
        return found

    def measured(self) -> list[float]:
        """How many milliseconds each next picture took from the key to the screen."""
        script = "performance.getEntriesByName('submit-to-paint').map(({ duration }) => duration)"
        found: list[float] = self.page.evaluate(script)
        return found

    def received(self) -> None:
        self.status.to_have_text(RECEIVED)

    def is_asked(self, question: int) -> bool:
        return self.page.locator(".question").nth(question - 1).is_visible()

    def too_small(self) -> list[str]:
        """What is to be touched and is less than 44 px high or wide; inside an open dialog, only what is there."""
        script = """() => {
            const within = document.querySelector("dialog[open]") ?? document.querySelector("main");
            const parts = "button, summary, .answer, .toggle label, .choices label, .tool, textarea";
            return [...within.querySelectorAll(parts)]
                .filter((part) => part.checkVisibility({ visibilityProperty: true }))
                .map((part) => [part.textContent.trim(), part.getBoundingClientRect()])
                .filter(([, { width, height }]) => height < 43.9 || width < 43.9)
                .map(([text, { width, height }]) => `${text}: ${width} x ${height}`);
        }"""
        found: list[str] = self.page.evaluate(script)
        return found

    def fits(self) -> bool:
        """Whether nothing has to be scrolled, neither the page nor the questions."""
        return bool(
            self.page.evaluate("""() => [document.scrollingElement, document.querySelector("#questions")]
                .every((part) => part.scrollHeight <= part.clientHeight && part.scrollWidth <= part.clientWidth)""")
        )


@pytest.fixture
def contexts(chromium: Browser, live_server: Any) -> Iterator[Callable[..., BrowserContext]]:
    """Return a function that opens a browser signed in as somebody."""
    opened: list[BrowserContext] = []

    def _open(who: Tasker | User, **options: Any) -> BrowserContext:
        context = chromium.new_context(**({"viewport": DESK} | options))
        opened.append(context)
        sign_in(context, who, live_server.url)
        return context

    yield _open
    for context in opened:
        context.close()


def wait_until(page: Page, holds: Callable[[], bool]) -> None:
    """Wait for what no locator can see; a predicate inside the page would need an eval that its policy forbids."""
    for _ in range(PATIENCE_MS // 50):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"it did not come true within {PATIENCE_MS // 1000} seconds")


def sign_in(context: BrowserContext, who: Tasker | User, address: str) -> None:
    """Sign in by cookie."""
    user = who.user if isinstance(who, Tasker) else who
    assert user is not None
    context.add_cookies([{"name": "sessionid", "value": session_of(user), "url": address}])


@pytest.fixture
def desk(pictures: list[Panel], contexts: Any, live_server: Any) -> Iterator[Desk]:
    """Tara at the page, with the first picture before her."""
    desk = Desk(contexts(factories.tasker("tara")).new_page(), live_server.url).open()
    expect(desk.page.locator(".outline-surface")).to_be_visible()
    yield desk
    assert desk.complaints == []
