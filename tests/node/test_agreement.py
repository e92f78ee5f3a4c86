"""What the browser's modules and the server both say: geometry on drawings that nobody thought of, and words (R11)."""

import json
import random
import re
import subprocess
from itertools import product
from math import cos, pi, sin
from pathlib import Path
from typing import Any

import pytest
import shapely
from django.utils import translation

from labeling.outlines import OutlineError, read_outline
from labeling.pages.label_words import page_words

SIZE = 299
TOLERANCES = [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6]
Line = list[list[float]]


def asked(call: str, given: list[Any]) -> list[Any]:
    """What the page's own modules make of each of `given`."""
    done = subprocess.run(
        ["node", Path(__file__).with_name("ask.mjs")],
        input=json.dumps({"call": call, "given": given}),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def server_says(ring: Line) -> tuple[str | None, list[int] | None]:
    try:
        box = read_outline([ring], width=SIZE, height=SIZE).box
    except OutlineError as refusal:
        return refusal.code, None
    return None, [box.xmin, box.ymin, box.xmax, box.ymax]


def drawings(count: int) -> list[Line]:
    """Half of them on a coarse grid, where corners meet edges and borders all the time."""
    dice = random.Random(11)
    steps = [60 if number % 2 else 0.01 for number in range(count)]
    return [
        [[round(dice.uniform(-200, 500) / step) * step for _ in "xy"] for _ in range(dice.randint(3, 6))]
        for step in steps
    ]


@pytest.mark.parametrize("count", [1_000, pytest.param(8_000, marks=pytest.mark.long("eight times as many drawings"))])
def test_browser_and_server_agree(count: int) -> None:
    rings = drawings(count)
    found = asked("check", rings)
    for ring, (code, box) in zip(rings, found, strict=True):
        expected, expected_box = server_says(ring)
        assert (code, box) == (expected, expected_box and pytest.approx(expected_box, abs=1)), ring
    assert sum(box is not None for _, box in found) > count / 8, "the drawings are not all nonsense"


def walk(dice: random.Random, count: int, step: float) -> Line:
    """Somebody's line that goes anywhere, on the grid of hundredths."""
    x, y = dice.uniform(50, 250), dice.uniform(50, 250)
    points = []
    for _ in range(count):
        x, y = (min(299.0, max(0.0, value + dice.gauss(0, step))) for value in (x, y))
        points.append([round(x, 2), round(y, 2)])
    return points


def trembling_star(dice: random.Random) -> Line:
    """Round a middle with deep, narrow bays: what few corners easily cross."""
    reach = [dice.choice([25, 30, 120, 130]) + dice.uniform(-8, 8) for _ in range(dice.randint(20, 60))]
    angles = [2 * pi * number / len(reach) for number in range(len(reach))]
    return [[round(150 + r * cos(a), 2), round(150 + r * sin(a), 2)] for r, a in zip(reach, angles, strict=True)]


def spiral(turns: float, apart: float = 1.1) -> Line:
    """A band wound up, its two sides hardly further apart than its turns."""
    angles = [turns * 2 * pi * number / 400 for number in range(401)]
    outer = [(20 + apart * angle, angle) for angle in angles]
    inner = [(20 + apart * angle - apart * 2.2, angle) for angle in reversed(angles)]
    return [[round(150 + r * cos(a), 2), round(150 + r * sin(a), 2)] for r, a in outer + inner]


def near(one: Line, other: Line, tolerance: float) -> bool:
    """Whether neither line has a point, a corner or any between them, further than that from the other."""
    # A buffer is a polygon inside the true one: with 64 segments to a quarter it lacks less than a thousandth.
    first, second = shapely.LineString(one), shapely.LineString(other)
    around = tolerance * 1.001 + 1e-6
    return bool(first.buffer(around, quad_segs=64).covers(second) and second.buffer(around, quad_segs=64).covers(first))


def test_a_simplified_line_stays_within_the_tolerance_both_ways() -> None:
    dice = random.Random(7)
    cases = [(walk(dice, dice.randint(2, 120), dice.choice([0.5, 3, 12])), dice.choice(TOLERANCES)) for _ in range(40)]
    simple = asked("simplify", cases)
    for (points, tolerance), line in zip(cases, simple, strict=True):
        assert near(points, line, tolerance) and (line[0], line[-1]) == (points[0], points[-1])
    shorter = sum(len(line) < len(points) for (points, _), line in zip(cases, simple, strict=True))
    assert shorter > 28, "and it is simpler"


@pytest.mark.parametrize(
    ("stars", "turns", "tolerances"),
    [
        pytest.param(4, [1.2], [0.25, 1, 6], id="some"),
        pytest.param(
            25, [1.2, 1.7, 2.3], TOLERANCES, id="many", marks=pytest.mark.long("28 rings at nine tolerances each")
        ),
    ],
)
def test_no_tolerance_makes_a_ring_cross_itself(stars: int, turns: list[float], tolerances: list[float]) -> None:
    """Where few corners would cross, there are more of them; the ring stays within what was asked for."""
    dice = random.Random(9)
    cases = list(product([trembling_star(dice) for _ in range(stars)] + list(map(spiral, turns)), tolerances))
    made_finer = 0
    for (_, wanted), found in zip(cases, asked("trace", cases), strict=True):
        points, (ring,) = found["points"], found["drawing"]["rings"]
        assert shapely.LinearRing(points).is_simple, "the hand did not cross its line"
        assert shapely.LinearRing(ring).is_simple, (wanted, points)
        assert len(ring) == found["corners"] >= 3
        assert near([*points, points[0]], [*ring, ring[0]], wanted)
        made_finer += found["tolerance"] < wanted
    assert made_finer > 0, "some of them would have crossed"


def templates(words: dict[str, Any]) -> dict[str, str]:
    return {name: words[name] for name in words if name not in ("problems", "describedBy")} | words["problems"]


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_server_has_a_word_for_each_of_the_editors(language: str) -> None:
    """In each language, and with no value in braces that the editor does not fill in."""
    own = templates(*asked("words", [None]))
    with translation.override(language):
        given = templates(json.loads(json.dumps(page_words()["editor"])))
    assert set(given) == set(own)
    values = {name: set(re.findall(r"\{(\w+)\}", text)) for name, text in own.items()}
    assert {name: set(re.findall(r"\{(\w+)\}", text)) for name, text in given.items()} == values
