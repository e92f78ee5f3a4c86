"""`--as-published` (R40): each deviation of the code of 2018 beside what the contest does; slow references."""

from collections.abc import Callable
from dataclasses import replace
from math import cos, floor, inf, radians, sin
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from defense_kit.warmup import boundary, spatial_grid, spsa
from defense_kit.warmup.as_published import DEVIATIONS
from defense_kit.warmup.as_published import boundary as published_boundary
from defense_kit.warmup.as_published import coverage as published_coverage
from defense_kit.warmup.as_published import spsa as published_spsa
from defense_kit.warmup.as_published.boundary import PublishedBoundaryState, converged
from defense_kit.warmup.as_published.moves import moved, moved_twice
from defense_kit.warmup.as_published.pictures import shuffled
from defense_kit.warmup.as_published.spatial_grid import published_transform_of
from defense_kit.warmup.attacks import AttackedPicture, AttackResult, Rows, Scores, as_floats
from defense_kit.warmup.boundary import BoundaryState
from defense_kit.warmup.methods import OURS, PUBLISHED, Method
from defense_kit.warmup.moves import SIDE, bordered
from defense_kit.warmup.pictures import LabelledPicture
from defense_kit.warmup.spsa import EPSILON, SpsaState
from defense_kit.warmup.states import packed, unpacked
from defense_kit.warmup.streams import Streams
from tests.defense_kit.warmup.defenses import alone, picture

RANDOM = np.random.default_rng(7).integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
WHITE = np.full((SIDE, SIDE, 3), 255, np.uint8)
DOT = np.zeros((SIDE, SIDE, 3), np.uint8)
DOT[92:132, 92:132] = 255
STREAMS = Streams("spsa", bytes(32))
SHAPE = (4, 4, 3)
GREY, BLACK = np.full(SHAPE, 0.5, np.float32), np.zeros(SHAPE, np.float32)
BIRD = AttackedPicture(np.zeros((1, 1, 3), np.uint8), True, bytes(32))
DIRECTION = np.random.default_rng(4).normal(0, 1, SHAPE)
DIRECTION += 0.02 - DIRECTION.mean()  # so that grey is answered rightly


class Code(NamedTuple):
    """The contest's code, or the published one."""

    method: Method
    spsa: ModuleType
    boundary: ModuleType


CONTEST, CODE_OF_2018 = Code(OURS, spsa, boundary), Code(PUBLISHED, published_spsa, published_boundary)


def named(number: int, *, is_bird: bool = True) -> LabelledPicture:
    """A picture without content."""
    return LabelledPicture(f"{number}.png", replace(BIRD, is_bird=is_bird, sha256=bytes([number] * 32)))


def answers(*losses: float) -> Callable[[Rows], Scores]:
    """Answer a bird with these losses, a row each, then with the last one."""
    left = list(losses)

    def classify(rows: Rows) -> Scores:
        found = [left.pop(0) if len(left) > 1 else left[0] for _ in rows]
        return np.array([[0, loss] for loss in found], np.float32)

    return classify


def by_value(rows: Rows) -> Scores:
    """Answer by a linear function of the values; the loss of a bird is that."""
    bird = [float((row.astype(np.float64) * DIRECTION).sum()) for row in rows]
    return np.stack([np.zeros(len(bird)), bird], axis=1).astype(np.float32)


# Each deviation: what is measured of the two codes


def ties(code: Code) -> dict[str, bool]:
    both = code.method.arranged([named(1), named(2, is_bird=False)])
    return {each.of_class: each.picture.is_wrong(np.zeros(2, np.float32)) for each in both}


def is_ascending(code: Code) -> bool:
    found = [each.picture.sha256 for each in code.method.arranged([named(number) for number in range(9)])]
    return found == sorted(found)


def first_part_of_grid(code: Code) -> Rows:
    return next(code.method.stateless["spatial_grid"](replace(BIRD, pixels=DOT)))


def centre(row: Rows) -> tuple[float, float]:
    """Return where a picture's values are on average, in pixels across and down."""
    places = np.arange(SIDE) + 0.5
    return float(row.sum(axis=(0, 2)) @ places / row.sum()), float(row.sum(axis=(1, 2)) @ places / row.sum())


def way_of_one_part(code: Code) -> int:
    rows = first_part_of_grid(code)
    return round(centre(rows[-1])[1] - centre(rows[0])[1])


