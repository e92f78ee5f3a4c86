"""Somebody at the labeling page in a real Chromium, timed from outside the page's own code."""

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, sync_playwright

from bench.label_site import Site
from tests.chromium import ARGUMENTS, browser_path

NEGATIVE = ("4", "4")
_DESK = {"width": 1366, "height": 768}
_CORNERS = ((0.3, 0.3), (0.7, 0.3), (0.7, 0.7), (0.3, 0.7), (0.3, 0.3))
_PATIENCE_SECONDS = 30
_LOOK_AGAIN_MS = 10

# When Enter went down, by the event's own time, and when Chromium painted each picture. The page knows nothing of it.
_INSTRUMENTS = """(() => {
  const seen = (globalThis.bench = { enters: [], paints: [] });
  addEventListener("keydown", (event) => event.key === "Enter" && seen.enters.push(event.timeStamp), { capture: true });
  new PerformanceObserver((list) => {
    for (const { renderTime, url } of list.getEntries()) seen.paints.push([renderTime, url]);
  }).observe({ type: "element", buffered: true });
  const watch = (node) => {
    if (node.localName === "image") node.setAttribute("elementtiming", "picture");
    for (const child of node.children ?? []) watch(child);
  };
  new MutationObserver((records) => {
    for (const { addedNodes } of records) addedNodes.forEach(watch);
  }).observe(document, { childList: true, subtree: true });
})()"""

# The assignment that can be answered just now, nothing while there is none. Nobody answers before the picture is
# painted: one that is replaced earlier is never reported as painted.
_OPEN = """(labels) => {
  const form = document.querySelector("#label-form");
  const shown = document.querySelector(".outline-surface") && !form.hidden && !form.classList.contains("is-sending");
  const painted = !globalThis.bench || bench.paints.length > labels;
  return shown && painted ? form.elements.assignment.value : "";
}"""


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Run the browser the tests use."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def signed_in(browser: Browser, site: Site, tasker: int = 0) -> Iterator[BrowserContext]:
    """Open a browser with an empty cache and storage, signed in as one of the taskers."""
    context = browser.new_context(viewport=_DESK)  # type: ignore[arg-type]
    address = f"http://127.0.0.1:{site.web.port}"
    context.add_cookies(
        [{"name": name, "value": value, "url": address} for name, value in site.cookies[tasker].items()]
    )
    try:
        yield context
    finally:
        context.close()


@dataclass(frozen=True, slots=True)
class HandTimings:
    """What a stretch of labels took, each in milliseconds."""

    key_to_paint: list[float]
    seconds: float


class Hand:
    """The page of one tasker."""

    def __init__(self, page: Page, site: Site, *, instruments: bool = True) -> None:
        self.page = page
        self.labels = 0
        self._complaints: list[str] = []
        page.on("pageerror", lambda error: self._complaints.append(str(error)))
        page.on("console", lambda message: self._complaints.append(message.text))
        if instruments:
            page.add_init_script(_INSTRUMENTS)
        page.goto(f"http://127.0.0.1:{site.web.port}/label/")
        self._open_assignment = self._next("")

    def label(self) -> None:
        """Say that there is nothing, and wait for the next picture to be open."""
        self._press(*NEGATIVE, "Enter")
        self._go_on()

    def label_with_outline(self) -> None:
        """Draw a bird in four corners, and wait for the next picture to be open."""
        self._press("1", "4")
        box = self.page.locator(".outline-surface").bounding_box()
        assert box is not None
        for x, y in _CORNERS:
            self.page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])
        self._press("1", "2", "3", "Enter")
        self._go_on()

    def measured(self, labels: int, pace_seconds: float) -> HandTimings:
        """Label so many negative pictures, one every `pace_seconds` where that can be had, and read the instruments."""
        start = time.monotonic()
        for number in range(labels):
            self.label()
            self.page.wait_for_timeout(max(0.0, start + (number + 1) * pace_seconds - time.monotonic()) * 1000)
        seconds = time.monotonic() - start
        self.rest(1)
        read = self.page.evaluate("() => bench")
        return HandTimings(_pairs(read["enters"], read["paints"]), seconds)

    def rest(self, seconds: float) -> None:
        """Leave the page alone, so that what is on its way arrives. Fails on anything that it complained of."""
        self.page.wait_for_timeout(seconds * 1000)
        if self._complaints:
            raise RuntimeError(f"the page complains: {self._complaints}")

    def _press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def _go_on(self) -> None:
        self.labels += 1
        self._open_assignment = self._next(self._open_assignment)

    def _next(self, former: str) -> str:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline:
            found = str(self.page.evaluate(_OPEN, self.labels))
            if found not in ("", former):
                return found
            self.page.wait_for_timeout(_LOOK_AGAIN_MS)
        raise TimeoutError(f"no next picture after {self.labels} labels; the page complains: {self._complaints}")


