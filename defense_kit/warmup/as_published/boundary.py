"""The published boundary attack: that of foolbox 1.5, with one direction a batch."""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from math import sqrt

import numpy as np

from defense_kit.warmup.as_published.moves import first_move
from defense_kit.warmup.attacks import Attack, AttackedPicture, AttackResult, Bytes, Query, Rows, Scores, write_rows
from defense_kit.warmup.boundary import (
    FIRST_STEP,
    GOAL,
    MIN_STEP,
    TEST_EVERY,
    TESTS_ALONE,
    BoundaryState,
    Way,
    begun_at,
    distance,
    drawn_starts,
    ended_at,
    step_from,
    sum_of_products,
    way_from,
)
from defense_kit.warmup.streams import Streams

STEPS = 5000
CONVERGED_STEPS = 100
_MIN_STEP_AGAIN = 2e-7  # below it a step is small, once another one was


@dataclass(frozen=True, slots=True)
class PublishedBoundaryState(BoundaryState):
    """As a `BoundaryState`; `is_again`: small steps were made large, and `left` small ones are left since then."""

    is_again: bool = False
    left: int = CONVERGED_STEPS


StateKeeper = Callable[[PublishedBoundaryState], None]


def boundary(
    of: AttackedPicture,
    others: Sequence[Bytes],
    state: PublishedBoundaryState | None = None,
    keep: StateKeeper | None = None,
    steps: int | None = None,
    _room: object = None,
) -> Attack:
    """Attack a picture as the warm-up's `boundary` does, from one start, by the published end, one direction after the
    other."""
    streams = Streams("boundary", of.sha256)
    starts = drawn_starts(others, streams, 1)
    return (yield from approach(of, first_move(of, streams), starts, streams, state, keep, steps))


def approach(
    of: AttackedPicture,
    goal: Rows,
    starts: Iterable[Rows],
    streams: Streams,
    state: PublishedBoundaryState | None = None,
    keep: StateKeeper | None = None,
    steps: int | None = None,
) -> Attack:
    """Walk from the first wrong one of `starts` to a picture of any size."""
    if state is None:
        begun = yield from begun_at(of, goal, starts)
        if isinstance(begun, AttackResult):
            return begun
        state = PublishedBoundaryState(**{each.name: getattr(begun, each.name) for each in fields(begun)})
    way, draw = way_from(goal, state.at), partial(drawn_direction, streams)
    while way.length > GOAL and state.step < (STEPS if steps is None else steps):
        state = converged(state)
        if not state.left:
            break
        is_test = (state.step + 1) % TEST_EVERY == 0 or state.is_again
        step = step_from(of, way, draw, state, is_test=is_test, rule=TESTS_ALONE)
        state, way = yield from _stopped_at_goal(of, goal, state, step)
        if keep is not None:
            keep(state)
    return (yield from ended_at(way, state))


def drawn_direction(streams: Streams, way: Way, length: float, step: int, index: int) -> Rows:
    """Return a direction of this L2 length: normal values without their part towards the goal."""
    normals = streams.normals(way.offset.size, step=step, index=index).reshape(way.offset.shape)
    normals -= sum_of_products(normals, way.offset) / way.length**2 * way.offset
    normals *= length / sqrt(sum_of_products(normals, normals))
    return normals


def converged(state: PublishedBoundaryState) -> PublishedBoundaryState:
    """Return the state before a step: with large steps again where they are small for the first time, one small step
    fewer left after that, and as in the beginning where they grew on their own."""
    is_first = state.left == CONVERGED_STEPS
    if state.towards < (MIN_STEP if is_first else _MIN_STEP_AGAIN):
        if state.is_again:
            return replace(state, left=state.left - 1)
        return replace(state, is_again=True, spherical=FIRST_STEP, towards=FIRST_STEP)
    return state if is_first else replace(state, is_again=False, left=CONVERGED_STEPS)


def _stopped_at_goal(
    of: AttackedPicture,
    goal: Rows,
    state: PublishedBoundaryState,
    step: Generator[Query, Scores, tuple[PublishedBoundaryState, Way]],
) -> Generator[Query, Scores, tuple[PublishedBoundaryState, Way]]:
    """Take a step, or stop in the middle of it at a wrong picture within GOAL, and stand there."""
    queries, scores = state.queries, None  # None begins a generator
    while True:
        try:
            query = step.send(scores)  # type: ignore[arg-type]
        except StopIteration as ended:
            whole: tuple[PublishedBoundaryState, Way] = ended.value
            return whole
        rows = np.empty(query.shape, np.float32)
        write_rows(query, 0, rows)
        scores = yield rows
        queries += 1
        if of.is_wrong(scores[0]) and distance(goal, rows[0]) <= GOAL:
            after = replace(state, step=state.step + 1, at=rows[0], scores=scores[0].copy(), queries=queries)
            return after, way_from(goal, after.at)
