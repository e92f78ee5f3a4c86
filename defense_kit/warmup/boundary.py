"""The boundary attack (Brendel et al. 2017): it walks along the border of the wrong class towards the picture.

Pictures are float32, sums over their columns float64. A direction is a sign for each value (docs/decisions/0046), and
every direction tells how far a step may go (0048). What else differs from the published code is in
`as_published.DEVIATIONS`.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from defense_kit.warmup.attacks import (
    Attack,
    AttackedPicture,
    AttackResult,
    Bytes,
    MadeRows,
    Query,
    Rows,
    Scores,
    as_floats,
)
from defense_kit.warmup.spsa import first_move
from defense_kit.warmup.streams import Purpose, Streams

STEPS, DIRECTIONS = 7500, 25
GOAL = 10.0  # the L2 distance at which it ends
MAX_STARTS = 10
_FACTOR = 1.5
FIRST_STEP = 0.01
MIN_STEP = 1e-7
TEST_EVERY = 10
_SPHERE_WINDOW, _STEP_WINDOW = 100, 30
_FEW, _MANY = 0.2, 0.5

_Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class BoundaryState:
    """Where an attack stands after whole steps.

    `at` is a wrong picture, `scores` what was answered about it. `spherical` and `towards` are the sizes of the two
    parts of a step. The windows say whether the latest points were wrong: those on the sphere, which tests query, and
    the nearer ones of the directions that a StepRule counts.
    """

    step: int
    at: Rows
    scores: Scores
    queries: int
    spherical: float = FIRST_STEP
    towards: float = FIRST_STEP
    sphere_window: tuple[bool, ...] = ()
    step_window: tuple[bool, ...] = ()


StateKeeper = Callable[[BoundaryState], None]
Room = Callable[[], int]  # how many rows it may send at once
Draw = Callable[["Way", float, int, int], _Floats]  # of an L2 length, for a step and one of its directions
WalkState = TypeVar("WalkState", bound=BoundaryState)


def boundary(
    of: AttackedPicture,
    others: Sequence[Bytes],
    state: BoundaryState | None = None,
    keep: StateKeeper | None = None,
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
    starts = drawn_starts(others, streams, MAX_STARTS)
    return (yield from approach(of, first_move(of, streams), starts, streams, state, keep, steps, room))


def drawn_starts(others: Sequence[Bytes], streams: Streams, limit: int) -> Iterator[Rows]:
    """Yield so many of the other class in a drawn order, as floats."""
    order = streams.draws(Purpose.BOUNDARY_STARTS).permutation(len(others))[:limit]
    return (as_floats(others[number]) for number in order)


def approach(
    of: AttackedPicture,
    goal: Rows,
    starts: Iterable[Rows],
    streams: Streams,
    state: BoundaryState | None = None,
    keep: StateKeeper | None = None,
    steps: int | None = None,
    room: Room = lambda: 1,
) -> Attack:
    """Walk from the first wrong one of `starts` to a picture of any size, as `boundary` says."""
    begun: BoundaryState | AttackResult = state if state is not None else (yield from begun_at(of, goal, starts))
    if isinstance(begun, AttackResult):
        return begun
    state, way, draw = begun, way_from(goal, begun.at), partial(drawn_direction, streams)
    while state.step < (STEPS if steps is None else steps) and state.towards >= MIN_STEP and way.length > GOAL:
        is_test = (state.step + 1) % TEST_EVERY == 0
        state, way = yield from step_from(of, way, draw, state, room, is_test=is_test)
        if keep is not None:
            keep(state)
    return (yield from ended_at(way, state))


class Way(NamedTuple):
    """A goal; what, added to it, makes a picture; and the L2 length of that."""

    goal: _Floats
    offset: _Floats
    length: float


def way_from(goal: _Floats, at: _Floats) -> Way:
    """Return the way from the goal to a picture."""
    offset = at - goal
    return Way(goal, offset, sqrt(sum_of_products(offset, offset)))


def distance(one: _Floats, other: _Floats) -> float:
    """Return the L2 distance over all values."""
    difference = one - other
    return sqrt(sum_of_products(difference, difference))


def drawn_direction(streams: Streams, way: Way, length: float, step: int, index: int) -> _Floats:
    """Return a direction of this L2 length: each value of a picture goes as far up or down."""
    values = way.offset.size
    size = length / sqrt(values)
    signs = streams.float_signs(Purpose.BOUNDARY_DIRECTION, values, size, step=step, index=index)
    return signs.reshape(way.offset.shape)


def direction_length(way: Way, spherical: float) -> float:
    """Return the L2 length of the directions of a step."""
    return spherical * way.length / sqrt(1 + spherical * spherical)


class Candidate:
    """Where a direction of a step leads: the point on the sphere around the goal, and after `go_nearer` a nearer one.

    `offset` is what, added to the goal, makes the point. The direction's own array is overwritten with it.
    """

    def __init__(self, way: Way, direction: _Floats, length: float) -> None:
        goal, offset, radius = way
        self._way, self.offset = way, direction
        # The part of the direction along the offset is taken out. The length of the rest follows without another array.
        part = sum_of_products(direction, offset) / (radius * radius)
        sine_squared = length * length / (radius * radius) - part * part
        work = offset * (sqrt(max(0.0, 1 - sine_squared)) - part)
        direction += work
        np.maximum(direction, np.negative(goal, out=work), out=direction)
        np.minimum(direction, np.subtract(1, goal, out=work), out=direction)

    def go_nearer(self, towards: float) -> None:
        """Go to the point that is nearer than the sphere's by this part of the way."""
        radius = self._way.length
        left = sqrt(sum_of_products(self.offset, self.offset))
        self.offset *= max(0.0, 1 - max(0.0, towards * radius + left - radius) / left)  # never beyond the goal

    def write(self, out: _Floats) -> None:
        """Write the point's picture: its values are from 0 to 1."""
        np.add(self._way.goal, self.offset, out=out)


