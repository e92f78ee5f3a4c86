"""The labeling page as somebody in front of it has it: pictures, browsers, and hands on the keys."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, BrowserContext, Page, expect

from labeling.models import Panel, Tasker
from labeling.selectors import forget_versions
from picture_files.png import encode_png, pixels_sha256
from picture_files.store import picture_key, picture_store
from tests import factories
from tests.browser.looking import DESK, Hands, session_of
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
    disc, ground = bytes((200, 90, shade)), bytes((shade, 150, 170))
    inside = ((x - 150) ** 2 + (y - 150) ** 2 < 90**2 for y, x in product(range(SIZE), repeat=2))
    pixels = b"".join(disc if each else ground for each in inside)
    return pixels_sha256(SIZE, SIZE, pixels), encode_png(SIZE, SIZE, pixels)


@pytest.fixture
def pictures(transactional_db: None) -> list[Panel]:
    """Four pictures to label."""
    forget_versions()
    factories.policy_version()
    return [picture(shade) for shade in (40, 80, 120, 160)]


class Desk(Hands):
    """The labeling page as somebody in front of it has it."""

    def __init__(self, page: Page, address: str) -> None:
        super().__init__(page)
        self.address = address
        self.pictures: set[str] = set()
        self.ticked = expect(page.locator("[name=cannot_outline]"))
        self.outline_short = expect(page.locator("[data-field=outline] .short"))
        self.spoken, self.status = expect(page.locator("#spoken")), expect(page.locator("#status"))
        self.waiting, self.messages = expect(page.locator("#waiting")), expect(page.locator("#messages"))
        self.missing, self.news = expect(page.locator("#missing")), expect(page.locator("#news-dialog"))
        page.on("requestfinished", lambda request: "/pictures/" in request.url and self.pictures.add(request.url))

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

    def follow(self, *steps: tuple[str, str, Any]) -> None:
        """Press keys, and wait until a place, by its name here or its selector, says or is just this."""
        for keys, place, then in steps:
            self.press(*keys.split())
            told = getattr(self, place, None) or expect(self.page.locator(place))
            then(told) if callable(then) else told.to_have_text(then)

    def outline_a_bird(self) -> None:
        """Answer that there is a bird alone, and click a square around it."""
        self.press("1", "4")
        self.corner(*SQUARE, SQUARE[0])

    def comes_back(self) -> None:
        """Come back to the page, as from another tab."""
        self.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    def ahead(self) -> None:
        """Wait until the next two pictures are loaded."""
        wait_until(self.page, lambda: len(self.pictures) == 3)

    def answer(self, question: int, choice: int) -> None:
        self.page.locator(".question").nth(question - 1).locator(".answer").nth(choice - 1).click()

    def open_again(self, question: int) -> None:
        self.page.locator(".question summary").nth(question - 1).click()

    def answer_again(self, question: int, choice: int) -> None:
        self.open_again(question)
        self.answer(question, choice)

    def say(self, name: str, value: bool) -> None:
        self.choose(name, str(value).lower())

    def choose(self, name: str, value: str) -> None:
        """Click the answer where it is seen, once its question is open and nothing moves."""
        answer = self.page.locator(f"[name={name}][value={value}]")
        self.page.locator("label").filter(has=answer).click()
        expect(answer).to_be_checked()

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
        return list(self.page.evaluate(script, store))

    def goes_on(self, *keys: str, to: str = "") -> None:
        """Press keys, and wait for the next picture, or for another place of the page."""
        before = self.assignment
        self.press(*keys)
        if to:
            expect(self.page.locator(to)).to_be_visible()
        else:
            expect(self.page.locator("[name=assignment]")).not_to_have_value(before)

    def forgives(self, words: str) -> None:
        """Forget the complaints that a test has caused; there are no others."""
        assert [each for each in self.complaints if words not in each] == []
        self.complaints.clear()

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
        return list(self.page.evaluate(script))

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
        opened.append(chromium.new_context(**({"viewport": DESK} | options)))
        user = who.user if isinstance(who, Tasker) else who
        opened[-1].add_cookies([{"name": "sessionid", "value": session_of(user), "url": live_server.url}])
        return opened[-1]

    yield _open
    for context in opened:
        context.close()


def wait_until(page: Page, holds: Callable[[], bool], instead: Callable[[], Any] = lambda: "nothing") -> None:
    """Wait for what no locator can see; a predicate inside the page would need an eval that its policy forbids."""
    for _ in range(PATIENCE_MS // 50):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"it did not come true within {PATIENCE_MS // 1000} seconds, but {instead()}")


@pytest.fixture
def desk(pictures: list[Panel], contexts: Any, live_server: Any) -> Iterator[Desk]:
    """Tara at the page, with the first picture before her."""
    desk = Desk(contexts(factories.tasker("tara")).new_page(), live_server.url).open()
    expect(desk.page.locator(".outline-surface")).to_be_visible()
    yield desk
    assert desk.complaints == []
