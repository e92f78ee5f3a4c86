"""The boundary attack: how near it comes on a half-space, its geometry, its windows, its ends, and going on."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from defense_kit.warmup import boundary as module
from defense_kit.warmup.attacks import AttackedPicture, AttackResult, Rows, Scores, as_floats
from defense_kit.warmup.boundary import (
    EVERY_DIRECTION,
    TESTS_ALONE,
    BoundaryState,
    Candidate,
    StepRule,
    Way,
    adjusted,
    approach,
    boundary,
    direction_length,
    distance,
    drawn_direction,
    way_from,
)
from defense_kit.warmup.checkpoints import UnderWay, counted, packed
from defense_kit.warmup.streams import Purpose, Streams
from tests.defense_kit.warmup.defenses import alone, linear, picture, scheduled

BIRD = AttackedPicture(np.zeros((1, 1, 3), np.uint8), True, bytes(32))
STREAMS = Streams("boundary", bytes(32))
SHAPE = (16, 16, 3)
GREY = np.full(SHAPE, 0.5, np.float32)


def normal(shape: tuple[int, ...], seed: int = 1) -> NDArray[np.float64]:
    found = np.random.default_rng(seed).normal(size=shape)
    unit: NDArray[np.float64] = found / np.linalg.norm(found)
    return unit


def plane(shape: tuple[int, ...], far: float) -> Callable[[Rows], Scores]:
    """A bird on this side of a plane at the distance `far` from grey, a bicycle beyond it."""
    towards = normal(shape)

    def classify(rows: Rows) -> Scores:
        beyond = [float(((row.astype(np.float64) - 0.5) * towards).sum()) - far for row in rows]
        return np.stack([beyond, np.zeros(len(beyond))], axis=1).astype(np.float32)

    return classify


def beyond(shape: tuple[int, ...]) -> Rows:
    found: Rows = np.where(normal(shape) > 0, 1.0, 0.0).astype(np.float32)
    return found


def walked(
    classify: Callable[[Rows], Scores], shape: tuple[int, ...] = SHAPE, **values: Any
) -> tuple[AttackResult, list[BoundaryState]]:
    states: list[BoundaryState] = []
    goal = np.full(shape, 0.5, np.float32)
    starts = values.pop("starts", [beyond(shape)])
    return alone(approach(BIRD, goal, starts, STREAMS, keep=states.append, **values), classify), states


def test_it_comes_near_to_a_plane(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GOAL", 0.0)
    monkeypatch.setattr(module, "STEPS", 300)
    _, states = walked(plane(SHAPE, 2.0))
    ways = [distance(GREY, state.at) for state in states]
    assert ways == sorted(ways, reverse=True), "it never rises"
    assert 2.0 <= ways[-1] < 2.7 < ways[0]
    for state in states[::20]:
        assert BIRD.margins(plane(SHAPE, 2.0)(state.at[np.newaxis]))[0] >= 0, "it stays beyond the border"


@pytest.mark.long("tens of thousands of queries")
@pytest.mark.parametrize(("side", "far", "most"), [(16, 2.0, 1.001), (16, 0.5, 1.001), (32, 2.0, 1.01)])
def test_after_all_its_steps_it_is_at_the_plane(side: int, far: float, most: float, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "GOAL", 0.0)
    shape = (side, side, 3)
    states = walked(plane(shape, far), shape)[1]
    assert far <= distance(np.full(shape, 0.5), states[-1].at) <= most * far
    assert 20_000 < states[-1].queries < 60_000


def test_a_curved_border_does_not_end_it_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong is a small ball alone: of the first steps on the sphere, which are too long, nearly all leave it."""
    monkeypatch.setattr(module, "GOAL", 0.0)
    monkeypatch.setattr(module, "STEPS", 300)
    shape, far, radius = (32, 32, 3), 12.0, 1.5
    rows, columns = np.indices(shape[:2])
    signs = (np.repeat(odd[..., None] % 2 * 2 - 1, 3, 2) for odd in (rows + columns, rows))
    towards, beside = (each / np.sqrt(3072) for each in signs)
    middle = 0.5 + far * towards

    def in_ball(batch: Rows) -> Scores:
        inside = [float(radius - np.linalg.norm(row - middle)) for row in batch]
        return np.stack([inside, np.zeros(len(inside))], axis=1).astype(np.float32)

    start = (middle + 0.9 * radius * beside).astype(np.float32)
    _, states = walked(in_ball, shape, starts=[start])
    assert states[-1].step == 300 and far - radius < distance(np.full(shape, 0.5), states[-1].at) < 11.31