def sum_of_products(one: _Floats, other: _Floats) -> float:
    """Return the sum over all values: of each column in its own precision, of all columns in float64.

    Without BLAS, whose sums change with its threads, which spin while they wait.
    """
    rows = len(one)
    columns = np.einsum("ij,ij->j", one.reshape(rows, -1), other.reshape(rows, -1))
    return float(columns.sum(dtype=np.float64))


class StepRule(NamedTuple):
    """What the second window counts, and between which rates of it the step towards the goal stays as it is.

    It counts every direction, or those directions of tests whose point on the sphere is wrong.
    """

    few: float
    many: float
    every_direction: bool


EVERY_DIRECTION = StepRule(0.1, 0.25, every_direction=True)
TESTS_ALONE = StepRule(_FEW, _MANY, every_direction=False)


def adjusted(state: WalkState, rule: StepRule = EVERY_DIRECTION) -> WalkState:
    """Return the state with steps that fit how often the latest directions led to a wrong picture."""
    if len(state.sphere_window) == _SPHERE_WINDOW and (factor := _change(state.sphere_window, _FEW, _MANY)) != 1:
        state = replace(state, spherical=state.spherical * factor, towards=state.towards * factor, sphere_window=())
    if len(state.step_window) == _STEP_WINDOW:
        factor = _change(state.step_window, rule.few, rule.many)
        may_shrink = not rule.every_direction or _is_often_wrong_on_sphere(state)
        if factor > 1 or (factor < 1 and may_shrink):
            state = replace(state, towards=state.towards * factor, step_window=())
    return state


def _is_often_wrong_on_sphere(state: BoundaryState) -> bool:
    """Say whether enough points on the sphere are wrong, as far as is known: where they are not, the step on the sphere
    is too long, and no shorter step towards the goal helps."""
    return bool(state.sphere_window) and sum(state.sphere_window) >= _FEW * len(state.sphere_window)


def _change(window: tuple[bool, ...], few: float, many: float) -> float:
    rate = sum(window) / len(window)
    return _FACTOR if rate > many else 1 / _FACTOR if rate < few else 1.0


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


class _Directions(MadeRows):
    """Where some directions of a step lead: the points on the sphere, or those a step nearer to the goal, `nearer`."""

    def __init__(self, way: Way, draw: Draw, state: BoundaryState, indices: Sequence[int], *, on_sphere: bool) -> None:
        super().__init__((len(indices), *state.at.shape))
        self.is_ahead = len(indices) > 1
        self._way, self._draw, self._state, self._indices = way, draw, state, indices
        self._on_sphere = on_sphere
        self.nearer: dict[int, Candidate] = {}

    def write(self, first: int, out: Rows) -> None:
        """Write the rows from number `first` on, and keep the nearer points."""
        way, state = self._way, self._state
        length = direction_length(way, state.spherical)
        for number, row in enumerate(out, first):
            direction = self._draw(way, length, state.step, self._indices[number])
            found = Candidate(way, direction, length)
            if self._on_sphere:
                found.write(row)
            found.go_nearer(state.towards)
            if not self._on_sphere:
                found.write(row)
            self.nearer[number] = found


