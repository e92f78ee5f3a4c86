"""What a form must hold (R9-R12), and what an outline is, to the hundredth of a pixel (R11).

The table of tests/geometry_vectors.json is the rule for outlines; the browser runs the same one.
"""

import json
import math
import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import WrongFields
from labeling.answers import read_form
from labeling.geometry import (
    Box,
    Ring,
    canonical_json,
    doubled_area,
    on_one_line,
    quantise,
    without_repeats,
)
from labeling.outlines import OutlineError, read_outline
from policy.enums import OutlineGate
from tests.labeling.cast import refused
from tests.tables import cases as table

RINGS = [[[10, 10], [200, 10], [200, 200]]]


NEGATIVE = {"contains_bird": "definitely_no", "contains_bicycle": "definitely_no"}


BIRD = {
    "contains_bird": "definitely_yes", "contains_bicycle": "definitely_no", "outline": RINGS,
    "complete": True, "unoccluded": True, "real": False,
}  # fmt: skip


def read(data: dict[str, Any], gate: OutlineGate = OutlineGate.BEST_GUESS_YES) -> Any:
    return read_form(data, width=299, height=299, gate=gate)


@table(
    "data fields why",
    ({}, {"contains_bird", "contains_bicycle"}, "questions 1 and 2 are always asked"),
    (NEGATIVE | {"contains_bird": "yes"}, {"contains_bird"}, "not one of the four answers"),
    (NEGATIVE | {"contains_bird": None}, {"contains_bird"}, "null is no answer"),
    (NEGATIVE | {"contains_bird": ["definitely_no"]}, {"contains_bird"}, "a list is no answer"),
    (NEGATIVE | {"colour": "red"}, {"colour"}, "an unknown field"),
    (NEGATIVE | {"outline": RINGS}, {"outline"}, "an outline that was not asked"),
    (NEGATIVE | {"real": True}, {"real"}, "a statement that was not asked"),
    (NEGATIVE | {"complete": False, "outline": RINGS}, {"complete", "outline"}, "all of them are named"),
    (BIRD | {"contains_bicycle": "unsure_no"}, {"outline", "complete", "unoccluded", "real"}, "not excluded"),
    ({name: BIRD[name] for name in BIRD if name != "outline"}, {"outline"}, "a forgotten outline"),
    ({name: BIRD[name] for name in BIRD if name != "real"}, {"real"}, "a forgotten statement"),
    (BIRD | {"real": None}, {"real"}, "a statement left open"),
    (BIRD | {"real": "true"}, {"real"}, "a word is not a truth value"),
    (BIRD | {"complete": 1}, {"complete"}, "nor is a number"),
    (BIRD | {"outline": [[[0, 0], [9, 9]]]}, {"outline"}, "two corners"),
    (BIRD | {"outline": [[[0, 0], [9, 9], [0, 9], [9, 0]]]}, {"outline"}, "crosses itself"),
    (BIRD | {"outline": [[[float("nan"), 0], [9, 9], [0, 9]]]}, {"outline"}, "not a number"),
    (BIRD | {"outline": [[[n % 299, n // 299] for n in range(100_000)]]}, {"outline"}, "100,000 corners"),
    (NEGATIVE | {"seconds": -1}, {"seconds"}, "negative time"),
    (NEGATIVE | {"seconds": float("nan")}, {"seconds"}, "no time at all"),
    (NEGATIVE | {"seconds": "3"}, {"seconds"}, "a text is no time"),
    (NEGATIVE | {"seconds": True}, {"seconds"}, "nor is a truth value"),
)
def test_wrong(data: dict[str, Any], fields: set[str], why: str) -> None:
    told = refused(WrongFields, read, data).fields
    assert (set(told), {message[-1] for message in told.values()}) == (fields, {"."}), why


def test_a_negative_needs_nothing_else_and_a_null_says_that_nothing_can_be_outlined() -> None:
    answers = read(NEGATIVE | {"outline": None, "complete": None, "seconds": 2.5})
    assert (answers.outline, answers.complete, answers.milliseconds) == (None, None, 2500)
    assert read(BIRD | {"outline": None}).outline is None


def test_the_gate_is_policy() -> None:
    guess_no = BIRD | {"contains_bird": "unsure_no"}
    assert read(guess_no, OutlineGate.NOT_EXCLUDED).outline is not None
    refused(WrongFields, read, guess_no)


def test_time_taken_is_not_part_of_what_was_said() -> None:
    assert read(BIRD | {"seconds": 1}).sha256 == read(BIRD | {"seconds": 9}).sha256
    assert read(BIRD).sha256 != read(BIRD | {"real": True}).sha256


SIZE = 299


def cases(accepted: bool) -> list[Any]:
    """Those of the table, with the NaN and infinities that it holds as words: JSON has none."""
    text = (Path(__file__).parents[1] / "geometry_vectors.json").read_text()
    table = json.loads(re.sub(r'"(NaN|-?Infinity)"', r"\1", text))
    return [pytest.param(case, id=case["name"]) for case in table["cases"] if (case["code"] is None) is accepted]


@pytest.mark.parametrize("case", cases(accepted=True))
def test_an_outline_that_counts(case: dict[str, Any]) -> None:
    outline = read_outline(case["rings"], width=case["width"], height=case["height"])
    box, area = outline.box, sum(abs(doubled_area(ring)) for ring in outline.rings)
    assert ([box.xmin, box.ymin, box.xmax, box.ymax], area) == (case["box"], case["doubled_area"]), case["why"]
    assert canonical_json(outline.rings) == outline.json == case.get("json", outline.json), case["why"]


@pytest.mark.parametrize("case", cases(accepted=False))
def test_an_outline_that_is_refused(case: dict[str, Any]) -> None:
    size = {"width": case["width"], "height": case["height"]}
    refusal = refused(OutlineError, read_outline, case["rings"], **size)
    told = (refusal.code, refusal.ring, refusal.field)
    assert told == (case["code"], case["ring"], "outline"), case["why"]
    assert case["ring"] is None or f"ing {case['ring']}" in refusal.message


def test_the_table_has_every_refusal() -> None:
    assert {param.values[0]["code"] for param in cases(accepted=False)} == {
        "outline_shape",
        "outline_non_finite",
        "outline_too_many_corners",
        "outline_too_few_corners",
        "outline_zero_area",
        "outline_self_crossing",
        "outline_outside",
    }


class NeverLooked(list[Any]):
    """A ring that must be refused by its length alone."""

    def __iter__(self) -> Any:
        raise AssertionError("A ring that is too long was read.")


# Less than a hundredth wide at the border, wider inside: closed, it would leave a hole in the ring.
MOUTH = [[-10, 10.01], [0.01, 10], [5, 12], [5, 8], [-0.01, 10], [-10, 9.9]]


@table(
    "rings code why",
    ([NeverLooked([[0, 0]] * 100_000)], "too_many_corners", "a hundred thousand corners are counted and not read"),
    (NeverLooked([[[0, 0]]] * 100_000), "too_many_corners", "nor is a hundred thousand rings"),
    ([[[10**400, 0], [1, 1], [2, 0]]], "outside", "an integer longer than any float is just far away"),
    ([[[-10, 0], [20, 0], [20, 20], [-10, 20], *MOUTH]], "self_crossing", "a notch that rounding closes at the border"),
)
def test_an_outline_is_refused_that_no_file_can_hold(rings: Any, code: str, why: str) -> None:
    assert refused(OutlineError, read_outline, rings, width=SIZE, height=SIZE).code == f"outline_{code}", why


@pytest.mark.parametrize(
    ("value", "hundredths"),
    [
        (3, 300),
        (12.5, 1250),
        (0.005, 1),
        (0.0049999, 0),
        (1.005, 101),
        (2.675, 268),
        (-0.005, 0),
        (-0.0051, -1),
        (-0.015, -1),
        (-0.0, 0),
        (1e-9, 0),
        (Decimal("0.005"), 1),
        (Decimal("0.00499999999999999999"), 0),
        (10**30, 10**32),
    ],
)
def test_halves_round_up_by_the_digits_written(value: float, hundredths: int) -> None:
    assert quantise(value) == hundredths


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("Infinity")])
def test_only_finite_numbers_are_positions(value: float) -> None:
    assert "finite" in str(refused(ValueError, quantise, value))


@pytest.mark.parametrize(
    ("ring", "text"),
    [
        (((1250, 300), (0, 0)), "[[[12.5,3],[0,0]]]"),
        (((1, 10), (100, 101)), "[[[0.01,0.1],[1,1.01]]]"),
        (((-1, -150), (-100, 29900)), "[[[-0.01,-1.5],[-1,299]]]"),
    ],
)
def test_pixels_are_written_with_the_digits_they_need(ring: Ring, text: str) -> None:
    assert canonical_json([ring]) == text


def test_boxes() -> None:
    one = Box(0, 10, 20, 30)
    assert (one.area, one.union(Box(10, 0, 50, 20))) == (400, Box(0, 0, 50, 30))
    assert "corner" in str(refused(ValueError, Box.from_rings, []))


corners = st.tuples(st.integers(-20_000, 50_000), st.integers(-20_000, 50_000))


@settings(max_examples=50)
@given(st.lists(st.lists(corners, max_size=6).map(tuple), max_size=4).map(tuple))
def test_json_and_back(rings: tuple[Ring, ...]) -> None:
    """Any JSON reader gets back what was written, exactly."""
    read = json.loads(canonical_json(rings), parse_float=Decimal)
    assert tuple(tuple((quantise(x), quantise(y)) for x, y in ring) for ring in read) == rings


@given(st.floats(-1e5, 1e5))
def test_quantising_twice_changes_nothing(value: float) -> None:
    hundredths = quantise(value)
    assert quantise(hundredths / 100) == hundredths
    assert abs(Decimal(repr(value)) * 100 - hundredths) <= Decimal("0.5")


@st.composite
def stars(draw: st.DrawFn) -> list[list[float]]:
    """A polygon around a middle, one corner in each direction in turn: simple however it is drawn."""
    count, reach = draw(st.integers(3, 12)), st.floats(5, 200)
    x, y = draw(st.integers(-60, 360)), draw(st.integers(-60, 360))
    angles = [2 * math.pi * index / count for index in range(count)]
    star = [[x + (r := draw(reach)) * math.cos(angle), y + r * math.sin(angle)] for angle in angles]
    return star[::-1] if draw(st.booleans()) else star


def holds(few: int, many: int, **drawn: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A property of what is drawn: of a few examples, and of many in `make test-all`."""

    def of(check: Callable[..., None]) -> Callable[..., None]:
        @pytest.mark.parametrize("examples", [few, pytest.param(many, marks=pytest.mark.long("many examples"))])
        def test(examples: int) -> None:
            settings(max_examples=examples)(given(**drawn)(check))()

        return test

    return of


@holds(40, 300, star=stars())
def test_simple_polygons_are_accepted_and_clipped(star: list[list[float]]) -> None:
    drawn = without_repeats([(quantise(x), quantise(y)) for x, y in star])
    if not shapely.Polygon(drawn).intersects(shapely.box(1, 1, SIZE * 100 - 1, SIZE * 100 - 1)):
        return
    outline, image = read_outline([star], width=SIZE, height=SIZE), Box(0, 0, SIZE * 100, SIZE * 100)
    area = sum(abs(doubled_area(ring)) for ring in outline.rings)
    rounding = SIZE * 100 * sum(len(ring) for ring in outline.rings)
    assert outline.box.union(image) == image
    assert area <= abs(doubled_area(drawn)) + rounding, "clipping adds nothing but half units"
    assert all(shapely.LinearRing(ring).is_simple and not on_one_line(ring) for ring in outline.rings)
    assert all((doubled_area(ring) > 0) == (doubled_area(drawn) > 0) for ring in outline.rings)
    assert read_outline(json.loads(outline.json), width=SIZE, height=SIZE) == outline


@holds(20, 200, star=stars(), margin=st.integers(1, 5))
def test_inside_the_image_an_outline_stays_as_drawn(star: list[list[float]], margin: int) -> None:
    drawn = without_repeats([(quantise(x), quantise(y)) for x, y in star])
    box = Box.from_rings([drawn])
    moved = tuple((x - box.xmin, y - box.ymin) for x, y in drawn)
    side = max(box.xmax - box.xmin, box.ymax - box.ymin) // 100 + margin
    assert read_outline([[[x / 100, y / 100] for x, y in moved]], width=side, height=side).rings == (moved,)


@given(st.lists(st.integers(0, 29_900), min_size=4, max_size=4, unique=True), st.permutations(range(4)))
def test_bow_ties_are_refused(sides: list[int], turn: list[int]) -> None:
    """The two diagonals of any box, joined at their ends, cross."""
    (x0, x1), (y0, y1) = sorted(sides[:2]), sorted(sides[2:])
    bow_tie = [(x0, y0), (x1, y1), (x1, y0), (x0, y1)]
    turned = [[each / 100 for each in bow_tie[(index + turn[0]) % 4]] for index in range(4)]
    refusal = refused(OutlineError, read_outline, [turned], width=SIZE, height=SIZE)
    assert refusal.code == "outline_self_crossing"


@holds(100, 500, drawn=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=4, max_size=8))
def test_crossings_are_found_as_an_independent_library_finds_them(drawn: list[tuple[int, int]]) -> None:
    """On a coarse grid touching, spikes and shared corners are frequent."""
    ring = without_repeats(drawn)
    if len(set(ring)) < 3 or on_one_line(ring):
        return
    try:
        read_outline([[list(corner) for corner in ring]], width=8, height=8)
        crosses = False
    except OutlineError as refusal:
        crosses = refusal.code == "outline_self_crossing"
    assert crosses is not shapely.LinearRing(ring).is_simple


@holds(60, 500, drawn=st.lists(st.tuples(st.integers(-30, 30), st.integers(-30, 30)), min_size=3, max_size=8))
def test_what_rounding_bends_at_the_border_is_made_simple_again(drawn: list[tuple[int, int]]) -> None:
    """Corners hundredths apart, where moving a crossing by half a hundredth can push it over an edge."""
    ring = without_repeats(drawn)
    with suppress(OutlineError):
        outline = read_outline([[[x / 100, y / 100] for x, y in ring]], width=1, height=1)
        assert all(shapely.LinearRing(part).is_simple and not on_one_line(part) for part in outline.rings)


@pytest.mark.parametrize(
    ("drawn", "parts"),
    [
        pytest.param([(-2, 12), (-12, 33), (1, 32), (-105, 60), (196, 6)], 1, id="one part is left"),
        pytest.param([(14, 38), (-42, 54), (-20, 33), (98, 50), (29, 49)], 2, id="it falls into two"),
    ],
)
def test_edges_that_meet_by_rounding_are_repaired(drawn: list[tuple[int, int]], parts: int) -> None:
    outline = read_outline([[[x / 100, y / 100] for x, y in drawn]], width=SIZE, height=SIZE)
    assert [shapely.LinearRing(ring).is_simple for ring in outline.rings] == [True] * parts


def comb(teeth: int, *, up: float = 20.0, down: float = -20.0, step: float = 1.0) -> list[list[float]]:
    """A strip below the middle of the picture's top border whose teeth end beyond that border."""
    ridge = [[10 + number * step, up if number % 2 else down] for number in range(2 * teeth)]
    return [*ridge, [10 + 2 * teeth * step, 40.0 if up > down else -40.0], [10.0, 40.0]]


@table(
    "ring code why",
    (comb(9), "", "nine teeth are nine notches in one ring"),
    ([[x, 5 - y] for x, y in comb(21)], "outline_too_many_corners", "21 teeth that reach into the picture"),
    ([[x / 4, 5 - y] for x, y in comb(499)], "outline_too_many_corners", "the most corners there may be"),
)
def test_the_bounds_hold_for_what_the_border_leaves(ring: list[list[float]], code: str, why: str) -> None:
    if code:
        refusal = refused(OutlineError, read_outline, [ring], width=SIZE, height=SIZE)
        assert (refusal.code, "parts; 20 are the most" in str(refusal)) == (code, True), why
    else:
        outline = read_outline([ring], width=SIZE, height=SIZE)
        assert read_outline(json.loads(outline.json), width=SIZE, height=SIZE) == outline, why


@st.composite
def across_the_border(draw: st.DrawFn) -> list[list[list[float]]]:
    """Combs and stars at any place of the border, in hundredths: what the border cuts into pieces."""
    rings = []
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            rings.append(draw(stars()))
            continue
        teeth, step = draw(st.integers(1, 30)), draw(st.sampled_from([0.01, 0.02, 0.5, 3.0]))
        away, turned = draw(st.integers(-20, 300)), draw(st.booleans())
        ring = [[x, away - y] for x, y in comb(teeth, up=draw(st.integers(1, 30)), step=step)]
        rings.append([[y, x] for x, y in ring] if turned else ring)
    return rings


@holds(25, 300, rings=across_the_border())
def test_what_is_kept_can_be_read_again(rings: list[list[list[float]]]) -> None:
    try:
        outline = read_outline(rings, width=SIZE, height=SIZE)
    except OutlineError:
        return
    assert read_outline(json.loads(outline.json), width=SIZE, height=SIZE) == outline
