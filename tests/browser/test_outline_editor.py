"""R11 in a real browser: the outline is drawn by mouse, by finger and by keyboard alone, and nothing is lost.

What its rules are and what has been drawn needs no page: tests/node. Every test runs under the site's content policy
and fails on any word in the console.
"""

import base64
import io
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property, partial
from itertools import product
from math import cos, pi, sin
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, CDPSession, Page, expect

from tests.browser.looking import DESK, PHONE, Hands, push
from tests.browser.static_site import static_site

SIZE = 299
TRIANGLE = [(60, 60), (200, 80), (120, 220)]
SQUARE = [(50, 50), (250, 50), (250, 250), (50, 250)]


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with static_site() as address:
        yield address


class Editor(Hands):
    """The editor alone as somebody in front of the screen has it."""

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point is on the screen now."""
        return self.on_screen((x, y))[0]

    def drag(self, *points: tuple[float, float], steps: int = 5) -> None:
        start, *others = self.on_screen(*points)
        self.page.mouse.move(*start)
        self.page.mouse.down()
        for x, y in others:
            self.page.mouse.move(x, y, steps=steps)
        self.page.mouse.up()

    @cached_property
    def devtools(self) -> CDPSession:
        return self.page.context.new_cdp_session(self.page)

    def touch(self, kind: str, *points: tuple[float, float]) -> None:
        """Touch as the screen tells it; these points are of the screen."""
        touches = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        self.devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    def slide(self, *points: tuple[float, float]) -> None:
        for kind, point in zip(["touchStart", *["touchMove"] * (len(points) - 1)], points, strict=True):
            self.touch(kind, point)
        self.touch("touchEnd")

    def tap(self, *points: tuple[float, float]) -> None:
        for point in points:
            self.slide(point)

    def rebuild(self, **options: Any) -> None:
        """The same place with another editor in it."""
        self.page.evaluate("(options) => window.rebuild(options)", options)

    def anew(self, *points: tuple[float, float]) -> None:
        """Click these corners in an editor in which nothing is drawn."""
        self.rebuild()
        self.corner(*points)

    def grab(self, point: tuple[float, float], to: tuple[float, float]) -> None:
        """Begin a drag, and do not end it."""
        self.page.mouse.move(*self.at(*point))
        self.page.mouse.down()
        self.page.mouse.move(*self.at(*to), steps=5)

    def wheel(self, *turns: float) -> None:
        for turn in turns:
            self.page.mouse.wheel(0, turn)

    def put(self, ring: list[tuple[float, float]]) -> None:
        """One closed ring in place of all that is drawn; no corners are no ring."""
        self.page.evaluate("(rings) => { window.editor.rings = rings; }", [ring] if ring else [])
        self.view_box()

    def ask(self, expression: str) -> Any:
        return self.page.evaluate(f"() => window.editor.{expression}")

    def small(self) -> None:
        """Give the editor less room."""
        self.page.evaluate("() => document.querySelector('#editor').classList.add('is-small')")
        self.view_box()

    @property
    def rings(self) -> list[list[list[float]]]:
        return list(self.ask("rings"))

    @property
    def open(self) -> list[list[float]]:
        return list(self.ask("state").get("open"))

    @property
    def problem(self) -> str | None:
        return (self.ask("problem") or {}).get("code")

    @property
    def spoken(self) -> str:
        return self.page.locator("#spoken").inner_text()


def window(chromium: Browser, **options: Any) -> Page:
    return chromium.new_context(**{"viewport": DESK, **options}).new_page()


@contextmanager
def opened(page: Page, site: str) -> Iterator[Editor]:
    editor = Editor(page)
    page.mouse.move(0, 0)
    page.goto(f"{site}/pages/outline_editor.html")
    page.wait_for_function("() => window.editor.rings")
    yield editor
    assert editor.complaints == []


@cache
def windows(chromium: Browser) -> dict[str, Page]:
    """Windows that one test after the other opens the page in: a new one for each takes longer than most tests."""
    kinds: dict[str, dict[str, Any]] = {
        "editor": {},
        "touched": {"has_touch": True},
        "phone": {"has_touch": True, "is_mobile": True, "viewport": PHONE, "device_scale_factor": 3},
    }
    return {name: window(chromium, **options) for name, options in kinds.items()}


def in_window(name: str) -> Any:
    """Return a fixture that is the editor in one of the windows."""

    @pytest.fixture(name=name)
    def _opened(chromium: Browser, site: str) -> Iterator[Editor]:
        with opened(windows(chromium)[name], site) as editor:
            yield editor

    return _opened


on_desk, under_fingers, on_phone = map(in_window, ("editor", "touched", "phone"))


def near(points: Any, expected: Any, within: float = 0.5) -> bool:
    return bool(points == [pytest.approx(each, abs=within) for each in expected])


WATCH_CLICKS = """() => {
    window.clicked = [];
    addEventListener("pointerdown", ({ clientX, clientY }) => {
        // What is under the pointer by the picture itself, not by the editor.
        const { left, top, width, height } = document.querySelector("image").getBoundingClientRect();
        const inside = (share) => Math.round(Math.min(1, Math.max(0, share)) * 29900) / 100;
        window.clicked.push([inside((clientX - left) / width), inside((clientY - top) / height),
            window.editor.zoom]);
    }, { capture: true });
}"""


def noise(side: int) -> tuple[str, Image.Image]:
    """A picture in which every pixel differs from the ones beside it, as an address and to compare with."""
    picture = Image.frombytes("RGB", (side, side), random.Random(5).randbytes(side * side * 3))
    file = io.BytesIO()
    picture.save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}", picture


SHOWN = """() => {
    const { left, top, width, height } = document.querySelector("image").getBoundingClientRect();
    return [left, top, width, height].map((value) => value * devicePixelRatio);
}"""

# Mouse.


def test_clicks_place_corners_and_several_ways_close_the_ring(editor: Editor) -> None:
    assert editor.problem == "outline_too_few_corners"
    editor.corner(*TRIANGLE)
    x, y = editor.at(*TRIANGLE[-1])
    editor.page.mouse.click(x + 6, y)
    assert near(editor.open, TRIANGLE), "a quick click beside the last corner is no double click"
    assert (editor.ask("drawing"), editor.problem) == (True, "outline_unfinished")
    for close in (partial(editor.corner, TRIANGLE[0]), partial(editor.press, "Enter"), partial(editor.press, "c")):
        editor.anew(*TRIANGLE)
        close()
        assert near(editor.rings[0], TRIANGLE), close
        assert (editor.ask("drawing"), editor.problem) == (False, None)
    editor.anew(*TRIANGLE)
    editor.page.mouse.dblclick(*editor.at(150, 240))
    assert near(editor.rings[0], [*TRIANGLE, (150, 240)])
    editor.anew(*TRIANGLE[:2], TRIANGLE[0])
    editor.press("c")
    assert editor.rings == [] and near(editor.open, TRIANGLE[:2]), "two corners are no ring"


def test_clicks_as_fast_as_they_can_be_made_lose_nothing_and_the_page_hears_of_each(editor: Editor) -> None:
    """A half-drawn ring survives a reload through `state`; what was handed out does not change behind it."""
    points = [(20 + 6.5 * index, 60 if index % 2 else 200) for index in range(40)]
    for place in [editor.at(*point) for point in points]:
        editor.page.mouse.click(*place)
    assert near(editor.open, points)
    assert editor.page.evaluate("() => window.changes") == [True] * 40
    state = {"rings": [[[10, 10], [90, 10], [90, 90.25]]], "open": [[100, 100]]}
    editor.page.evaluate("(state) => { window.editor.state = state; state.rings[0][0][0] = 77; }", state)
    assert editor.ask("state") == state
    editor.drag((90, 10), (95, 20))
    changes = editor.page.evaluate("() => window.changes.slice(40)")
    assert changes[-1] is True and False in changes, "a drag in progress is told as not settled"
    # Corners stay inside the picture.
    editor.put([])
    editor.corner((-20, -5), (310, 100.333), (150, 308))
    assert (editor.open[0], editor.open[1][0], editor.open[2][1]) == ([0, 0], SIZE, SIZE)


def test_steps_are_taken_back_and_escape_gives_up(editor: Editor) -> None:
    editor.corner(*TRIANGLE)
    editor.press("Control+z", "Control+z", "Control+Shift+z", "Control+y", "Escape")
    assert editor.open == [], "Escape cancels the ring that is drawn"
    editor.press("Control+z")
    assert near(editor.open, TRIANGLE)
    editor.press("c")
    editor.grab(TRIANGLE[1], (250, 150))
    editor.press("Escape")
    editor.page.mouse.up()
    assert near(editor.rings[0], TRIANGLE), "and leaves a corner that is dragged where it was"
    editor.ask("clear()")
    assert editor.rings == []
    editor.ask("undo()")
    assert near(editor.rings[0], TRIANGLE)
    # Keys without a meaning are left to the page: Enter sends the form, digits answer questions, Tab leaves.
    editor.page.evaluate(
        "() => { window.left = []; addEventListener('keydown', (event) => "
        "{ if (!event.defaultPrevented) window.left.push(event.key); }); }"
    )
    editor.press("1", "Enter", "Escape", "?", "Tab")
    assert editor.page.evaluate("() => window.left") == ["1", "Enter", "Escape", "?", "Tab"]


def test_corners_are_dragged_inserted_and_removed(editor: Editor) -> None:
    editor.corner(*TRIANGLE)
    editor.drag(TRIANGLE[1], (220, 100))
    assert near(editor.open, [TRIANGLE[0], (220, 100), TRIANGLE[2]], within=1), "while the ring is open"
    editor.corner(TRIANGLE[0])
    editor.drag(TRIANGLE[2], (100, 250))
    assert near(editor.rings[0], [TRIANGLE[0], (220, 100), (100, 250)], within=1), "and when it is closed"
    editor.press("Control+z")
    assert near(editor.rings[0], [TRIANGLE[0], (220, 100), TRIANGLE[2]], within=1)
    # An edge shows where a corner would go, and takes one by click and by drag.
    editor.anew(*SQUARE, SQUARE[0])
    for point, shown in (((150, 51), re.compile("50h0$")), ((150, 150), "")):
        editor.page.mouse.move(*editor.at(*point))
        expect(editor.page.locator("path.outline-ghost")).to_have_attribute("d", shown)
    editor.corner((150, 50))
    assert near(editor.rings[0], [SQUARE[0], (150, 50), *SQUARE[1:]])
    editor.drag((50, 150), (80, 160))
    assert len(editor.rings[0]) == 6 and near(editor.rings[0][-1:], [(80, 160)])
    editor.press("Control+z", "Control+z")
    assert near(editor.rings[0], SQUARE)
    # A corner goes by key and by a right click; what was the last one goes by Backspace.
    for way in ("Delete", "Backspace", "right click"):
        editor.corner(SQUARE[1], button="right" if way == "right click" else "left")
        editor.press(*([] if way == "right click" else [way]))
        assert near(editor.rings[0], [SQUARE[0], *SQUARE[2:]]), way
        editor.press("Control+z")
        assert near(editor.rings[0], SQUARE), way
    editor.anew(*TRIANGLE)
    editor.press("Backspace")
    assert near(editor.open, TRIANGLE[:2])


# Zoom, pan and size.


@pytest.mark.parametrize(
    ("density", "side", "steps", "smooth"),
    [
        pytest.param(1, 60, 2, False, id="zoomed"),
        pytest.param(3, 60, 1, False, id="three device pixels to a CSS pixel, and zoomed"),
        pytest.param(1, 600, 0, True, id="smoothing has nothing to do where a pixel is a pixel"),
    ],
)
def test_the_pixels_on_the_screen_are_the_pixels_of_the_picture(
    chromium: Browser, site: str, density: int, side: int, steps: int, smooth: bool
) -> None:
    """Brightness, contrast and place: every block of device pixels has the colour of its image pixel."""
    address, picture = noise(side)
    with opened(window(chromium, device_scale_factor=density), site) as editor:
        editor.rebuild(imageUrl=address, width=side, height=side)
        editor.ask(f"setSmoothing({str(smooth).lower()})")
        for _ in range(steps):
            editor.ask("zoomIn()")
        editor.page.wait_for_function("() => document.querySelector('image').getBBox().width > 0")
        editor.page.wait_for_timeout(200)
        zoom = round(editor.ask("zoom"))
        left, top, *_ = map(round, editor.page.evaluate(SHOWN))
        box = editor.page.locator(".outline-surface").bounding_box()
        assert box is not None
        shot = Image.open(io.BytesIO(editor.page.locator(".outline-surface").screenshot())).convert("RGB")
        x0, y0 = left - round(box["x"] * density), top - round(box["y"] * density)
        for x, y in product(range(side // 2 - 8, side // 2 + 8), repeat=2):
            at = [(x0 + x * zoom + dx, y0 + y * zoom + dy) for dx, dy in ((0, 0), (zoom - 1, zoom - 1), (zoom // 2, 0))]
            assert {shot.getpixel(place) for place in at} == {picture.getpixel((x, y))}


def test_the_wheel_a_touchpad_keys_and_buttons_zoom(editor: Editor) -> None:
    """To the device pixel, also when the page is zoomed or moves to another screen."""
    editor.page.mouse.move(*editor.at(150, 150))
    editor.wheel(-100)
    editor.ask("focus()")
    editor.press("+", "-")
    editor.ask("zoomOut()")
    assert editor.ask("zoom") == 2
    editor.wheel(*[-5] * 24)
    assert editor.ask("zoom") == 3, "a touchpad zooms by as many steps as the fingers go far"
    editor.wheel(30, -30)
    assert editor.ask("zoom") == 3, "a change of direction begins anew"
    editor.ask("fit()")
    screen = {"width": 1200, "height": 768, "deviceScaleFactor": 1.5, "mobile": False}
    editor.devtools.send("Emulation.setDeviceMetricsOverride", screen)
    editor.page.wait_for_function("() => window.editor.zoom === 3")
    left, top, wide, _ = editor.page.evaluate(SHOWN)
    assert (left, top, wide / SIZE) == pytest.approx((round(left), round(top), 3), abs=0.02)
    editor.devtools.send("Emulation.clearDeviceMetricsOverride")


def test_zoom_pan_and_resize_in_the_middle_of_drawing_lose_nothing(editor: Editor) -> None:
    editor.corner(*TRIANGLE[:2])
    editor.page.mouse.move(*editor.at(150, 150))
    editor.wheel(-120, -120)
    editor.corner((160, 170))
    editor.page.keyboard.down("Space")
    editor.drag((150, 150), (130, 140))
    editor.page.keyboard.up("Space")
    editor.corner((150, 180))
    editor.small()
    editor.corner((140, 170))
    editor.press("0")
    editor.corner((60, 200), TRIANGLE[0])
    assert near(editor.rings[0], [*TRIANGLE[:2], (160, 170), (150, 180), (140, 170), (60, 200)])


def test_clicks_at_every_zoom_on_the_way_are_where_the_picture_was_clicked(editor: Editor) -> None:
    """Zooming deeper around wandering points: nothing drifts, however often and wherever the wheel turned."""
    dice = random.Random(3)
    editor.page.evaluate(WATCH_CLICKS)
    editor.ask("setMinimap(false)")  # a press on it goes to another part
    box = editor.page.locator(".outline-surface").bounding_box()
    assert box is not None
    for _ in range(30):
        editor.page.mouse.move(box["x"] + dice.uniform(10, 690), box["y"] + dice.uniform(10, 630))
        editor.wheel(dice.choice([-300, -120, -100, 100, 120, 300]))
        editor.page.mouse.down()
        editor.page.mouse.up()
        x, y, _ = editor.page.evaluate("() => window.clicked.at(-1)")
        assert near(editor.open, [(x, y)], within=0.011)
        editor.ask("clear()")


def test_guides_follow_the_pointer_and_the_map_leads_to_any_part(editor: Editor) -> None:
    guides, little = editor.page.locator("path.outline-guides"), editor.page.locator(".outline-minimap")
    editor.ask("setGuides(true)")
    editor.page.mouse.move(*editor.at(100, 70))
    expect(guides).to_have_attribute("d", f"M0 70H{SIZE}M100 0V{SIZE}")
    editor.ask("setGuides(false)")
    expect(guides).to_have_attribute("d", "")
    expect(little).to_be_hidden()
    for _ in range(4):
        editor.ask("zoomIn()")
    expect(little).to_be_visible()
    box = little.bounding_box()
    assert box is not None
    editor.page.mouse.click(box["x"] + box["width"] / 4, box["y"] + 3 * box["height"] / 4)
    x, y, width, height = map(float, editor.view_box().split())
    assert near([(x + width / 2, y + height / 2)], [(SIZE / 4, 3 * SIZE / 4)], within=2)
    assert editor.open == [], "a press on the map places no corner"
    editor.page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 2)
    editor.page.mouse.down()
    editor.page.mouse.move(box["x"] + 3 * box["width"] / 4, box["y"] + box["height"] / 2, steps=4)
    editor.page.mouse.up()
    x, _, width, _ = map(float, editor.view_box().split())
    assert abs(x + width / 2 - 3 * SIZE / 4) < 2, "a drag leads along"
    editor.ask("setMinimap(false)")
    expect(little).to_be_hidden()
    editor.ask("setMinimap(true)")
    editor.ask("fit()")
    expect(little).to_be_hidden()


def test_panning_smoothing_and_an_editor_that_is_disabled(editor: Editor) -> None:
    editor.press("0")
    before = editor.view_box()
    x, y = editor.at(150, 150)
    editor.page.mouse.move(x, y)
    editor.page.mouse.down(button="middle")
    editor.page.mouse.move(x - 60, y - 40, steps=3)
    editor.page.mouse.up(button="middle")
    shift = [float(b) - float(a) for a, b in zip(before.split(), editor.view_box().split(), strict=True)]
    assert (editor.open, shift) == ([], [30, 20, 0, 0]), "the middle button pans"
    editor.ask("fit()")
    assert editor.view_box() == before
    image = expect(editor.page.locator("image"))
    image.to_have_css("image-rendering", "pixelated")
    editor.ask("setSmoothing(true)")
    image.to_have_css("image-rendering", "auto")
    editor.corner(*TRIANGLE, TRIANGLE[0])
    # Lines keep their width and dots their size at any zoom.
    editor.page.mouse.move(*editor.at(*TRIANGLE[1]))
    editor.wheel(*[-120] * 8)
    for name, width in (("line", "2px"), ("corner", "10px"), ("active", "18px")):
        path = expect(editor.page.locator(f"path.outline-{name}"))
        path.to_have_css("vector-effect", "non-scaling-stroke")
        path.to_have_css("stroke-width", width)
    editor.ask("fit()")
    # Disabled, it shows the picture, and still zooms and pans.
    editor.ask("setEnabled(false)")
    before = editor.view_box()
    assert not editor.page.locator("path.outline-line").is_visible()
    editor.corner((250, 250))
    editor.drag((150, 150), (120, 120))
    editor.press("Delete", "Control+z", "Enter")
    assert editor.view_box() != before
    editor.ask("setEnabled(true)")
    assert near(editor.rings[0], TRIANGLE) and editor.open == []


# Tracing.


def circle(count: int = 60) -> list[tuple[float, float]]:
    return [(150 + 80 * cos(2 * pi * i / count), 150 + 80 * sin(2 * pi * i / count)) for i in range(count)]


def test_a_drag_traces_a_ring_whose_corners_can_be_made_fewer_and_more(editor: Editor) -> None:
    points = circle()
    editor.drag(*points, points[0], steps=2)
    (ring,) = editor.rings
    assert 8 <= len(ring) < 40, "simplified"
    assert all(78 <= ((x - 150) ** 2 + (y - 150) ** 2) ** 0.5 <= 82 for x, y in ring), "within a pixel or so"
    bar = editor.page.get_by_role("group", name="Corners of the traced line")
    expect(bar.locator("span")).to_have_text(f"{len(ring)} corners, within 1 px")
    push(editor.page, *["Fewer corners"] * 4)
    fewer = editor.rings
    expect(bar.locator("span")).to_have_text(f"{len(fewer[0])} corners, within 4 px")
    assert len(fewer[0]) < len(ring) and editor.spoken == f"{len(fewer[0])} corners, within 4 px"
    # A trace and its refining are one step back and one forth.
    editor.press("Control+z")
    assert (editor.rings, editor.open, editor.ask("canSimplify")) == ([], [], False)
    editor.ask("redo()")
    assert (editor.rings, editor.ask("canSimplify")) == (fewer, True)
    push(editor.page, *["More corners"] * 9)
    assert len(editor.rings[0]) > len(ring), "nothing of the raw line was lost"
    assert editor.spoken.endswith("within 0.25 px")
    assert editor.page.evaluate("() => window.chosen") == [1.5, 2, 3, 4, 3, 2, 1.5, 1, 0.75, 0.5, *[0.25] * 3]
    before = len(editor.rings[0])
    editor.ask("focus()")
    editor.press(",", ",")
    assert len(editor.rings[0]) < before, "by key as well"
    editor.press(".", ".")
    assert len(editor.rings[0]) == before
    # The bar goes with the next change, comes back with a step back, and goes with "Done".
    bar = editor.page.locator(".outline-fineness")
    expect(bar).to_be_visible()
    editor.corner((20, 20))
    expect(bar).to_be_hidden()
    editor.ask("fewerCorners()")
    assert editor.open == [[20, 20]], "what was traced before is left alone"
    editor.press("Control+z")
    expect(bar).to_be_visible()
    push(editor.page, "Done")
    expect(bar).to_be_hidden()
    assert len(editor.rings) == 1
    # A trace goes on where clicks ended; the bar stands away from the line.
    editor.put([])
    editor.corner((50, 50), (100, 40))
    editor.drag((150, 60), (220, 60), (220, 100), (60, 100))
    assert near(editor.open, [(50, 50), (100, 40), (150, 60), (220, 60), (220, 100), (60, 100)], within=1.5)
    editor.view_box()
    bar_box, surface = bar.bounding_box(), editor.page.locator(".outline-surface").bounding_box()
    assert bar_box and surface and bar_box["y"] - surface["y"] > 100


def test_a_crossing_is_shown_where_it_happens_in_words_too_and_goes_again(editor: Editor) -> None:
    editor.corner(*SQUARE, SQUARE[0])
    marks = expect(editor.page.locator(".outline-crossing"))
    marks.to_have_count(0)
    editor.grab((250, 50), (150, 290))
    marks.to_have_count(1)  # already while dragging
    expect(editor.page.locator("#problem")).to_contain_text("crosses")
    editor.page.mouse.up()
    assert editor.problem == "outline_self_crossing"
    editor.press("Control+z")
    marks.to_have_count(0)
    assert editor.problem is None


# Keyboard alone.


RIGHT, LEFT, DOWN, UP = (f"Shift+Arrow{way}" for way in ("Right", "Left", "Down", "Up"))
BY_KEYBOARD = [
    # keys, what is said then
    (["Tab", "Enter", *[RIGHT] * 5, " ", *[DOWN] * 4, "ArrowDown", "Enter"], "Corner 3 at 200, 191"),
    (["Alt+ArrowLeft"], "199.9, 191"),
    (["c"], "Ring 1 closed with 3 corners"),
    (["]", "]"], "Ring 1, corner 2 of 3 at 200, 150"),
    (["ArrowLeft", "ArrowLeft", DOWN, "Alt+ArrowUp"], "Corner 2 of 3 moved to 198, 159.9"),
    (["Control+z", "i"], "Corner 3 of 4 inserted at 200, 170.5"),
    (["Delete"], "Corner removed"),
    (["Escape", *[LEFT] * 30, "Enter"], "Corner 1 at 0, 159.9"),
    (["Control+z", *[RIGHT] * 27, "+", "+", "+", *[UP] * 14, "Enter"], "Corner 1 at 270, 19.9"),
]


def test_a_whole_ring_by_keyboard_alone(editor: Editor) -> None:
    """It is drawn, closed and corrected; a burst of moves is one step; the crosshair stops at the border."""
    surface = editor.page.get_by_role("application", name="Outline of the bird")
    expect(surface).to_have_attribute("aria-describedby", "keys")
    for keys, said in BY_KEYBOARD:
        editor.press(*keys)
        assert editor.spoken == said
    assert editor.rings == [[[150, 150], [200, 150], [200, 191]]]
    # Enter on the first corner closes as well; on a German keyboard brackets come with Ctrl and Alt.
    editor.rebuild()
    editor.ask("focus()")
    editor.press("Enter", *[RIGHT] * 5, "Enter", *[DOWN] * 5, "Enter", *[LEFT] * 5, *[UP] * 5, "Enter")
    assert editor.rings == [[[150, 150], [200, 150], [200, 200]]]
    editor.page.evaluate(
        "() => document.querySelector('svg.outline-surface').dispatchEvent(new KeyboardEvent('keydown', "
        "{ key: ']', ctrlKey: true, altKey: true, modifierAltGraph: true, cancelable: true }))"
    )
    assert editor.spoken == "Ring 1, corner 1 of 3 at 150, 150"


def test_the_tree_lists_the_corners_once_the_hand_rests_and_one_chosen_there_moves(editor: Editor) -> None:
    editor.corner((60, 60), (200, 80))
    editor.page.wait_for_timeout(400)
    items = editor.page.locator(".outline-corner-list button")
    assert items.all_inner_texts() == ["Corner 1 at 60, 60", "Corner 2 at 200, 80"]
    editor.page.evaluate(
        "() => { window.rebuilt = 0; new MutationObserver(() => { window.rebuilt += 1; })"
        ".observe(document.querySelector('.outline-corner-list'), { childList: true, subtree: true }); }"
    )
    editor.drag((200, 80), (250, 100), steps=40)
    editor.page.wait_for_timeout(400)
    assert items.all_inner_texts()[1] == "Corner 2 at 250, 100"
    assert editor.page.evaluate("() => window.rebuilt") == 1, "once, not at every pixel"
    tree = editor.page.get_by_role("list", name="Corners of the outline").aria_snapshot()
    assert "Ring 1, not closed, 2 corners" in tree
    items.nth(1).evaluate("(button) => button.click()")
    assert editor.spoken == "Ring 1, corner 2 of 2 at 250, 100"
    editor.press("ArrowRight")
    assert editor.open[1] == [251, 100]


# Fingers.


def test_taps_draw_a_ring_a_drag_moves_a_corner_and_a_long_press_removes_it(touched: Editor) -> None:
    touched.tap(*[touched.at(*point) for point in TRIANGLE])
    x, y = touched.at(*TRIANGLE[0])
    touched.tap((x + 15, y - 12))
    assert near(touched.rings[0], TRIANGLE)
    x, y = touched.at(*TRIANGLE[1])
    touched.slide((x + 14, y + 10), (x + 30, y + 30), (x + 54, y + 50))
    assert near(touched.rings[0][1:2], [(220, 100)], within=1), "grasped beside the corner, within 44 px"
    touched.put(SQUARE)
    touched.touch("touchStart", touched.at(*SQUARE[2]))
    touched.page.wait_for_timeout(750)
    touched.touch("touchEnd")
    assert near(touched.rings[0], [*SQUARE[:2], SQUARE[3]]) and touched.open == []
    touched.ask("undo()")
    assert near(touched.rings[0], SQUARE)
    # A finger traces.
    touched.rebuild()
    points = touched.on_screen(*circle(40))
    touched.slide(*points, points[0])
    assert len(touched.rings) == 1 and 8 <= len(touched.rings[0]) < 40


MAGNIFIED = """() => {
    const { a, e, f } = document.querySelector("svg.outline-magnifier use").getCTM();
    const { width } = document.querySelector("svg.outline-surface").viewBox.baseVal;
    return [(a * width) / 700, (56 - e) / a, (56 - f) / a];
}"""
LOUPE = """() => {
    const box = (selector) => {
        const { left, top, right, bottom } = document.querySelector(selector).getBoundingClientRect();
        return { left, top, right, bottom };
    };
    return { loupe: box("svg.outline-magnifier"), editor: box("#editor") };
}"""


def test_the_loupe_shows_what_the_finger_hides(touched: Editor) -> None:
    touched.tap(*[touched.at(*point) for point in (*TRIANGLE, TRIANGLE[0])])
    loupe = touched.page.locator("svg.outline-magnifier")
    assert loupe.is_hidden()
    start = touched.at(*TRIANGLE[0])
    touched.touch("touchStart", start)
    assert loupe.is_visible(), "before anything has moved"
    touched.touch("touchMove", (start[0] + 30, start[1] + 31))
    box = loupe.bounding_box()
    assert box is not None and (box["width"], box["height"]) == (112, 112)
    zoom, *middle = touched.page.evaluate(MAGNIFIED)
    assert zoom == pytest.approx(4), "four times the zoom of the picture"
    assert middle == pytest.approx([75, 75.5], abs=0.02), "the exact point is in the middle"
    assert touched.rings[0][0] == pytest.approx((60, 60), abs=0.5), "and not yet settled"
    touched.touch("touchEnd")
    assert loupe.is_hidden()
    # It comes for a pen, and never for a mouse.
    touched.rebuild()
    x, y = touched.at(150, 200)
    for kind in ("pen", "mouse"):
        for step, act in enumerate(["mousePressed", *["mouseMoved"] * 4, "mouseReleased"]):
            assert step < 2 or loupe.is_visible() is (kind == "pen"), kind
            told = {"type": act, "pointerType": kind, "x": x + 10 * step, "y": y, "button": "left", "clickCount": 1}
            touched.devtools.send("Input.dispatchMouseEvent", {**told, "buttons": int(act == "mouseMoved")})
        assert loupe.is_hidden()
        touched.ask("clear()")


def test_the_loupe_is_beside_the_finger_inside_the_editor_and_moves_nothing(touched: Editor) -> None:
    places = "() => [...document.querySelectorAll('main > *, svg.outline-surface')].map((each) => \
        JSON.stringify(each.getBoundingClientRect()))"
    for small in (False, True):
        if small:
            touched.small()
        for where in [(150, 150), (2, 2), (297, 2), (2, 297), (297, 297), (150, 3), (3, 150), (60, 60)]:
            before = touched.page.evaluate(places)
            x, y = touched.at(*where)
            touched.touch("touchStart", (x, y))
            loupe, editor = touched.page.evaluate(LOUPE).values()
            assert editor["left"] <= loupe["left"] and loupe["right"] <= editor["right"], where
            assert editor["top"] <= loupe["top"] and loupe["bottom"] <= editor["bottom"], where
            across = max(loupe["left"] - x, x - loupe["right"], 0)
            assert max(across, max(loupe["top"] - y, y - loupe["bottom"], 0)) >= 36, "past the tip of a finger"
            assert where != (150, 150) or loupe["bottom"] < y, "above it, where there is space"
            assert touched.page.evaluate(places) == before
            touched.touch("touchEnd")
            touched.ask("clear()")


def test_the_whole_task_on_a_phone_with_one_finger(phone: Editor) -> None:
    """Zoom by the page's buttons, the picture moved by dragging, corners by taps: no second finger is needed."""
    phone.ask("zoomIn()")
    assert phone.ask("zoom") == 4
    phone.page.evaluate("() => { window.editor.panning = true; }")
    phone.slide((200, 300), (200, 330), (160, 380))
    assert phone.open == [], "moved, not traced"
    phone.tap(*[phone.at(*point) for point in ((100, 100), (180, 110))])
    phone.slide((200, 300), (200, 280), (200, 240))
    phone.tap(phone.at(140, 180), phone.at(100, 100))
    phone.page.evaluate("() => { window.editor.panning = false; }")
    phone.ask("fit()")
    assert near(phone.rings[0], [(100, 100), (180, 110), (140, 180)])
    corner_x, corner_y = phone.at(180, 110)
    phone.slide((corner_x + 20, corner_y), (corner_x + 50, corner_y), (corner_x + 60, corner_y))
    assert phone.rings[0][1][0] > 200, "a corner is 44 px wide"