def offset_of_first_move(code: Code) -> tuple[float, float]:
    across, down = centre(first_part_of_grid(code)[0])
    return round(across + 18 - SIDE / 2, 1) + 0, round((down - SIDE / 2) % 1, 1)


def is_in_8_bits(code: Code) -> bool:
    found = code.method.first_move(picture(1), STREAMS) * 255
    return bool(np.abs(found - np.rint(found)).max() < 1e-3)


def descended(code: Code, classify: Callable[[Rows], Scores], start: Rows = GREY, **values: Any) -> AttackResult:
    return alone(code.spsa.descend(BIRD, start, STREAMS, **values), classify)


def size_of_estimate(code: Code) -> float:
    means = []
    for each in (code, CONTEST):
        states: list[SpsaState] = []
        descended(each, by_value, keep=states.append, steps=1)
        means.append(np.linalg.norm(states[0].mean))
    return round(float(means[0] / means[1]), 3)


def range_of_probes(code: Code) -> tuple[float, float]:
    seen: list[tuple[float, float]] = []

    def classify(rows: Rows) -> Scores:
        seen.append((round(float(rows.min()), 3), round(float(rows.max()), 3)))
        return by_value(rows)

    for start in (BLACK, BLACK + 1):
        descended(code, classify, start, steps=1)
    return min(low for low, _ in seen), max(high for _, high in seen)


def steps_where_wrong_from_the_start(code: Code) -> int:
    steps: int = descended(code, answers(-2)).chosen["steps"]
    return steps


def step_of_the_result(code: Code) -> int:
    """Return whose picture is the result where the first step leads to the worst of three."""
    losses = answers(3, 1, 2)
    step: int = descended(code, lambda rows: losses(rows[-1:]).repeat(len(rows), axis=0), steps=3).chosen["best_step"]
    return step


def starts_that_are_tried(code: Code) -> int:
    others = [picture(number).pixels for number in range(4)]
    return alone(code.method.boundary(picture(9), others), answers(1)).queries - 1


def state_of(code: Code, step: int, at: Rows, **values: float) -> BoundaryState:
    kind: Any = code.method.states["boundary"]
    state: BoundaryState = kind(step, at, np.zeros(2, np.float32), 0, **values)
    return state


def steps_after_a_small_one(code: Code) -> int:
    at = state_of(code, 7, BLACK + 1, towards=1e-8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code.boundary, "GOAL", 0.0)
        steps: int = alone(code.boundary.approach(BIRD, GREY, [], STREAMS, at), answers(1)).chosen["steps"]
    return steps - 7


def queries_where_a_test_s_first_picture_is_near(code: Code) -> int:
    far = BLACK.copy()
    far[0, 0, 0] = 0.9
    at = state_of(code, 9, far, spherical=0.5)
    with pytest.MonkeyPatch.context() as patch:
        for module in (boundary, code.boundary):
            patch.setattr(module, "GOAL", 0.89)  # values below 0 are clipped, so the sphere's point is nearer
        walk = code.boundary.approach(BIRD, BLACK, [], STREAMS, at, steps=10)
        return alone(walk, answers(-1, 1)).queries


def pictures_of_boundary(code: Code) -> int:
    return len(code.method.boundary_pictures([named(number) for number in range(130)]))


def worst_corruption(code: Code) -> str:
    scores = np.tile(np.float32([0, 1]), (17, 1))  # bicycle, bird
    scores[3], scores[5] = [5, 9], [2, 1]
    name: str = alone(code.method.stateless["corruptions"](picture(1)), lambda rows: scores).chosen["corruption"]
    return name


def covered_of_nine(code: Code) -> int:
    return code.method.covered_accuracy(np.arange(9.0), np.zeros(9, bool)).covered


def risks_of_a_tie(code: Code) -> tuple[int, float]:
    found = code.method.risk_coverage(np.ones(4), np.array([True, False, False, False]))
    return len(found), round(max(risk for _, risk in found), 6)