def _pairs(enters: list[float], paints: list[list[Any]]) -> list[float]:
    """Return how long after each Enter the next picture was painted: each picture once, one after every Enter."""
    pictures = [url for _, url in paints]
    if len(paints) != len(enters) + 1 or len(set(pictures)) != len(pictures):
        raise RuntimeError(f"{len(enters)} answers, and {len(set(pictures))} pictures painted {len(paints)} times")
    return [painted - entered for entered, (painted, _) in zip(enters, paints[1:], strict=True)]


@dataclass(frozen=True, slots=True)
class BrowserMemory:
    """What the page holds after a collection of garbage: all of V8's heap, and what of it is not compiled code."""

    labels: int
    heap_bytes: int
    data_bytes: int
    nodes: int
    listeners: int
    documents: int


def memory_of(hand: Hand, session: CDPSession) -> BrowserMemory:
    """Collect garbage and count what is left."""
    hand.rest(2)
    session.send("Performance.enable")
    # What finalizers let go is collected by the next round.
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    found = {each["name"]: int(each["value"]) for each in session.send("Performance.getMetrics")["metrics"]}
    counts = [found[name] for name in ("Nodes", "JSEventListeners", "Documents")]
    return BrowserMemory(hand.labels, found["JSHeapUsedSize"], _data_bytes(session), *counts)


def _data_bytes(session: CDPSession) -> int:
    """Return the bytes of objects, arrays, closures and strings. V8 compiles more and more of what runs often; the
    instruments' own records are outside of its heap, as is the DOM, which is counted in nodes."""
    parts: list[str] = []
    session.on("HeapProfiler.addHeapSnapshotChunk", lambda event: parts.append(event["chunk"]))
    session.send("HeapProfiler.takeHeapSnapshot", {"reportProgress": False})
    snapshot = json.loads("".join(parts))
    meta, nodes = snapshot["snapshot"]["meta"], snapshot["nodes"]
    fields = meta["node_fields"]
    kinds = nodes[fields.index("type") :: len(fields)]
    sizes = nodes[fields.index("self_size") :: len(fields)]
    other = {meta["node_types"][0].index(kind) for kind in ("code", "native", "synthetic")}
    return sum(size for kind, size in zip(kinds, sizes, strict=True) if kind not in other)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes as they came over the network, headers included, by kind; `requests` counts those that reached it."""

    requests: dict[str, int]
    bytes: dict[str, int]

    @property
    def before_picture(self) -> int:
        """Everything but the pictures."""
        return sum(count for kind, count in self.bytes.items() if kind != "picture")

    @property
    def requests_before_picture(self) -> int:
        """As many requests."""
        return sum(count for kind, count in self.requests.items() if kind != "picture")


class Wire:
    """Listens to the network of a page."""

    def __init__(self, page: Page) -> None:
        self._kinds: dict[str, str] = {}
        self._loaded: dict[str, int] = {}
        session = page.context.new_cdp_session(page)
        session.on("Network.responseReceived", self._received)
        session.on("Network.loadingFinished", self._finished)
        session.send("Network.enable")

    def _received(self, event: dict[str, Any]) -> None:
        url, kind = event["response"]["url"], event["type"].lower()
        # A module that was asked for ahead is of type "Other" until a script takes it.
        ahead = "/static/js/" in url and kind == "other"
        self._kinds[event["requestId"]] = "picture" if "/pictures/" in url else "script" if ahead else kind

    def _finished(self, event: dict[str, Any]) -> None:
        self._loaded[event["requestId"]] = int(event["encodedDataLength"])

    def since(self) -> Traffic:
        """Return what came since the last time this was asked."""
        requests, size = dict[str, int](), dict[str, int]()
        for request, length in self._loaded.items():
            kind = self._kinds[request]
            # What came from the cache had no bytes on the network.
            requests[kind] = requests.get(kind, 0) + (length > 0)
            size[kind] = size.get(kind, 0) + length
        self._loaded.clear()
        return Traffic(requests, size)
