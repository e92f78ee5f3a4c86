"""R11 in a real browser: the outline is drawn by mouse, by finger and by keyboard alone, and nothing is lost.

Every test runs under the site's content policy and fails on any word in the console.
"""

import json
import random
from collections.abc import Iterator
from math import cos, pi, sin
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, Page

from labeling.outlines import OutlineError, read_outline
from tests.browser.static_site import static_site

pytestmark = [pytest.mark.browser, pytest.mark.once]

VECTORS = Path(__file__).parents[1] / "geometry_vectors.json"
SIZE = 299
TRIANGLE = [(60, 60), (200, 80), (120, 220)]


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with static_site() as address:
        yield address


class Editor:
    """The editor as somebody in front of the screen has it; all points are image pixels."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.surface = page.locator("svg.outline-surface")

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where an image point lies on the screen now."""
        box = self.surface.bounding_box()
        assert box is not None
        left, top, width, height = map(float, self.frame_settled().split())
        return box["x"] + (x - left) * box["width"] / width, box["y"] + (y - top) * box["height"] / height

    def frame_settled(self) -> str:
        """The viewBox after the next frames have been drawn."""
        script = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
            done(document.querySelector("svg.outline-surface").getAttribute("viewBox")))))"""
        return str(self.page.evaluate(script))

    def click(self, *points: tuple[float, float], button: Any = "left") -> None:
        for x, y in points:
            self.page.mouse.click(*self.at(x, y), button=button)

    def drag(self, *points: tuple[float, float], steps: int = 5) -> None:
        self.page.mouse.move(*self.at(*points[0]))
        self.page.mouse.down()
        for point in points[1:]:
            self.page.mouse.move(*self.at(*point), steps=steps)
        self.page.mouse.up()

    def draw(self, *points: tuple[float, float]) -> None:
        """A closed ring."""
        self.click(*points, points[0])

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def ask(self, expression: str) -> Any:
        return self.page.evaluate(f"() => window.editor.{expression}")

    @property
    def rings(self) -> list[list[list[float]]]:
        return list(self.ask("rings"))

    @property
    def open(self) -> list[list[float]]:
        return list(self.ask("state").get("open"))

    @property
    def problem(self) -> str | None:
        problem = self.ask("problem")
        return problem and problem["code"]

    @property
    def marks(self) -> int:
        self.frame_settled()
        return self.page.locator(".outline-crossing").count()

    @property
    def spoken(self) -> str:
        return self.page.locator("#spoken").inner_text()


def open_page(chromium: Browser, site: str, **context: Any) -> Iterator[Editor]:
    opened = chromium.new_context(viewport={"width": 1366, "height": 768}, **context)
    page = opened.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{site}/pages/outline_editor.html")
    page.wait_for_function("window.editor")
    yield Editor(page)
    opened.close()
    assert complaints == []


@pytest.fixture
def editor(chromium: Browser, site: str) -> Iterator[Editor]:
    yield from open_page(chromium, site)


@pytest.fixture
def touched(chromium: Browser, site: str) -> Iterator[Editor]:
    yield from open_page(chromium, site, has_touch=True)


def near(points: Any, expected: Any, within: float = 0.5) -> bool:
    pairs = list(zip(points, expected, strict=True))
    return all(abs(x - ex) <= within and abs(y - ey) <= within for (x, y), (ex, ey) in pairs)


# The rules of geometry, the same as on the server.


def test_the_browser_says_what_the_shared_table_says(editor: Editor) -> None:
    cases = json.loads(VECTORS.read_text())["cases"]
    script = """(cases) => {
        const values = { NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity };
        const numbers = (item) => Array.isArray(item) ? item.map(numbers)
            : typeof item === "string" && item in values ? values[item] : item;
        return cases.map(({ rings, width, height }) => {
            const { code, ring, box, area } = window.geometry.checkOutline(numbers(rings), width, height);
            return [code, ring, box && [box.xmin, box.ymin, box.xmax, box.ymax], area];
        });
    }"""
    found = dict(zip([case["name"] for case in cases], editor.page.evaluate(script, cases), strict=True))
    table = {
        case["name"]: [case["code"], case.get("ring"), case.get("box"), case.get("doubled_area")] for case in cases
    }
    assert found == table


def server_says(ring: list[list[float]]) -> tuple[str | None, list[int] | None]:
    try:
        box = read_outline([ring], width=SIZE, height=SIZE).box
    except OutlineError as refusal:
        return refusal.code, None
    return None, [box.xmin, box.ymin, box.xmax, box.ymax]


def test_browser_and_server_agree_on_drawings_nobody_thought_of(editor: Editor) -> None:
    """Half of them on a coarse grid, where corners meet edges and borders all the time."""
    dice = random.Random(11)
    rings: list[list[list[float]]] = []
    for number in range(4_000):
        step = 60 if number % 2 else 0.01
        corners = range(dice.randint(3, 6))
        rings.append([[round(dice.uniform(-200, 500) / step) * step for _ in "xy"] for _ in corners])
    script = """(rings) => rings.map((ring) => {
        const { code, box } = window.geometry.checkOutline([ring], 299, 299);
        return [code, box && [box.xmin, box.ymin, box.xmax, box.ymax]];
    })"""
    accepted = 0
    for ring, (code, box) in zip(rings, editor.page.evaluate(script, rings), strict=True):
        expected, expected_box = server_says(ring)
        assert code == expected, ring
        if box and expected_box:
            accepted += 1
            assert all(abs(a - b) <= 1 for a, b in zip(box, expected_box, strict=True)), ring
    assert accepted > 500, "the drawings are not all nonsense"


@pytest.mark.parametrize(
    ("value", "hundredths"),
    [
        (1.005, 101),
        (2.675, 268),
        (0.0049, 0),
        (-0.005, 0),
        (-0.0051, -1),
        (-0.015, -1),
        (1e-9, 0),
        (1e21, 1e23),
    ],
)
def test_halves_round_as_on_the_server(editor: Editor, value: float, hundredths: float) -> None:
    assert editor.page.evaluate("(value) => window.geometry.quantise(value)", value) == hundredths


# Mouse.


def test_clicks_place_corners_and_the_first_corner_closes(editor: Editor) -> None:
    assert editor.problem == "outline_too_few_corners"
    editor.click(*TRIANGLE)
    assert near(editor.open, TRIANGLE)
    assert editor.ask("drawing") is True
    assert editor.problem == "outline_unfinished"
    editor.click(TRIANGLE[0])
    assert near(editor.rings[0], TRIANGLE)
    assert editor.ask("drawing") is False
    assert editor.problem is None


@pytest.mark.parametrize("closing", ["Enter", "c", "double click"])
def test_other_ways_to_close(editor: Editor, closing: str) -> None:
    editor.click(*TRIANGLE)
    if closing == "double click":
        editor.page.mouse.dblclick(*editor.at(150, 240))
        assert near(editor.rings[0], [*TRIANGLE, (150, 240)])
    else:
        editor.press(closing)
        assert near(editor.rings[0], TRIANGLE)


def test_two_corners_cannot_be_closed(editor: Editor) -> None:
    editor.click(*TRIANGLE[:2], TRIANGLE[0])
    editor.press("c")
    assert editor.rings == []
    assert near(editor.open, TRIANGLE[:2])


def test_twenty_clicks_a_second_lose_nothing(editor: Editor) -> None:
    points = [(20 + 13 * index, 60 if index % 2 else 200) for index in range(20)]
    places = [editor.at(*point) for point in points]
    for place in places:
        editor.page.mouse.click(*place)
        editor.page.wait_for_timeout(30)
    assert near(editor.open, points)


def test_clicks_as_fast_as_they_can_be_made_lose_nothing(editor: Editor) -> None:
    points = [(20 + 6.5 * index, 60 if index % 2 else 200) for index in range(40)]
    places = [editor.at(*point) for point in points]
    for place in places:
        editor.page.mouse.click(*place)
    assert near(editor.open, points)


def test_a_corner_can_be_dragged_at_any_time(editor: Editor) -> None:
    editor.click(*TRIANGLE)
    editor.drag(TRIANGLE[1], (220, 100))
    assert near(editor.open, [TRIANGLE[0], (220, 100), TRIANGLE[2]], within=1)
    editor.click(TRIANGLE[0])
    editor.drag(TRIANGLE[2], (100, 250))
    assert near(editor.rings[0], [TRIANGLE[0], (220, 100), (100, 250)], within=1)
    editor.press("Control+z")
    assert near(editor.rings[0], [TRIANGLE[0], (220, 100), TRIANGLE[2]], within=1)


def test_an_edge_takes_a_new_corner_by_click_and_by_drag(editor: Editor) -> None:
    editor.draw((50, 50), (250, 50), (250, 250), (50, 250))
    editor.click((150, 50))
    assert near(editor.rings[0], [(50, 50), (150, 50), (250, 50), (250, 250), (50, 250)])
    editor.drag((50, 150), (80, 160))
    assert near(editor.rings[0][-1:], [(80, 160)])
    assert len(editor.rings[0]) == 6
    editor.press("Control+z", "Control+z")
    assert len(editor.rings[0]) == 4


def test_an_edge_shows_where_the_corner_would_go(editor: Editor) -> None:
    editor.draw((50, 50), (250, 50), (250, 250), (50, 250))
    editor.page.mouse.move(*editor.at(150, 51))
    editor.frame_settled()
    ghost = editor.page.locator("path.outline-ghost").get_attribute("d")
    assert ghost is not None and ghost.endswith("50h0")
    editor.page.mouse.move(*editor.at(150, 150))
    editor.frame_settled()
    assert editor.page.locator("path.outline-ghost").get_attribute("d") == ""


@pytest.mark.parametrize("way", ["Delete", "Backspace", "right click"])
def test_a_corner_is_removed(editor: Editor, way: str) -> None:
    square = [(50, 50), (250, 50), (250, 250), (50, 250)]
    editor.draw(*square)
    if way == "right click":
        editor.click(square[1], button="right")
    else:
        editor.click(square[1])
        editor.press(way)
    assert near(editor.rings[0], [square[0], *square[2:]])
    editor.press("Control+z")
    assert near(editor.rings[0], square)


def test_backspace_takes_back_the_last_corner_while_drawing(editor: Editor) -> None:
    editor.click(*TRIANGLE)
    editor.press("Backspace")
    assert near(editor.open, TRIANGLE[:2])


def test_a_ring_that_would_keep_two_corners_goes_as_a_whole(editor: Editor) -> None:
    editor.draw(*TRIANGLE)
    editor.click(TRIANGLE[0], button="right")
    assert editor.rings == []
    editor.press("Control+z")
    assert near(editor.rings[0], TRIANGLE)


def test_several_rings_even_close_beside_one_another(editor: Editor) -> None:
    """While a ring is drawn, the edge of another one does not take its corners."""
    editor.draw((20, 20), (120, 20), (120, 120), (20, 120))
    editor.draw((160, 40), (200, 200), (122, 60))
    assert [len(ring) for ring in editor.rings] == [4, 3]
    assert near(editor.rings[1], [(160, 40), (200, 200), (122, 60)])
    assert editor.problem is None


def test_undo_and_redo_go_all_the_way_also_in_the_middle(editor: Editor) -> None:
    points = [(30 + 20 * index, 50 if index % 2 else 150) for index in range(12)]
    editor.click(*points)
    editor.press(*["Control+z"] * 5)
    assert near(editor.open, points[:7])
    editor.press("Control+Shift+z", "Control+y")
    assert near(editor.open, points[:9])
    editor.press(*["Control+z"] * 50)
    assert editor.open == []
    assert editor.ask("canUndo") is False
    editor.press(*["Control+y"] * 50)
    assert near(editor.open, points)
    assert editor.ask("canRedo") is False
    editor.press("Control+z")
    editor.click((20, 280))
    assert editor.ask("canRedo") is False
    assert near(editor.open, [*points[:11], (20, 280)])


def test_escape_cancels_the_ring_being_drawn_and_undo_brings_it_back(editor: Editor) -> None:
    editor.click(*TRIANGLE)
    editor.press("Escape")
    assert editor.open == []
    editor.press("Control+z")
    assert near(editor.open, TRIANGLE)


def test_escape_in_the_middle_of_a_drag_leaves_the_corner_where_it_was(editor: Editor) -> None:
    editor.draw(*TRIANGLE)
    editor.page.mouse.move(*editor.at(*TRIANGLE[1]))
    editor.page.mouse.down()
    editor.page.mouse.move(*editor.at(250, 150), steps=4)
    editor.press("Escape")
    editor.page.mouse.up()
    assert near(editor.rings[0], TRIANGLE)


def test_clear_can_be_undone(editor: Editor) -> None:
    editor.draw(*TRIANGLE)
    editor.ask("clear()")
    assert editor.rings == []
    editor.ask("undo()")
    assert near(editor.rings[0], TRIANGLE)


def test_the_page_gives_and_takes_what_is_drawn(editor: Editor) -> None:
    """A half-drawn ring survives a reload through `state`; what was handed out does not change behind it."""
    state = {"rings": [[[10, 10], [90, 10], [90, 90.25]]], "open": [[100, 100]]}
    editor.page.evaluate("(state) => { window.editor.state = state; state.rings[0][0][0] = 77; }", state)
    assert editor.ask("state") == state
    assert editor.ask("canUndo") is False
    editor.page.evaluate("() => { window.editor.rings = [[[1, 1], [5, 1], [5, 5]]]; }")
    assert editor.ask("state") == {"rings": [[[1, 1], [5, 1], [5, 5]]], "open": []}


def test_the_page_hears_of_every_change(editor: Editor) -> None:
    editor.draw(*TRIANGLE)
    editor.drag(TRIANGLE[0], (90, 90))
    changes = editor.page.evaluate("() => window.changes")
    assert changes[:4] == [True] * 4
    assert changes[-1] is True
    assert False in changes[4:], "a drag in progress is told as not settled"


# The borders of the picture.


def test_corners_stay_inside_the_picture_and_on_the_grid(editor: Editor) -> None:
    editor.click((-20, -5), (310, 100.333), (150, 308))
    assert editor.open[0] == [0, 0]
    assert editor.open[1][0] == SIZE
    assert editor.open[2][1] == SIZE
    assert all(round(value, 2) == value for corner in editor.open for value in corner)
    editor.click((-20, -5))
    editor.click((0, 0))
    editor.drag((150, 299), (150, 308))
    assert editor.rings[0][2][1] == SIZE


# Zoom, pan and size.


def test_the_fitted_picture_is_shown_in_whole_pixels(editor: Editor) -> None:
    width, height = map(float, editor.frame_settled().split()[2:])
    assert (700 / width, 640 / height) == (2, 2)
    editor.page.evaluate("() => document.querySelector('#editor').classList.add('is-small')")
    width, height = map(float, editor.frame_settled().split()[2:])
    assert (380 / width, 400 / height) == (1, 1)


def test_zoom_pan_and_resize_in_the_middle_of_drawing_lose_nothing(editor: Editor) -> None:
    editor.click(*TRIANGLE[:2])
    editor.page.mouse.move(*editor.at(150, 150))
    for _ in range(4):
        editor.page.mouse.wheel(0, -120)
    editor.click((160, 170))
    editor.page.keyboard.down("Space")
    editor.drag((150, 150), (130, 140))
    editor.page.keyboard.up("Space")
    editor.click((150, 180))
    editor.page.evaluate("() => document.querySelector('#editor').classList.add('is-small')")
    editor.click((140, 170))
    editor.press("0")
    editor.click((60, 200), TRIANGLE[0])
    assert near(editor.rings[0], [*TRIANGLE[:2], (160, 170), (150, 180), (140, 170), (60, 200)])


@pytest.mark.parametrize("notches", [-12, -5, 3])
def test_a_click_after_zooming_lands_under_the_pointer(editor: Editor, notches: int) -> None:
    editor.page.mouse.move(*editor.at(200, 100))
    for _ in range(abs(notches)):
        editor.page.mouse.wheel(0, 120 if notches > 0 else -120)
    editor.frame_settled()
    editor.page.mouse.down()
    editor.page.mouse.up()
    assert near(editor.open, [(200, 100)])


def test_the_middle_button_pans(editor: Editor) -> None:
    editor.press("0")
    before = editor.frame_settled()
    x, y = editor.at(150, 150)
    editor.page.mouse.move(x, y)
    editor.page.mouse.down(button="middle")
    editor.page.mouse.move(x - 60, y - 40, steps=3)
    editor.page.mouse.up(button="middle")
    after = editor.frame_settled()
    assert editor.open == []
    shift = [float(b) - float(a) for a, b in zip(before.split(), after.split(), strict=True)]
    assert shift == [30, 20, 0, 0]
    editor.ask("fit()")
    assert editor.frame_settled() == before


def test_lines_keep_their_width_and_dots_their_size_at_any_zoom(editor: Editor) -> None:
    editor.draw(*TRIANGLE)
    editor.page.mouse.move(*editor.at(*TRIANGLE[1]))
    for _ in range(8):
        editor.page.mouse.wheel(0, -120)
    editor.frame_settled()
    effects = editor.page.evaluate(
        "() => ['line', 'corner', 'active'].map((name) => {"
        " const style = getComputedStyle(document.querySelector(`path.outline-${name}`));"
        " return [style.vectorEffect, style.strokeWidth]; })"
    )
    assert effects == [
        ["non-scaling-stroke", "2px"],
        ["non-scaling-stroke", "10px"],
        ["non-scaling-stroke", "18px"],
    ]


def test_smoothing_is_a_choice(editor: Editor) -> None:
    rendering = "() => getComputedStyle(document.querySelector('image')).imageRendering"
    assert editor.page.evaluate(rendering) == "pixelated"
    editor.ask("setSmoothing(true)")
    assert editor.page.evaluate(rendering) == "auto"


def test_a_disabled_editor_shows_the_picture_and_still_zooms_and_pans(editor: Editor) -> None:
    editor.draw(*TRIANGLE)
    editor.ask("setEnabled(false)")
    before = editor.frame_settled()
    assert not editor.page.locator("path.outline-line").is_visible()
    editor.click((250, 250))
    editor.drag((150, 150), (120, 120))
    editor.press("Delete", "Control+z", "Enter")
    assert editor.frame_settled() != before
    editor.ask("setEnabled(true)")
    assert near(editor.rings[0], TRIANGLE)
    assert editor.open == []


# Tracing.


def circle(count: int = 60) -> list[tuple[float, float]]:
    return [(150 + 80 * cos(2 * pi * i / count), 150 + 80 * sin(2 * pi * i / count)) for i in range(count)]


def test_a_drag_on_the_canvas_traces_a_ring_and_closes_near_its_start(editor: Editor) -> None:
    points = circle()
    editor.drag(*points, points[0], steps=2)
    (ring,) = editor.rings
    assert 8 <= len(ring) < 40, "simplified"
    assert all(78 <= ((x - 150) ** 2 + (y - 150) ** 2) ** 0.5 <= 82 for x, y in ring), "within a pixel or so"
    area = editor.page.evaluate("(rings) => window.geometry.checkOutline(rings, 299, 299).area", [ring])
    assert abs(area / 20_000 - 3.1416 * 80 * 80) < 300
    editor.press("Control+z")
    assert editor.rings == [] and editor.open == [], "a trace is one step"


def test_a_trace_goes_on_where_clicks_ended(editor: Editor) -> None:
    editor.click((50, 50), (100, 40))
    editor.drag((150, 60), (220, 60), (220, 200), (60, 200))
    corners = editor.open
    assert near(corners[:2], [(50, 50), (100, 40)])
    assert near(corners[2:], [(150, 60), (220, 60), (220, 200), (60, 200)], within=1.5)
    editor.click((50, 50))
    assert len(editor.rings) == 1


# Crossings.


def test_a_crossing_is_shown_where_it_happens_in_words_too_and_goes_again(editor: Editor) -> None:
    editor.draw((50, 50), (250, 50), (250, 250), (50, 250))
    assert editor.marks == 0
    editor.page.mouse.move(*editor.at(250, 50))
    editor.page.mouse.down()
    editor.page.mouse.move(*editor.at(150, 290), steps=5)
    assert editor.marks == 1, "already while dragging"
    assert "crosses" in editor.page.locator("#problem").inner_text()
    editor.page.mouse.up()
    assert editor.problem == "outline_self_crossing"
    editor.press("Control+z")
    assert editor.marks == 0
    assert editor.problem is None


def test_a_crossing_is_marked_before_the_ring_is_closed(editor: Editor) -> None:
    editor.click((50, 50), (250, 250), (250, 50), (50, 250))
    assert editor.marks == 1
    assert editor.problem == "outline_self_crossing"
    place = editor.page.locator(".outline-crossing circle").first
    assert (float(place.get_attribute("cx") or 0), float(place.get_attribute("cy") or 0)) == (150, 150)


# Keyboard alone.


def test_a_whole_ring_by_keyboard_alone(editor: Editor) -> None:
    editor.press("Tab", "Enter", *["Shift+ArrowRight"] * 5, "Space", *["Shift+ArrowDown"] * 4, "ArrowDown", "Enter")
    assert editor.spoken == "Corner 3 at 200, 191"
    editor.press("Alt+ArrowLeft")
    assert editor.spoken == "199.9, 191"
    editor.press("c")
    assert editor.rings == [[[150, 150], [200, 150], [200, 191]]]
    assert editor.spoken == "Ring 1 closed with 3 corners"
    assert editor.problem is None


def test_enter_on_the_first_corner_closes(editor: Editor) -> None:
    out_and_back = [*["Shift+ArrowRight"] * 5, "Enter", *["Shift+ArrowDown"] * 5, "Enter"]
    editor.press("Tab", "Enter", *out_and_back, *["Shift+ArrowLeft"] * 5, *["Shift+ArrowUp"] * 5, "Enter")
    assert editor.rings == [[[150, 150], [200, 150], [200, 200]]]


def test_corners_are_chosen_moved_inserted_and_removed_by_keys(editor: Editor) -> None:
    editor.page.evaluate("() => { window.editor.rings = [[[50, 50], [250, 50], [250, 250], [50, 250]]]; }")
    editor.press("Tab", "]", "]")
    assert editor.spoken == "Ring 1, corner 2 of 4 at 250, 50"
    editor.press("ArrowLeft", "ArrowLeft", "Shift+ArrowDown", "Alt+ArrowUp")
    assert editor.rings[0][1] == [248, 59.9]
    editor.press("Control+z")
    assert editor.rings[0][1] == [250, 50], "a burst is one step"
    editor.press("i")
    assert editor.rings[0][2] == [250, 150]
    assert editor.spoken == "Corner 3 of 5 inserted at 250, 150"
    editor.press("Delete")
    assert len(editor.rings[0]) == 4
    editor.press("[", "Escape", "ArrowLeft")
    assert editor.spoken == "49, 250", "after Escape the arrows move the crosshair again, from where it was"


def test_a_pause_makes_a_new_step(editor: Editor) -> None:
    editor.page.evaluate("() => { window.editor.rings = [[[50, 50], [250, 50], [250, 250]]]; }")
    editor.press("Tab", "]", "ArrowRight")
    editor.page.wait_for_timeout(1100)
    editor.press("ArrowRight", "Control+z")
    assert editor.rings[0][0] == [51, 50]


def test_the_crosshair_stops_at_the_border(editor: Editor) -> None:
    editor.press("Tab", *["Shift+ArrowLeft"] * 20, "Enter")
    assert editor.open == [[0, 150]]


def test_zoom_keys_keep_the_crosshair_in_sight(editor: Editor) -> None:
    editor.press("Tab", *["Shift+ArrowRight"] * 12, "+", "+", "+", *["Shift+ArrowUp"] * 12)
    left, top, width, height = map(float, editor.frame_settled().split())
    assert left < 270 < left + width and top < 30 < top + height
    editor.press("Enter", "-", "0")
    assert editor.open == [[270, 30]]


def test_tab_leaves_the_editor(editor: Editor) -> None:
    editor.press("Tab")
    assert editor.page.evaluate("() => document.activeElement.tagName") == "svg"
    editor.press("Tab")
    assert editor.page.evaluate("() => document.activeElement.tagName") == "BODY"


def test_keys_without_a_meaning_are_left_to_the_page(editor: Editor) -> None:
    """Enter sends the form when nothing is being drawn with the mouse; digits answer questions."""
    editor.page.evaluate(
        "() => { window.left = []; addEventListener('keydown', (event) => "
        "{ if (!event.defaultPrevented) window.left.push(event.key); }); }"
    )
    editor.draw(*TRIANGLE)
    editor.press("1", "Enter", "Escape", "?")
    assert editor.page.evaluate("() => window.left") == ["1", "Enter", "Escape", "?"]


def test_the_surface_has_a_name_and_a_description(editor: Editor) -> None:
    assert editor.surface.get_attribute("role") == "application"
    assert editor.surface.get_attribute("aria-label") == "Outline of the bird"
    assert editor.surface.get_attribute("aria-describedby") == "keys"


# Fingers.


class Fingers:
    """Touches as the browser gets them from the screen; points are screen pixels."""

    def __init__(self, page: Page) -> None:
        self.session: CDPSession = page.context.new_cdp_session(page)

    def send(self, kind: str, *points: tuple[float, float]) -> None:
        touches = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    def tap(self, *points: tuple[float, float]) -> None:
        for point in points:
            self.send("touchStart", point)
            self.send("touchEnd")

    def slide(self, *points: tuple[float, float]) -> None:
        self.send("touchStart", points[0])
        for point in points[1:]:
            self.send("touchMove", point)
        self.send("touchEnd")


def test_taps_draw_a_ring_and_a_drag_moves_a_corner(touched: Editor) -> None:
    fingers = Fingers(touched.page)
    fingers.tap(*[touched.at(*point) for point in TRIANGLE])
    assert near(touched.open, TRIANGLE)
    first_x, first_y = touched.at(*TRIANGLE[0])
    fingers.tap((first_x + 15, first_y - 12))
    assert near(touched.rings[0], TRIANGLE)
    x, y = touched.at(*TRIANGLE[1])
    fingers.slide((x + 14, y + 10), (x + 30, y + 30), (x + 54, y + 50))
    assert near(touched.rings[0][1:2], [(220, 100)], within=1), "grasped beside the corner, within 44 px"


def test_the_magnifier_shows_what_the_finger_hides(touched: Editor) -> None:
    fingers = Fingers(touched.page)
    fingers.tap(*[touched.at(*point) for point in (*TRIANGLE, TRIANGLE[0])])
    magnifier = touched.page.locator("svg.outline-magnifier")
    assert magnifier.is_hidden()
    start = touched.at(*TRIANGLE[0])
    fingers.send("touchStart", start)
    fingers.send("touchMove", (start[0] + 30, start[1] + 30))
    assert magnifier.is_visible()
    assert "is-right" in (magnifier.get_attribute("class") or ""), "away from a finger on the left"
    fingers.send("touchEnd")
    assert magnifier.is_hidden()


def test_a_long_press_removes_a_corner(touched: Editor) -> None:
    fingers = Fingers(touched.page)
    square = [(50, 50), (250, 50), (250, 250), (50, 250)]
    fingers.tap(*[touched.at(*point) for point in (*square, square[0])])
    fingers.send("touchStart", touched.at(*square[2]))
    touched.page.wait_for_timeout(750)
    fingers.send("touchEnd")
    assert near(touched.rings[0], [*square[:2], square[3]])
    assert touched.open == []


def test_a_pinch_zooms_and_never_adds_a_corner(touched: Editor) -> None:
    fingers = Fingers(touched.page)
    fingers.tap(*[touched.at(*point) for point in TRIANGLE[:2]])
    scale = 700 / float(touched.frame_settled().split()[2])
    one, other = touched.at(140, 150), touched.at(160, 150)
    fingers.send("touchStart", one)
    fingers.send("touchMove", (one[0] - 4, one[1]))
    fingers.send("touchStart", (one[0] - 4, one[1]), other)
    for step in range(1, 6):
        fingers.send("touchMove", (one[0] - 8 * step, one[1]), (other[0] + 8 * step, other[1]))
    fingers.send("touchEnd", (one[0] - 40, one[1]))
    fingers.send("touchMove", (one[0] - 60, one[1] + 20))
    fingers.send("touchEnd")
    zoomed = 700 / float(touched.frame_settled().split()[2])
    assert 2 < zoomed / scale < 4
    assert near(touched.open, TRIANGLE[:2])
    assert touched.rings == []
    fingers.tap(touched.at(150, 170))
    assert near(touched.open, [*TRIANGLE[:2], (150, 170)])


def test_a_finger_traces(touched: Editor) -> None:
    points = [touched.at(*point) for point in circle(40)]
    Fingers(touched.page).slide(*points, points[0])
    assert len(touched.rings) == 1
    assert 8 <= len(touched.rings[0]) < 40


# The end.


def test_nothing_is_left_behind(editor: Editor) -> None:
    editor.draw(*TRIANGLE)
    editor.ask("destroy()")
    assert editor.page.locator("#editor").inner_html() == ""
    assert editor.page.locator("#editor").get_attribute("class") == ""
