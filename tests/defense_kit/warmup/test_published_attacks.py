"""The attacks of `--as-published` (R40) against slow references, their ends, and going on from a kept state."""

from collections.abc import Callable
from dataclasses import replace
from math import cos, floor, radians, sin
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from defense_kit.warmup import spatial_grid
from defense_kit.warmup.as_published import boundary as published_boundary
from defense_kit.warmup.as_published import spsa as published_spsa
from defense_kit.warmup.as_published.boundary import PublishedBoundaryState, converged
from defense_kit.warmup.as_published.moves import moved, moved_twice
from defense_kit.warmup.as_published.spatial_grid import published_transform_of
from defense_kit.warmup.attacks import SIDE, AttackResult, Rows, Scores, as_floats
from defense_kit.warmup.checkpoints import packed, unpacked
from defense_kit.warmup.moves import bordered
from defense_kit.warmup.spsa import EPSILON, SpsaState
from defense_kit.warmup.streams import Purpose
from tests.defense_kit.warmup.defenses import alone
from tests.defense_kit.warmup.small_runs import (
    BIRD,
    BLACK,
    CODE_OF_2018,
    DIRECTION,
    DOT,
    GREY,
    SHAPE,
    STREAMS,
    answers,
    by_value,
    descended,
)

RANDOM = np.random.default_rng(7).integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
WHITE = np.full((SIDE, SIDE, 3), 255, np.uint8)

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
        drawn = [STREAMS.signs(Purpose.SPSA_SIGNS, start.size, step=step, index=pair) for pair in range(32)]
        signs = [each.reshape(SHAPE) for each in drawn]
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


def test_probes_lie_on_both_sides_and_the_picture_is_the_last() -> None:
    signs = [np.ones(SHAPE, np.int8), -np.ones(SHAPE, np.int8)]
    for start in (BLACK, BLACK + 1):
        rows = published_spsa.probes(start, signs)
        expected = [start + 0.01, start - 0.01, start - 0.01, start + 0.01, start]
        assert rows.dtype == np.float32 and np.allclose(rows, expected, atol=1e-7), "above both, below both"


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