ROWS: list[tuple[str, Callable[[Code], Any], Any, Any, str]] = [
    # deviation, what is measured, in the contest, as published, why
    ("ties", ties, {"bird": True, "bicycle": True}, {"bird": True, "bicycle": False}, "only < makes a bird"),
    ("order", is_ascending, True, False, "a shuffled DataLoader"),
    ("grid", way_of_one_part, 0, 60, "the fastest of the three numbers is dy, not the angle"),
    ("grid move", offset_of_first_move, (0, 0), (-0.1, 0.2), "torchvision's centre, from 112 turned about 112.5"),
    ("first move", is_in_8_bits, True, False, "TensorFlow keeps floats"),
    ("SPSA estimate", size_of_estimate, 1, 0.01, "the mean of loss times probe over the size of a probe"),
    ("SPSA probes", range_of_probes, (0, 1), (-0.01, 1.01), "nothing clips them"),
    ("SPSA stop", steps_where_wrong_from_the_start, 0, 1, "the loss is that of before the step"),
    ("SPSA result", step_of_the_result, 1, 3, "no best picture is kept"),
    ("boundary start", starts_that_are_tried, 4, 1, "one random choice"),
    ("boundary end", steps_after_a_small_one, 0, 215, "29 reductions in 4 steps each, and 99 steps to make sure"),
    ("boundary goal", queries_where_a_test_s_first_picture_is_near, 27, 1, "every query can reach the threshold"),
    ("boundary pictures", pictures_of_boundary, 50, 100, "25 batches of 4; all are birds here"),
    ("corruption", worst_corruption, "motion_blur", "defocus_blur", "5 of 9 is right, and above 2 of 1"),
    ("coverage", covered_of_nine, 8, 7, "7.2 pictures"),
    ("curve", risks_of_a_tie, (1, 0.25), (100, 25), "1 wrong of 4, over 1 % of 4"),
]


def test_each_deviation_has_a_row() -> None:
    assert [name for name, *_ in ROWS] == list(DEVIATIONS)


@pytest.mark.parametrize(("name", "measure", "contest", "published", "why"), ROWS, ids=[row[0] for row in ROWS])
def test_what_the_contest_does_and_what_the_published_code_did(
    name: str, measure: Callable[[Code], Any], contest: Any, published: Any, why: str
) -> None:
    assert (measure(CONTEST), measure(CODE_OF_2018)) == (contest, published), why


# The moves


def test_the_grid_s_numbers() -> None:
    found = {published_transform_of(index) for index in range(spatial_grid.QUERIES)}
    shifts, down = (-18, -9, 0, 9, 18), range(-30, 31, 2)
    assert found == {(dx, dy, degrees) for degrees in shifts for dx in shifts for dy in down}


def lerped(read: Callable[[int, int], float], across: float, down: float) -> float:
    """Interpolate between four pixels, whose index is their centre."""
    left, top = floor(across), floor(down)
    return sum(
        read(top + i, left + j) * abs(1 - i - (down - top)) * abs(1 - j - (across - left))
        for i in (0, 1)
        for j in (0, 1)
    )


def reader(pixels: NDArray[Any], channel: int) -> Callable[[int, int], float]:
    def read(row: int, column: int) -> float:
        inside = 0 <= row < len(pixels) and 0 <= column < len(pixels)
        return float(pixels[row, column, channel]) if inside else 0.0

    return read


SAMPLE = [(int(row), int(column)) for row, column in np.random.default_rng(5).integers(0, SIDE, (300, 2))]


@pytest.mark.parametrize(("degrees", "dx", "dy"), [(18, -18, 28), (-9, 9, -30), (0, 18, 4), (18, 0, 0)])
def test_the_grid_s_move_point_by_point(degrees: float, dx: float, dy: float) -> None:
    framed = bordered(RANDOM, 158)
    found, read = moved(framed, degrees, dx, dy), reader(framed, 1)
    cosine, sine = cos(radians(degrees)), sin(radians(degrees))
    for row, column in SAMPLE:
        u, v = column + 0.5 - 112.5 - dx, row + 0.5 - 112.5 - dy
        across, down = cosine * u + sine * v + 112.5, -sine * u + cosine * v + 112.5
        expected = lerped(read, across - 0.5, down - 0.5)
        assert found[row, column, 1] == floor(expected + 1e-9), (row, column)


@pytest.mark.parametrize(("degrees", "dx", "dy"), [(0, 0, 0), (30, 17.5, -3.25), (-12.5, -18, 18)])
def test_the_first_move_point_by_point(degrees: float, dx: float, dy: float) -> None:
    """TensorFlow 1's three passes: a resize without half pixels, a rotation, a shift."""
    found, read = moved_twice(RANDOM, degrees, dx, dy), reader(as_floats(RANDOM), 2)
    cosine, sine, middle = cos(radians(degrees)), sin(radians(degrees)), (344 - 1) / 2

    def framed(row: int, column: int) -> float:
        inside = 70 <= row < 70 + 204 and 70 <= column < 70 + 204
        return lerped(read, (column - 70) * 224 / 204, (row - 70) * 224 / 204) if inside else 0.0

    def rotated(row: int, column: int) -> float:
        u, v = column - middle, row - middle
        return lerped(framed, cosine * u - sine * v + middle, sine * u + cosine * v + middle)

    for row, column in SAMPLE:
        expected = lerped(rotated, column + 60 - dx, row + 60 - dy)
        assert found[row, column, 2] == pytest.approx(expected, abs=1e-6), (row, column)