class _NearerPoints(MadeRows):
    """The nearer points of the directions whose point on the sphere was wrong."""

    def __init__(self, of: _Directions, numbers: Sequence[int]) -> None:
        super().__init__((len(numbers), *of.shape[1:]))
        self.is_ahead = of.is_ahead
        self._nearer, self._numbers = of.nearer, numbers

    def write(self, first: int, out: Rows) -> None:
        """Write the rows from number `first` on."""
        for row, number in zip(out, self._numbers[first : first + len(out)], strict=True):
            self._nearer[number].write(row)


def step_from(
    of: AttackedPicture,
    way: Way,
    draw: Draw,
    state: WalkState,
    room: Room = lambda: 1,
    *,
    is_test: bool,
    rule: StepRule = EVERY_DIRECTION,
) -> Generator[Query, Scores, tuple[WalkState, Way]]:
    """Try directions until one leads to a wrong picture, and stand there where it is nearer; return the way to there
    as well.

    A test queries the points on the sphere first, for the first window.
    """
    state, index, wrong = replace(state, step=state.step + 1), 0, None
    try_some = _test_some if is_test else _try_some
    while index < DIRECTIONS and wrong is None:
        indices = range(index, min(index + room(), DIRECTIONS))
        found = _Directions(way, draw, state, indices, on_sphere=is_test)
        state, wrong, tested = yield from try_some(of, found, state)
        counted = (*[False] * (found.used - 1), wrong is not None) if rule.every_direction else tested
        state = replace(state, step_window=(*state.step_window, *counted)[-_STEP_WINDOW:])
        found.nearer.clear()  # it may be held until the step is over
        index = indices.stop
    if wrong is not None and (nearer := way_from(way.goal, wrong.picture)).length < way.length:
        state, way = replace(state, at=wrong.picture, scores=wrong.scores), nearer
    return adjusted(state, rule), way


class _WrongPicture(NamedTuple):
    """A picture that a direction led to, with its scores."""

    picture: Rows
    scores: Scores


Tried = Generator[Query, Scores, tuple[WalkState, _WrongPicture | None, Sequence[bool]]]


def _wrong_picture(found: Candidate, scores: Scores) -> _WrongPicture:
    """Return the picture as it was sent."""
    found.write(picture := np.empty(found.offset.shape, np.float32))
    return _WrongPicture(picture, scores.copy())


def _try_some(of: AttackedPicture, found: _Directions, state: WalkState) -> Tried[WalkState]:
    """Query some directions; return the state, the first wrong picture, and nothing that was tested."""
    scores, wrong = (yield found), None
    if (first := _first_wrong(of, scores)) is not None:
        found.used = first + 1
        wrong = _wrong_picture(found.nearer[first], scores[first])
    return replace(state, queries=state.queries + found.used), wrong, ()


def _test_some(of: AttackedPicture, found: _Directions, state: WalkState) -> Tried[WalkState]:
    """Query the points on the sphere, and from those that are wrong a step nearer; return also whether these are."""
    scores, wrong, tested = (yield found), None, list[bool]()
    on_sphere = [of.is_wrong(each) for each in scores]
    if numbers := [number for number, is_wrong in enumerate(on_sphere) if is_wrong]:
        nearer = _NearerPoints(found, numbers)
        scores = yield nearer
        if (first := _first_wrong(of, scores)) is not None:
            nearer.used, found.used = first + 1, numbers[first] + 1
            wrong = _wrong_picture(found.nearer[numbers[first]], scores[first])
        tested = [of.is_wrong(each) for each in scores[: nearer.used]]
    window = (*state.sphere_window, *on_sphere[: found.used])[-_SPHERE_WINDOW:]
    queries = state.queries + found.used + len(tested)
    return replace(state, queries=queries, sphere_window=window), wrong, tested


def _first_wrong(of: AttackedPicture, scores: Scores) -> int | None:
    """Return the number of the first wrong row, if there is one."""
    return next((number for number, each in enumerate(scores) if of.is_wrong(each)), None)


def ended_at(way: Way, state: BoundaryState) -> Attack:
    """Return where the walk ended, or the point at the goal's distance on the way there."""
    chosen = {"steps": state.step}
    if way.length <= GOAL:
        return AttackResult(state.at, state.scores, state.queries, chosen)
    cut = (way.goal + GOAL / way.length * way.offset).astype(np.float32)
    scores = (yield cut[np.newaxis])[0].copy()
    return AttackResult(cut, scores, state.queries + 1, {**chosen, "distance": way.length})
