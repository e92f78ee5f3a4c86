"""The boundary attack (Brendel et al. 2017): it walks along the border of the wrong class towards the picture.

Pictures are float32, sums over their rows float64. A direction is a sign for each value, where the original draws
normal values: docs/decisions/0046.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod, sqrt
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from defense_kit.warmup.attacks import Attack, AttackedPicture, AttackResult, MadeRows, Query, Rows, Scores, as_floats
from defense_kit.warmup.moves import Bytes
from defense_kit.warmup.spsa import first_move
from defense_kit.warmup.streams import Purpose, Streams

STEPS, DIRECTIONS = 5000, 25
GOAL = 10.0  # the L2 distance at which it ends
MOST_STARTS = 10
_FACTOR = 1.5
FIRST_STEP = 0.01
LEAST_STEP = 1e-7
TEST_EVERY = 10
_SPHERE_WINDOW, _STEP_WINDOW = 100, 30
_MANY, _FEW = 0.5, 0.2

_Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class BoundaryState:
    """Where an attack stands after whole steps.

    `at` is a wrong picture, `scores` what was answered about it. `spherical` and `towards` are the sizes of the two
    parts of a step, and the windows tell of the latest tests whether the picture was wrong still.
    """

    step: int
    at: Rows
    scores: Scores
    queries: int
    spherical: float = FIRST_STEP
    towards: float = FIRST_STEP
    sphere_window: tuple[bool, ...] = ()
    step_window: tuple[bool, ...] = ()


Kept = Callable[[BoundaryState], None]
Room = Callable[[], int]  # how many rows it may send at once
Draw = Callable[[int, int], "Direction"]  # of a step, and of one of its directions
WalkState = TypeVar("WalkState", bound=BoundaryState)


def boundary(
    of: AttackedPicture,
    others: Sequence[Bytes],
    state: BoundaryState | None = None,
    keep: Kept | None = None,
    steps: int | None = None,
    room: Room = lambda: 1,
) -> Attack:
    """Attack a picture; `others` are the clean pictures of the other class, uint8 [224, 224, 3], in the order
    of the set.

    `keep` is called with the state after each step; there are STEPS at most where `steps` does not say how many. Where
    there is room, it queries directions ahead, of which the first ones count, as if it had queried one at a time.
    Returns a picture within GOAL of the moved one: where the walk ends farther away, the point at that distance on
    the way, which mostly is not wrong.
    """
    streams = Streams("boundary", of.sha256)
    starts = drawn_starts(others, streams, MOST_STARTS)
    result = yield from approach(of, first_move(of, streams), starts, streams, state, keep, steps, room)
    return result


def drawn_starts(others: Sequence[Bytes], streams: Streams, most: int) -> Iterator[Rows]:
    """Yield so many of the other class in a drawn order, as floats."""
    order = streams.draws(Purpose.BOUNDARY_STARTS).permutation(len(others))[:most]
    return (as_floats(others[number]) for number in order)


def approach(
    of: AttackedPicture,
    goal: Rows,
    starts: Iterable[Rows],
    streams: Streams,
    state: BoundaryState | None = None,
    keep: Kept | None = None,
    steps: int | None = None,
    room: Room = lambda: 1,
) -> Attack:
    """Walk from the first wrong one of `starts` to a picture of any size, as `boundary` says."""
    begun: BoundaryState | AttackResult = state if state is not None else (yield from begun_at(of, goal, starts))
    if isinstance(begun, AttackResult):
        return begun
    state, way, draw = begun, way_to(goal, begun.at), partial(drawn_direction, streams, goal.shape)
    while not _is_over(state, way, STEPS if steps is None else steps):
        before = state.at
        state = yield from step_from(of, way, draw, state, room, is_test=(state.step + 1) % TEST_EVERY == 0)
        if state.at is not before:
            way = way_to(goal, state.at)
        if keep is not None:
            keep(state)
    result = yield from ended_at(way, state)
    return result


class Direction(NamedTuple):
    """A value for each of a picture, and the sum of their squares."""

    values: _Floats
    square: float


def drawn_direction(streams: Streams, shape: tuple[int, ...], step: int, index: int) -> Direction:
    """Return a sign for each value of a picture."""
    many = prod(shape)
    signs = streams.float_signs(Purpose.BOUNDARY_DIRECTION, many, step=step, index=index)
    return Direction(signs.reshape(shape), float(many))


class Way(NamedTuple):
    """A goal, the difference from a picture to it, and the L2 length of that."""

    goal: _Floats
    difference: _Floats
    length: float


def way_to(goal: _Floats, at: _Floats) -> Way:
    """Return the way from a picture to the goal."""
    difference = goal - at
    return Way(goal, difference, sqrt(sum_of_products(difference, difference)))


def distance(one: _Floats, other: _Floats) -> float:
    """Return the L2 distance over all values."""
    return way_to(one, other).length


def candidate(way: Way, direction: Direction, spherical: float, towards: float) -> tuple[_Floats, _Floats]:
    """Return the point on the sphere around the goal, and the one a step nearer to the goal from there."""
    goal, difference, radius = way
    # The tangent is the direction less `along` differences; its length follows from both without another array.
    dot = sum_of_products(direction.values, difference)
    along = dot / (radius * radius)
    size = spherical * radius / sqrt(direction.square - along * dot)
    shrunk = sqrt(1 + spherical * spherical)
    # sphere = goal + (size * tangent - difference) / shrunk
    sphere = np.multiply(direction.values, size / shrunk, dtype=difference.dtype)
    sphere -= (work := difference * ((1 + size * along) / shrunk))
    sphere += goal
    np.clip(sphere, 0, 1, out=sphere)
    nearer = np.subtract(goal, sphere, out=work)
    left = sqrt(sum_of_products(nearer, nearer))
    nearer *= max(0.0, towards * radius + left - radius) / left
    nearer += sphere
    return sphere, np.clip(nearer, 0, 1, out=nearer)


def sum_of_products(one: _Floats, other: _Floats) -> float:
    """Return the sum: of each row of a picture in its own precision, of all rows in float64.

    Without BLAS, whose sums change with its threads, which spin while they wait.
    """
    products = one * other
    return float(products.reshape(len(products), -1).sum(axis=1).sum(dtype=np.float64))


def adjusted(state: WalkState) -> WalkState:
    """Return the state with steps that fit how often the latest tests found the picture wrong."""
    if len(state.sphere_window) == _SPHERE_WINDOW and (factor := _change(state.sphere_window)) != 1:
        state = replace(state, spherical=state.spherical * factor, towards=state.towards * factor, sphere_window=())
    if len(state.step_window) == _STEP_WINDOW and (factor := _change(state.step_window)) != 1:
        state = replace(state, towards=state.towards * factor, step_window=())
    return state


def _change(window: tuple[bool, ...]) -> float:
    rate = sum(window) / len(window)
    return _FACTOR if rate > _MANY else 1 / _FACTOR if rate < _FEW else 1.0


def begun_at(
    of: AttackedPicture, goal: Rows, starts: Iterable[Rows]
) -> Generator[Query, Scores, "BoundaryState | AttackResult"]:
    """Return the state at the first wrong start; the result where the goal is wrong, or no start is."""
    clean = (yield goal[np.newaxis])[0].copy()
    if of.is_wrong(clean):
        return AttackResult(goal, clean, 1, {"steps": 0})
    number = 1
    for number, start in enumerate(starts, 2):
        scores = (yield start[np.newaxis])[0].copy()
        if of.is_wrong(scores):
            return BoundaryState(0, start, scores, number)
    return AttackResult(goal, clean, number, {"steps": 0, "no_start": True})


def _is_over(state: BoundaryState, way: Way, steps: int) -> bool:
    return state.step >= steps or state.towards < LEAST_STEP or way.length <= GOAL


class _Directions(MadeRows):
    """Where some directions of a step lead: the points on the sphere, or those a step nearer to the goal, `nearer`."""

    def __init__(self, way: Way, draw: Draw, state: BoundaryState, indices: Sequence[int], *, on_sphere: bool) -> None:
        super().__init__((len(indices), *state.at.shape))
        self.is_ahead = len(indices) > 1
        self._way, self._draw, self._state, self._indices = way, draw, state, indices
        self._on_sphere = on_sphere
        self.nearer: dict[int, Rows] = {}

    def write(self, first: int, out: Rows) -> None:
        """Write the rows from number `first` on, and keep the nearer points."""
        state = self._state
        for number, row in enumerate(out, first):
            direction = self._draw(state.step, self._indices[number])
            sphere, nearer = candidate(self._way, direction, state.spherical, state.towards)
            row[:] = sphere if self._on_sphere else nearer
            self.nearer[number] = nearer


class _NearerPoints(MadeRows):
    """The nearer points of the directions whose point on the sphere was wrong."""

    def __init__(self, of: _Directions, numbers: Sequence[int]) -> None:
        super().__init__((len(numbers), *of.shape[1:]))
        self.is_ahead = of.is_ahead
        self._nearer, self._numbers = of.nearer, numbers

    def write(self, first: int, out: Rows) -> None:
        """Write the rows from number `first` on."""
        for row, number in zip(out, self._numbers[first : first + len(out)], strict=True):
            row[:] = self._nearer[number]


def step_from(
    of: AttackedPicture, way: Way, draw: Draw, state: WalkState, room: Room = lambda: 1, *, is_test: bool
) -> Generator[Query, Scores, WalkState]:
    """Try directions until one leads to a wrong picture, and stand there where it is nearer.

    A test queries the points on the sphere first, and fills the windows.
    """
    state, index, is_over = replace(state, step=state.step + 1), 0, False
    try_some = _test_some if is_test else _try_some
    while index < DIRECTIONS and not is_over:
        indices = range(index, min(index + room(), DIRECTIONS))
        found = _Directions(way, draw, state, indices, on_sphere=is_test)
        state, is_over = yield from try_some(of, way, found, state)
        found.nearer.clear()  # it may be held until the step is over
        index = indices.stop
    return adjusted(state)


def _try_some(
    of: AttackedPicture, way: Way, found: _Directions, state: WalkState
) -> Generator[Query, Scores, tuple[WalkState, bool]]:
    """Query some directions; return the state, and whether one led to a wrong picture."""
    scores = yield found
    wrong = [of.is_wrong(each) for each in scores]
    if any(wrong):
        first = wrong.index(True)
        found.used = first + 1
        state = _moved(way, state, found.nearer[first], scores[first])
    return replace(state, queries=state.queries + found.used), any(wrong)


def _test_some(
    of: AttackedPicture, way: Way, found: _Directions, state: WalkState
) -> Generator[Query, Scores, tuple[WalkState, bool]]:
    """Query the points on the sphere, and from those that are wrong a step nearer, for both windows as well."""
    scores = yield found
    on_sphere = [of.is_wrong(each) for each in scores]
    numbers, wrong = [number for number, is_wrong in enumerate(on_sphere) if is_wrong], list[bool]()
    if numbers:
        nearer = _NearerPoints(found, numbers)
        scores = yield nearer
        wrong = [of.is_wrong(each) for each in scores]
        if any(wrong):
            first = wrong.index(True)
            nearer.used, found.used = first + 1, numbers[first] + 1
            state = _moved(way, state, found.nearer[numbers[first]], scores[first])
        tested = (*state.step_window, *wrong[: nearer.used])[-_STEP_WINDOW:]
        state = replace(state, queries=state.queries + nearer.used, step_window=tested)
    tested = (*state.sphere_window, *on_sphere[: found.used])[-_SPHERE_WINDOW:]
    return replace(state, queries=state.queries + found.used, sphere_window=tested), any(wrong)


def _moved(way: Way, state: WalkState, at: Rows, scores: Scores) -> WalkState:
    """Return the state at a wrong picture, where that is nearer."""
    return replace(state, at=at, scores=scores.copy()) if distance(way.goal, at) < way.length else state


def ended_at(way: Way, state: BoundaryState) -> Attack:
    """Return where the walk ended, or the point at the goal's distance on the way there."""
    chosen = {"steps": state.step}
    if way.length <= GOAL:
        return AttackResult(state.at, state.scores, state.queries, chosen)
    cut = (way.goal - GOAL / way.length * way.difference).astype(np.float32)
    scores = (yield cut[np.newaxis])[0].copy()
    return AttackResult(cut, scores, state.queries + 1, {**chosen, "distance": way.length})