def test_it_ends_at_the_goal_s_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GOAL", 5.0)
    result, states = walked(plane(SHAPE, 2.0))
    assert distance(GREY, states[-2].at) > 5.0 >= distance(GREY, result.picture)
    assert "distance" not in result.chosen and result.scores[0] >= 0


def test_where_it_ends_too_far_away_the_way_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GOAL", 1.0)
    monkeypatch.setattr(module, "STEPS", 20)
    result, states = walked(plane(SHAPE, 2.0))
    assert distance(GREY, result.picture) == pytest.approx(1.0, abs=1e-5)
    assert result.chosen["distance"] == distance(GREY, states[-1].at) > 2
    assert result.scores[0] < 0, "on this side of the border"
    assert result.queries == states[-1].queries + 1


@pytest.mark.slow("a thousand steps")
@pytest.mark.parametrize(("right_after", "ends_early"), [(500, True), (10**6, False)])
def test_a_defense_that_is_right_once_it_was_asked_often_ends_it_early(
    right_after: int, ends_early: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report flags an end above the goal within a thousand steps: another defense does not come to it."""
    monkeypatch.setattr(module, "GOAL", 1.0)
    monkeypatch.setattr(module, "STEPS", 1000)
    answered = itertools.count()

    def learning(rows: Rows) -> Scores:
        scores = plane(SHAPE, 2.0)(rows)
        for each in scores:
            each[:] = each if next(answered) < right_after else (0, 1)
        return scores

    result, _ = walked(learning)
    assert result.chosen["distance"] > 1 and (result.chosen["steps"] < 1000) is ends_early


def test_a_picture_that_is_wrong_is_returned_at_once() -> None:
    result, states = walked(plane(SHAPE, -1.0))
    assert (result.queries, states) == (1, []) and np.array_equal(result.picture, GREY)


def test_the_first_wrong_start_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", 1)
    near = np.full(SHAPE, 0.5, np.float32)
    _, (state,) = walked(plane(SHAPE, 2.0), starts=[near, near, beyond(SHAPE)])
    assert state.queries > 4 and distance(state.at, beyond(SHAPE)) < distance(GREY, beyond(SHAPE))


@pytest.mark.parametrize("many", [0, 3])
def test_without_a_wrong_start_the_picture_is_returned_and_flagged(many: int) -> None:
    result, _ = walked(plane(SHAPE, 2.0), starts=[GREY] * many)
    assert (result.chosen, result.queries) == ({"steps": 0, "no_start": True}, 1 + many)


def test_a_start_that_is_not_finite_is_none() -> None:
    def classify(rows: Rows) -> Scores:
        return np.tile(np.float32([-1, 0] if np.array_equal(rows[0], GREY) else [np.nan, 0]), (len(rows), 1))

    assert walked(classify)[0].chosen == {"steps": 0, "no_start": True}


def pictures_of(way: Way, direction: NDArray[np.floating], spherical: float, towards: float) -> list[Any]:
    """The point on the sphere, and the nearer one."""
    sphere, nearer = np.empty_like(way.offset), np.empty_like(way.offset)
    candidate = Candidate(way, direction.copy(), direction_length(way, spherical))
    candidate.write(sphere)
    candidate.go_nearer(towards)
    candidate.write(nearer)
    return [sphere, nearer]


@pytest.mark.parametrize("kind", ["normal", "sign"])
@given(st.integers(0, 2**31), st.floats(0.001, 0.5), st.floats(0.001, 0.5))
@settings(max_examples=40)
def test_candidates_lie_on_the_sphere_and_nearer(kind: str, seed: int, spherical: float, towards: float) -> None:
    """The size of the step gives the angle; the part of the direction towards the goal is taken out."""
    rng = np.random.default_rng(seed)
    goal = np.full((4, 4, 3), 0.5)
    at = goal + rng.uniform(-0.1, 0.1, goal.shape)
    way = way_from(goal, at)
    direction = rng.choice([-1.0, 1.0], goal.shape) if kind == "sign" else rng.normal(size=goal.shape)
    direction *= direction_length(way, spherical) / np.linalg.norm(direction)
    sphere, nearer = pictures_of(way, direction, spherical, towards)
    assert float(np.linalg.norm(goal - sphere)) == pytest.approx(way.length, abs=1e-9), "nothing was clipped"
    assert float(np.linalg.norm(goal - nearer)) == pytest.approx((1 - towards) * way.length, abs=1e-9)
    tangent = direction - (direction * way.offset).sum() / way.length**2 * way.offset
    sine = float(np.linalg.norm(tangent)) / way.length
    along = float(((sphere - goal) * way.offset).sum()) / way.length**2
    assert along == pytest.approx(np.sqrt(1 - sine**2), abs=1e-9)
    assert np.abs(sphere - goal - along * way.offset - tangent).max() < 1e-9
    part = float((direction * way.offset).sum()) / way.length**2
    assert np.hypot(sine, part) == pytest.approx(spherical / np.sqrt(1 + spherical**2), abs=1e-12)


@pytest.mark.parametrize("spread", [1.0, 0.1], ids=["far", "near the end"])
@pytest.mark.parametrize("spherical", [0.3, 0.01, 1e-5])
def test_float32_is_near_enough_for_a_whole_picture(spherical: float, spread: float) -> None:
    """Both points and their lengths beside the same geometry in float64; black and white stay so."""
    rng = np.random.default_rng(5)
    goal, away = (as_floats(rng.integers(0, 256, (224, 224, 3), np.uint8)) for _ in range(2))
    at = np.clip(goal + np.float32(spread) * (away - goal), 0, 1)
    way, exact_way = (way_from(goal.astype(kind), at.astype(kind)) for kind in (np.float32, np.float64))
    direction = drawn_direction(STREAMS, way, direction_length(way, spherical), 3, 2)
    found = pictures_of(way, direction, spherical, 0.01)
    exact = pictures_of(exact_way, direction.astype(np.float64), spherical, 0.01)
    for here, there in zip(found, exact, strict=True):
        assert here.dtype == np.float32 and here.min() >= 0 and here.max() <= 1
        assert np.abs(here - there).max() < 4e-7
        assert distance(goal, here) == pytest.approx(distance(goal.astype(np.float64), there), rel=2e-7)


def test_of_a_whole_picture_the_part_towards_the_goal_is_small() -> None:
    """Without it a direction is shorter by 1 in 300,000 on average: half of the square of this."""
    rng = np.random.default_rng(5)
    way = way_from(*(rng.random((224, 224, 3), dtype=np.float32) for _ in range(2)))
    drawn = [drawn_direction(STREAMS, way, 1.0, 3, number).astype(np.float64) for number in range(20)]
    parts = [float((direction * way.offset).sum()) / way.length for direction in drawn]
    assert np.sqrt(np.mean(np.square(parts))) == pytest.approx(1 / np.sqrt(way.offset.size), rel=0.5)


def test_no_step_goes_beyond_the_goal() -> None:
    """Nor is there an angle for a step of any size beyond a right one."""
    black = np.zeros(SHAPE, np.float32)
    way = way_from(black, GREY)
    direction = drawn_direction(STREAMS, way, direction_length(way, 0.01), 3, 2)
    assert np.array_equal(pictures_of(way, direction, 0.01, 2.0)[1], black)
    sphere = pictures_of(way, drawn_direction(STREAMS, way, direction_length(way, 1e9), 3, 2), 1e9, 0.5)[0]
    assert np.isfinite(sphere).all() and sphere.min() >= 0


def test_a_direction_is_a_sign_for_each_value() -> None:
    direction = drawn_direction(STREAMS, way_from(GREY, beyond(SHAPE)), 0.25, 3, 2)
    signs = STREAMS.signs(Purpose.BOUNDARY_DIRECTION, GREY.size, step=3, index=2)
    assert np.array_equal(np.sign(direction).ravel(), signs)
    assert float(np.linalg.norm(direction)) == pytest.approx(0.25) and len(np.unique(np.abs(direction))) == 1


STATE = BoundaryState(10, GREY, np.zeros(2, np.float32), 1)


@pytest.mark.parametrize(
    ("rule", "sphere", "step", "sizes", "left"),
    [
        (EVERY_DIRECTION, (60, 100), (0, 0), (1.5, 1.5), (0, 0)),
        (EVERY_DIRECTION, (10, 100), (0, 0), (1 / 1.5, 1 / 1.5), (0, 0)),
        (EVERY_DIRECTION, (50, 100), (0, 0), (1, 1), (100, 0)),
        (EVERY_DIRECTION, (20, 100), (0, 0), (1, 1), (100, 0)),
        (EVERY_DIRECTION, (99, 99), (0, 0), (1, 1), (99, 0)),
        (EVERY_DIRECTION, (0, 0), (8, 30), (1, 1.5), (0, 0)),
        (EVERY_DIRECTION, (0, 0), (2, 30), (1, 1), (0, 30)),
        (EVERY_DIRECTION, (1, 5), (2, 30), (1, 1 / 1.5), (5, 0)),
        (EVERY_DIRECTION, (1, 6), (2, 30), (1, 1), (6, 30)),
        (EVERY_DIRECTION, (1, 6), (8, 30), (1, 1.5), (6, 0)),
        (EVERY_DIRECTION, (0, 0), (7, 30), (1, 1), (0, 30)),
        (EVERY_DIRECTION, (0, 0), (3, 30), (1, 1), (0, 30)),
        (EVERY_DIRECTION, (0, 0), (29, 29), (1, 1), (0, 29)),
        (EVERY_DIRECTION, (60, 100), (2, 30), (1.5, 1.5), (0, 30)),
        (EVERY_DIRECTION, (60, 100), (8, 30), (1.5, 1.5**2), (0, 0)),
        (TESTS_ALONE, (0, 0), (16, 30), (1, 1.5), (0, 0)),
        (TESTS_ALONE, (0, 0), (5, 30), (1, 1 / 1.5), (0, 0)),
        (TESTS_ALONE, (0, 0), (15, 30), (1, 1), (0, 30)),
        (TESTS_ALONE, (60, 100), (5, 30), (1.5, 1), (0, 0)),
    ],
)
def test_a_full_window_changes_the_steps_and_begins_again(
    rule: StepRule, sphere: tuple[int, int], step: tuple[int, int], sizes: tuple[float, float], left: tuple[int, int]
) -> None:
    def window(hits: int, size: int) -> tuple[bool, ...]:
        return (True,) * hits + (False,) * (size - hits)

    found = adjusted(replace(STATE, sphere_window=window(*sphere), step_window=window(*step)), rule)
    assert (found.spherical, found.towards) == pytest.approx((0.01 * sizes[0], 0.01 * sizes[1]))
    assert (len(found.sphere_window), len(found.step_window)) == left


def test_every_tenth_step_asks_about_the_sphere_first_and_every_direction_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a step the last direction alone can be wrong."""
    monkeypatch.setattr(module, "GOAL", 0.0)
    monkeypatch.setattr(module, "STEPS", 10)
    monkeypatch.setattr(module, "_STEP_WINDOW", 1000)
    begun = BoundaryState(0, beyond(SHAPE), np.zeros(2, np.float32), 1, towards=0.3)
    _, states = walked(plane(SHAPE, 2.0), state=begun)
    assert [len(state.sphere_window) for state in states[:9]] == [0] * 9
    tried = [after.queries - before.queries for before, after in pairwise(states[:9])]
    expected = list(states[0].step_window)
    for number, (before, after) in zip(tried, pairwise(states[:9]), strict=True):
        expected += [False] * (number - 1) + [after.at is not before.at]
    assert list(states[8].step_window) == expected and 0 < sum(expected) < len(expected)
    tested = len(states[9].sphere_window)
    assert tested >= 1 and list(states[9].step_window) == expected + [False] * (tested - 1) + [
        states[9].at is not states[8].at
    ]


def test_no_result_depends_on_the_batch_or_on_the_companions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", 3)
    classify = linear(offset=4)
    others = [np.full_like(picture(0).pixels, 0), picture(9).pixels]
    found = [
        scheduled(((number, boundary(picture(number), others)) for number in order), classify, batch)
        for batch, order in ((1, (0, 1, 2)), (7, (0, 1, 2)), (64, (2, 1, 0)))
    ]
    for other in found[1:]:
        for number in range(3):
            one, two = found[0][number], other[number]
            assert (one.queries, one.chosen) == (two.queries, two.chosen)
            assert one.picture.tobytes() == two.picture.tobytes()
    assert any(result.queries > 4 for result in found[0].values())


AHEAD = [
    (lambda: 2, "a pair"),
    (lambda: 25, "all of a step"),
    (cycle((1, 7, 3)).__next__, "as many as there is room for now"),
]


@pytest.mark.parametrize(("room", "why"), AHEAD)
def test_directions_ahead_change_nothing(room: Callable[[], int], why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first wrong one counts, as if those after it had not been queried (sizes of steps and windows too)."""
    monkeypatch.setattr(module, "GOAL", 0.0)
    monkeypatch.setattr(module, "STEPS", 60)

    def some_not_finite(rows: Rows) -> Scores:
        scores = plane(SHAPE, 2.0)(rows)
        scores[rows[:, 0, 0, 0] * 1e4 % 1 > 0.8] = np.nan  # not the start, of zeros and ones
        return scores

    found = []
    for how in (lambda: 1, room):
        under_way = UnderWay()
        states: list[BoundaryState] = []

        def keep(state: BoundaryState, states: list[BoundaryState] = states, under_way: Any = under_way) -> None:
            states.append(state)
            under_way.keep(state)

        attack = approach(BIRD, GREY, [beyond(SHAPE)], STREAMS, keep=keep, room=how)
        result = alone(counted(attack, under_way), some_not_finite)
        found.append((result.picture.tobytes(), result.queries, result.bad_rows, [packed(state) for state in states]))
    assert found[0] == found[1], why
    assert found[0][1] > 70 and 0 < found[0][2] < found[0][1]


@pytest.mark.parametrize("ahead", [1, 7])
def test_the_picture_that_is_kept_was_queried(ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", 20)
    sent = set[bytes]()

    def classify(rows: Rows) -> Scores:
        sent.update(row.tobytes() for row in rows)
        return plane(SHAPE, 2.0)(rows)

    _, states = walked(classify, room=lambda: ahead)
    kept = [state.at.tobytes() for state in states]
    assert len(set(kept)) > 10 and sent.issuperset(kept)


def test_going_on_from_a_kept_state_gives_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GOAL", 1.0)
    monkeypatch.setattr(module, "STEPS", 40)
    classify = plane(SHAPE, 2.0)
    whole, states = walked(classify)
    for state in states[::8]:
        again, _ = walked(classify, state=state)
        assert (again.queries, again.chosen) == (whole.queries, whole.chosen)
        assert again.picture.tobytes() == whole.picture.tobytes()
