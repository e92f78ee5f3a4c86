"""Pages as somebody sees them, signed in or not, on a desk or a phone, in light and in dark; and what is wrong."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect
from playwright.sync_api import LocatorAssertions as Is

from labeling.models import Tasker
from tests import factories

DESK, PHONE = {"width": 1366, "height": 768}, {"width": 390, "height": 844}
HALF = {"width": DESK["width"] // 2, "height": DESK["height"] // 2}
SCREENS = {"desk": DESK, "phone": PHONE}
# How often the pages of figures are read again.
REFRESH_MS = 10_000
# The browser's own words for an answer of 400, 403 or 404 that a test asked for, and for a test that typed at once.
# What a page answers that it refuses, a connection that a test breaks.
_EXPECTED = ("responded with a status of 40", "Autofocus processing was blocked", "net::ERR_FAILED")
_OF_COLOUR = ["color-contrast", "link-in-text-block"]
# What passed is not looked at any closer; stylesheets are fetched again only for a rule that axe leaves out by itself.
_AXE = """(options) => axe.run({ resultTypes: ["violations"], preload: false, ...options })
    .then(({ violations }) => violations)"""
# Colours may take a moment to change; what moves for ever is not waited for.
_AT_REST = """() => Promise.all(document.getAnimations()
    .filter((each) => each.effect.getComputedTiming().endTime < 5000).map((each) => each.finished.catch(() => 0)))"""
# How a place of a page may be; more is said by `has` (words among others), `counts` (so many) and `holds` (its value).
SHOWN, HIDDEN, FOCUSED = Is.to_be_visible, Is.to_be_hidden, Is.to_be_focused
CHECKED, UNCHECKED, EMPTY = Is.to_be_checked, Is.not_to_be_checked, Is.to_be_empty
OPEN = partial(Is.to_have_attribute, name="open", value="")
# A page as somebody has it: who, its address, and perhaps what is done there before it is looked at.
Look = tuple[Any, ...]
_TOO_WIDE = """() => {
    const wide = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= wide) return [];
    return [`${document.documentElement.scrollWidth} px`, ...[...document.querySelectorAll("body *")]
        .filter((each) => each.getBoundingClientRect().right > wide).map((each) => each.outerHTML.slice(0, 90))];
}"""


def heard(page: Page) -> list[str]:
    """What the page complains of in its console from now on."""
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return complaints


class Hands:
    """Somebody's hands at a page that has the editor of outlines; points are in pixels of the picture."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints = heard(page)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def view_box(self) -> str:
        """Return what part of the picture is seen, once the next frames have been drawn."""
        script = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
            done(document.querySelector(".outline-surface").getAttribute("viewBox")))))"""
        return str(self.page.evaluate(script))

    def on_screen(self, *points: tuple[float, float]) -> list[tuple[float, float]]:
        """Return where points are on the screen now."""
        box = self.page.locator(".outline-surface").bounding_box()
        assert box is not None
        left, top, width, height = map(float, self.view_box().split())
        across, down = box["width"] / width, box["height"] / height
        return [(box["x"] + (x - left) * across, box["y"] + (y - top) * down) for x, y in points]

    def corner(self, *points: tuple[float, float], button: Any = "left") -> None:
        """Click at one point after the other."""
        for point in points:
            self.page.mouse.click(*self.on_screen(point)[0], button=button)


def once(build: Callable[[], Any]) -> Any:
    """Return a fixture that is what `build` makes, made once for all cases of a module."""

    @pytest.fixture
    def _made(made_once: Callable[[Callable[[], Any]], Any]) -> Any:
        return made_once(build)

    return _made


def organizer() -> User:
    """Olga, and the policy that other tests may have taken away with the tables' rows."""
    factories.policy_version()
    return factories.user("olga", "organizers")


@pytest.fixture
def olga(transactional_db: None) -> User:
    """An organizer and a policy."""
    return organizer()


@pytest.fixture
def visit(chromium: Browser, live_server: Any) -> Iterator[Callable[..., Page]]:
    """Return a function that opens an address on a screen as somebody: an organizer, or with "" a stranger.

    At the end every page must have been silent: no error, and no word of the content policy in the console.
    """
    complaints: list[list[str]] = []
    contexts: dict[Any, BrowserContext] = {}

    def _visit(
        address: str, who: Tasker | User | str = "olga", *, screen: str = "desk", scheme: str = "light", **more: Any
    ) -> Page:
        user = User.objects.get(username=who) if isinstance(who, str) and who else getattr(who, "user", who)
        key = (user, screen, scheme, *sorted(more.items()))
        if key not in contexts:
            phone = screen == "phone"
            contexts[key] = chromium.new_context(
                viewport=SCREENS[screen], color_scheme=scheme, is_mobile=phone, has_touch=phone, **more
            )
            if user:
                cookie = {"name": "sessionid", "value": session_of(user), "url": live_server.url}
                contexts[key].add_cookies([cookie])  # type: ignore[list-item]
        page = contexts[key].new_page()
        complaints.append(heard(page))
        page.goto(live_server.url + address)
        return page

    yield _visit
    for context in contexts.values():
        context.close()
    found = [each for each in chain(*complaints) if not any(words in each for words in _EXPECTED)]
    assert found == [], found