def test_the_first_move_leaves_10_pixels_and_turns_counter_clockwise() -> None:
    rows, columns = np.nonzero(moved_twice(WHITE, 0, 0, 0).any(axis=2))
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (10, 213, 10, 213)
    assert np.allclose(moved_twice(RANDOM, 90, 0, 0), np.rot90(moved_twice(RANDOM, 0, 0, 0)), atol=1e-6)
    assert np.allclose(moved_twice(DOT, 0, 7, -5), np.roll(moved_twice(DOT, 0, 0, 0), (-5, 7), (0, 1)), atol=1e-6)
    assert moved_twice(WHITE, 13, 0, 0).max() <= 1 and moved_twice(WHITE, 13, 0, 0).dtype == np.float32


# SPSA


def reference(steps: int) -> tuple[NDArray[np.float64], int]:
    """CleverHans 2.1.0 written out in float64: what is returned, and how many rows were queried on the way."""

    def loss(x: NDArray[np.float64]) -> float:
        return float((x * DIRECTION).sum())

    start = GREY.astype(np.float64)
    added = STREAMS.draws(1).uniform(-EPSILON, EPSILON, SHAPE)
    mean, square, queries = np.zeros(SHAPE), np.zeros(SHAPE), 0
    for step in range(1, steps + 1):
        signs = [STREAMS.signs(start.size, step=step, index=pair).reshape(SHAPE) for pair in range(32)]
        samples = [0.01 * sign for sign in signs] + [-0.01 * sign for sign in signs]
        estimate = np.mean([loss(start + added + each) * each for each in samples], axis=0) / 0.01
        before, queries = loss(start + added), queries + 65
        mean, square = 0.9 * mean + 0.1 * estimate, 0.999 * square + 0.001 * estimate**2
        added = added - 0.01 * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-9)
        added = np.clip(start + np.clip(added, -16 / 255, 16 / 255), 0, 1) - start
        if before < -1:
            break
    return start + added, queries


def test_spsa_is_the_published_loop() -> None:
    """With a loss that falls below -1 on the way."""
    expected, queries = reference(200)
    found = descended(CODE_OF_2018, by_value)
    assert found.queries == queries + 1 and 65 * 3 < queries < 65 * 200
    assert np.abs(found.picture - expected).max() < 1e-4
    assert found.scores.tobytes() == by_value(found.picture[np.newaxis])[0].tobytes(), "of the picture returned"


@pytest.mark.parametrize("turns", [0, 1, 4])
def test_spsa_ends_a_step_after_the_picture_that_is_wrong_enough(turns: int) -> None:
    losses = answers(*[-1.0] * turns, -2.0)

    def classify(rows: Rows) -> Scores:
        return losses(rows[-1:]).repeat(len(rows), axis=0)

    result = descended(CODE_OF_2018, classify)
    assert (result.chosen["steps"], result.queries) == (turns + 1, 65 * (turns + 1) + 1), "-1 itself is not enough"


def test_spsa_goes_on_from_a_kept_state() -> None:
    states: list[SpsaState] = []
    whole = descended(CODE_OF_2018, by_value, keep=states.append, steps=4)
    for state in states:
        kept: Any = unpacked(packed(state), SpsaState)
        again = descended(CODE_OF_2018, by_value, state=kept, steps=4)
        assert (again.queries, again.chosen) == (whole.queries, whole.chosen)
        assert again.picture.tobytes() == whole.picture.tobytes()


# The boundary attack

STATE = PublishedBoundaryState(200, GREY, np.zeros(2, np.float32), 1, spherical=0.3)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ((1e-5, False, 100), (1e-5, False, 100), "large steps"),
        ((1.5e-7, False, 100), (1.5e-7, False, 100), "not small the first time"),
        ((0.9e-7, False, 100), (0.01, True, 100), "made large again"),
        ((1.5e-7, True, 100), (1.5e-7, True, 100), "not small yet"),
        ((0.9e-7, True, 100), (0.9e-7, True, 99), "the first of a hundred"),
        ((1.5e-7, True, 99), (1.5e-7, True, 98), "twice as much is small from then on"),
        ((0.9e-7, True, 1), (0.9e-7, True, 0), "the last of a hundred"),
        ((2.5e-7, True, 60), (2.5e-7, False, 100), "they grew: as in the beginning"),
    ],
)
def test_when_steps_are_small(before: tuple[float, bool, int], after: tuple[float, bool, int], why: str) -> None:
    towards, is_again, left = before
    found = converged(replace(STATE, towards=towards, is_again=is_again, left=left))
    assert (found.towards, found.is_again, found.left) == after, why
    assert found.spherical == (0.01 if after[0] == 0.01 else 0.3)