def test_a_pinch_zooms_and_never_adds_a_corner(touched: Editor) -> None:
    touched.tap(*[touched.at(*point) for point in TRIANGLE[:2]])
    scale = 700 / float(touched.view_box().split()[2])
    one, other = touched.at(140, 150), touched.at(160, 150)
    apart = [("touchMove", (one[0] - 8 * step, one[1]), (other[0] + 8 * step, other[1])) for step in range(1, 6)]
    for kind, *points in (
        ("touchStart", one),
        ("touchMove", (one[0] - 4, one[1])),
        ("touchStart", (one[0] - 4, one[1]), other),
        *apart,
        ("touchEnd", (one[0] - 40, one[1])),
        ("touchMove", (one[0] - 60, one[1] + 20)),
        ("touchEnd",),
    ):
        touched.touch(kind, *points)
    assert 2 < 700 / float(touched.view_box().split()[2]) / scale < 4
    assert touched.ask("zoom") == round(touched.ask("zoom")), "a whole number once the fingers are gone"
    assert near(touched.open, TRIANGLE[:2]) and touched.rings == []
    # Taps between pinches are all kept.
    touched.rebuild()
    points = [(60 + 22 * index, 60 if index % 2 else 220) for index in range(8)]
    for number, point in enumerate(points):
        x, y = touched.at(*point)
        touched.tap((x, y))
        for kind, reach in (("touchStart", 60), ("touchMove", 75 if number % 2 else 45), ("touchMove", 60)):
            touched.touch(kind, (x - reach, y), (x + reach, y))
        touched.touch("touchEnd")
        touched.ask("fit()")
    assert near(touched.open, points)