@pytest.fixture
def browser(chromium: Browser, live_server: Any, transactional_db: None) -> Iterator[Callable[..., BrowserContext]]:
    """Return a function that opens another browser on the site; nothing may break the page's policy."""
    factories.policy_version()
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def hear(line: ConsoleMessage) -> None:
        if line.type == "error":
            complaints.append(line.text)

    def another(**options: Any) -> BrowserContext:
        context = chromium.new_context(base_url=live_server.url, **({"locale": "en-GB"} | options))
        context.on("console", hear)
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        contexts.append(context)
        return context

    yield another
    for context in contexts:
        context.close()
    assert not [line for line in complaints if not line.startswith("Failed to load resource")]


def session_of(user: User) -> str:
    """Sign somebody in, as the page for it would, and return the session's cookie."""
    client = Client()
    client.force_login(user, backend="accounts.session_store.UserBackend")
    return client.cookies["sessionid"].value


def signs_in(page: Page, name: str, password: str = factories.PASSWORD) -> None:
    """Sign in by the page for it, which is open."""
    fill(page, {"#id_username": name, "#id_password": password})
    page.click("main button[type=submit]")


def signed_in(context: BrowserContext, name: str = "tara") -> Page:
    """Open a page, and sign in by the page for it."""
    page = context.new_page()
    page.goto("/sign-in/")
    signs_in(page, name)
    return page


def in_new_tab(page: Page, link: Locator, name: str, heading: str) -> None:
    """Sign in as somebody in the tab that a link opens, and wait for the heading that it leads to."""
    with page.expect_popup() as opened:
        link.click()
    signs_in(opened.value, name)
    expect(opened.value.get_by_role("heading", name=heading)).to_be_visible()


def fill(page: Page, fields: dict[str, str]) -> None:
    """Fill in fields, each by its selector."""
    for field, value in fields.items():
        page.fill(field, value)


def push(page: Page, *names: str) -> None:
    """Click one button after the other."""
    for name in names:
        page.get_by_role("button", name=name).click()


def has(words: Any) -> Callable[[Is], None]:
    return lambda place: place.to_contain_text(words)


def counts(count: int) -> Callable[[Is], None]:
    return lambda place: place.to_have_count(count)


def holds(value: str) -> Callable[[Is], None]:
    return lambda place: place.to_have_value(value)


def shows(page: Page, places: dict[str, Any]) -> None:
    """Wait until each place, by its selector, has its words among others, or is as it is said to be."""
    for place, then in places.items():
        (then if callable(then) else has(then))(expect(page.locator(place)))


def follow(page: Page, *steps: tuple[str, str, Any]) -> None:
    """Press keys, and wait until a place has its words, or is as it is said to be."""
    for keys, place, then in steps:
        press(page, *keys.split())
        shows(page, {place: then})


def timed(page: Page) -> Page:
    """Open the page again with a clock that a test can put forward, and return it."""
    page.clock.install()
    page.reload()
    return page


def press(page: Page, *keys: str) -> None:
    """Press keys, each once the page listens: a page can be seen before its scripts have run, and is loaded after."""
    for key in keys:
        page.wait_for_load_state("load")
        page.keyboard.press(key)


def faults(page: Page, *schemes: str) -> list[str]:
    """What is wrong with a page whose every part is unfolded: what axe finds, and what reaches beyond the screen.

    On a desk the page has to fit a phone's width as well, and its own one at 200 %.
    """
    page.locator("main details").evaluate_all("(all) => all.forEach((each) => { each.open = true; })")
    found = violations(page, *schemes) + too_wide(page)
    if page.viewport_size == DESK:
        for what, size in (("on a phone", PHONE), ("at 200 %", HALF)):
            page.set_viewport_size(size)  # type: ignore[arg-type]
            found += [f"{what}: {each}" for each in too_wide(page)]
        page.set_viewport_size(DESK)  # type: ignore[arg-type]
    return found


def violations(page: Page, *schemes: str) -> list[str]:
    """What axe finds in light, and of colours in dark, in one line each."""
    # It comes from outside the page, which the policy forbids to anybody else.
    page.evaluate("0" if page.evaluate("'axe' in window") else _axe())
    return [fault for scheme in schemes for fault in _violations(page, scheme)]


def _violations(page: Page, scheme: str) -> list[str]:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.evaluate(_AT_REST)
    found = page.evaluate(_AXE, {} if scheme == "light" else {"runOnly": _OF_COLOUR})
    return [f"{scheme}, {each['id']}: {node['html'][:120]}" for each in found for node in each["nodes"]]


@cache
def _axe() -> str:
    return (Path(__file__).parent / "vendor" / "axe.min.js").read_text()


def too_wide(page: Page) -> list[str]:
    """How wide the page is and the elements that reach beyond the screen, where it can be scrolled sideways."""
    return page.evaluate(_TOO_WIDE)  # type: ignore[no-any-return]