def test_once_steps_were_small_every_step_is_a_test() -> None:
    states: list[PublishedBoundaryState] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(published_boundary, "GOAL", 0.0)
        at = replace(STATE, at=BLACK + 1, towards=1e-8)
        alone(published_boundary.approach(BIRD, GREY, [], STREAMS, at, states.append, 203), answers(1))
    assert [state.queries for state in states] == [26, 51, 76], "the point on the sphere alone, and none is wrong"
    assert [len(state.sphere_window) for state in states] == [25, 50, 75]


def test_the_boundary_attack_goes_on_from_a_kept_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published_boundary, "GOAL", 0.2)
    towards = np.abs(DIRECTION) / np.linalg.norm(DIRECTION)

    def half_space(rows: Rows) -> Scores:
        beyond = [float(((row.astype(np.float64) - 0.5) * towards).sum()) - 0.3 for row in rows]
        return np.stack([beyond, np.zeros(len(beyond))], axis=1).astype(np.float32)

    def walk(state: Any = None, keep: Any = None) -> AttackResult:
        starts = [BLACK + 1]
        return alone(published_boundary.approach(BIRD, GREY, starts, STREAMS, state, keep, 40), half_space)

    states: list[PublishedBoundaryState] = []
    whole = walk(keep=states.append)
    assert len(states) == 40 and states[-1].sphere_window
    for state in states[::9]:
        again = walk(unpacked(packed(state), PublishedBoundaryState))
        assert (again.queries, again.chosen) == (whole.queries, whole.chosen)
        assert again.picture.tobytes() == whole.picture.tobytes()


# Order and counts


def test_the_order_is_drawn_and_depends_on_no_other_picture() -> None:
    pictures = [named(number, is_bird=bool(number % 2)) for number in range(40)]
    order = [each.name for each in shuffled(pictures)]
    assert sorted(order) == sorted(each.name for each in pictures)
    assert [each.name for each in shuffled(pictures[::-1])] == order
    few = [each.name for each in shuffled(pictures[::3])]
    assert few == [name for name in order if name in few]
    birds = sum(each.of_class == "bird" for each in shuffled(pictures)[:20])
    assert birds != 10, "the first ones of this order are not balanced"


@pytest.mark.parametrize(
    ("pictures", "covered", "why"),
    [
        (1, 1, "the index 0 - 1 is the last picture, the only one"),
        (2, 1, "of 1.6"),
        (4, 3, "of 3.2"),
        (9, 7, "of 7.2"),
        (100, 80, "as in the contest"),
        (250, 200, "as in the contest"),
    ],
)
def test_how_many_are_covered(pictures: int, covered: int, why: str) -> None:
    wrong = np.zeros(pictures, bool)
    found = published_coverage.covered_accuracy(np.arange(pictures, dtype=float), wrong)
    assert (found.covered, found.threshold) == (covered, pictures - covered), why


def test_no_picture_is_an_error() -> None:
    with pytest.raises(ValueError, match="no picture"):
        published_coverage.covered_accuracy(np.array([]), np.array([], bool))


def test_the_curve_s_100_points() -> None:
    rng = np.random.default_rng(3)
    confidences, wrong = rng.integers(0, 12, 30).astype(float), rng.random(30) < 0.3
    confidences[:3] = -inf
    curve = published_coverage.risk_coverage(confidences, wrong)
    assert [round(coverage, 9) for coverage, _ in curve] == [number / 100 for number in range(1, 101)]
    for number, (_, risk) in enumerate(curve, 1):
        ranked = sorted(confidences, reverse=True)
        threshold = ranked[int(np.linspace(0.01, 1, 100)[number - 1] * 30) - 1]
        bad = sum(is_wrong for at, is_wrong in zip(confidences, wrong, strict=True) if at >= threshold)
        assert risk == pytest.approx(bad / (30 * number / 100)), number
    assert curve[-1] == (1, wrong.mean())