def test_a_page_written_from_right_to_left_changes_nothing_in_the_picture(touched: Editor) -> None:
    touched.page.evaluate("() => { document.documentElement.dir = 'rtl'; window.rebuild(); }")
    touched.corner(*TRIANGLE, TRIANGLE[0])
    assert near(touched.rings[0], TRIANGLE)
    x, y = touched.at(40, 3)
    touched.touch("touchStart", (x, y))
    assert touched.page.evaluate(LOUPE)["loupe"]["left"] > x + 36, "beside a finger in the corner on the left"
    touched.touch("touchEnd")


# The end.


def test_nothing_is_left_behind(editor: Editor) -> None:
    """Nor are nodes and listeners of a hundred editors that were destroyed in the middle of what they were doing."""
    script = """async (count) => {
        const event = (type, x, y) => new PointerEvent(type, { clientX: x, clientY: y, pointerId: 1, button: 0,
            pointerType: "touch", bubbles: true });
        for (let number = 0; number < count; number += 1) {
            window.rebuild();
            window.editor.state = { rings: [[[9, 9], [90, 9], [90, 90]]], open: [[150, 150]] };
            const surface = document.querySelector("svg.outline-surface");
            surface.setPointerCapture = () => {};
            surface.dispatchEvent(event("pointerdown", 200, 200));
            surface.dispatchEvent(event("pointermove", 240, 240));
            if (number % 10 === 0) await new Promise(requestAnimationFrame);
        }
    }"""

    def left_by(count: int) -> dict[str, int]:
        editor.page.evaluate(script, count)
        for pause in (0, 0, 700, 0):
            editor.devtools.send("HeapProfiler.collectGarbage")
            editor.page.wait_for_timeout(pause)
        return dict(editor.devtools.send("Memory.getDOMCounters"))

    before, after = left_by(20), left_by(100)
    assert after["nodes"] - before["nodes"] < 50
    assert after["jsEventListeners"] - before["jsEventListeners"] < 20
    editor.ask("setEnabled(false)")
    editor.ask("destroy()")
    place = editor.page.locator("#editor")
    assert (place.inner_html(), place.get_attribute("class")) == ("", "")
