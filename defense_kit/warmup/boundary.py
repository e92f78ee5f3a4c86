"""The boundary attack (Brendel et al. 2017): it walks along the border of the wrong class towards the picture.

Geometry is float64; what is asked about, and kept, is float32.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from defense_kit.warmup.attacks import Attack, AttackedPicture, AttackResult, Rows, Scores, as_floats
from defense_kit.warmup.moves import Bytes
from defense_kit.warmup.spsa import first_move
from defense_kit.warmup.streams import Purpose, Streams

STEPS, DIRECTIONS = 5000, 25
GOAL = 10.0  # the L2 distance at which it ends
MOST_STARTS = 10
_FACTOR = 1.5
_FIRST_STEP = 0.01
_LEAST_STEP = 1e-7
_TEST_EVERY = 10
_SPHERE_WINDOW, _STEP_WINDOW = 100, 30
_MANY, _FEW = 0.5, 0.2

_Floats = NDArray[np.float64]


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
    spherical: float = _FIRST_STEP
    towards: float = _FIRST_STEP
    sphere_window: tuple[bool, ...] = ()
    step_window: tuple[bool, ...] = ()


Kept = Callable[[BoundaryState], None]


def boundary(
    of: AttackedPicture, others: Sequence[Bytes], state: BoundaryState | None = None, keep: Kept | None = None
) -> Attack:
    """Attack a picture; `others` are the clean pictures of the other class, uint8 [224, 224, 3], ascending by SHA-256.

    Returns a picture within GOAL of the moved one: where the walk ends farther away, the point at that distance on
    the way, which mostly is not wrong.
    """
    streams = Streams("boundary", of.sha256)
    order = streams.draws(Purpose.BOUNDARY_STARTS).permutation(len(others))[:MOST_STARTS]
    starts = (as_floats(others[number]) for number in order)
    result = yield from approach(of, first_move(of, streams), starts, streams, state, keep)
    return result


def approach(
    of: AttackedPicture,
    goal: Rows,
    starts: Iterable[Rows],
    streams: Streams,
    state: BoundaryState | None = None,
    keep: Kept | None = None,
) -> Attack:
    """Walk from the first wrong one of `starts` to a picture of any size, as `boundary` says."""
    begun: BoundaryState | AttackResult = state if state is not None else (yield from _begun(of, goal, starts))
    if isinstance(begun, AttackResult):
        return begun
    state = begun
    while not _is_over(state, goal):
        state = yield from _step(of, goal, streams, state)
        if keep is not None:
            keep(state)
    result = yield from _ended(goal, state)
    return result


def distance(one: NDArray[np.floating], other: NDArray[np.floating]) -> float:
    """Return the L2 distance over all values."""
    return float(np.linalg.norm((one.astype(np.float64) - other).reshape(-1)))


def candidate(
    goal: _Floats, at: _Floats, direction: _Floats, spherical: float, towards: float
) -> tuple[_Floats, _Floats]:
    """Return the point on the sphere around the goal, and the one a step nearer to the goal from there."""
    away = goal - at
    radius = float(np.linalg.norm(away))
    unit = away / radius
    tangent = direction - float((direction * unit).sum()) * unit
    tangent *= spherical * radius / float(np.linalg.norm(tangent))
    sphere = np.clip(goal + (tangent - away) / np.sqrt(1 + spherical * spherical), 0, 1)
    left = float(np.linalg.norm(goal - sphere))
    share = max(0.0, towards * radius + left - radius) / left
    return sphere, np.clip(sphere + share * (goal - sphere), 0, 1)


def adjusted(state: BoundaryState) -> BoundaryState:
    """Return the state with steps that fit how often the latest tests found the picture wrong."""
    if len(state.sphere_window) == _SPHERE_WINDOW and (factor := _change(state.sphere_window)) != 1:
        state = replace(state, spherical=state.spherical * factor, towards=state.towards * factor, sphere_window=())
    if len(state.step_window) == _STEP_WINDOW and (factor := _change(state.step_window)) != 1:
        state = replace(state, towards=state.towards * factor, step_window=())
    return state


def _change(window: tuple[bool, ...]) -> float:
    rate = sum(window) / len(window)
    return _FACTOR if rate > _MANY else 1 / _FACTOR if rate < _FEW else 1.0


def _begun(
    of: AttackedPicture, goal: Rows, starts: Iterable[Rows]
) -> Generator[Rows, Scores, "BoundaryState | AttackResult"]:
    """Return the state at the first wrong start; the result where the goal is wrong, or no start is."""
    clean = (yield goal[np.newaxis])[0].copy()
    if _is_wrong(of, clean):
        return AttackResult(goal, clean, 1, {"steps": 0})
    number = 1
    for number, start in enumerate(starts, 2):
        scores = (yield start[np.newaxis])[0].copy()
        if _is_wrong(of, scores):
            return BoundaryState(0, start, scores, number)
    return AttackResult(goal, clean, number, {"steps": 0, "no_start": True})


def _is_wrong(of: AttackedPicture, scores: Scores) -> bool:
    return bool(of.margins(scores[np.newaxis])[0] >= 0)  # -inf where it is not finite


def _is_over(state: BoundaryState, goal: Rows) -> bool:
    return state.step >= STEPS or state.towards < _LEAST_STEP or distance(goal, state.at) <= GOAL


def _step(
    of: AttackedPicture, goal: Rows, streams: Streams, state: BoundaryState
) -> Generator[Rows, Scores, BoundaryState]:
    """Try directions until one leads to a wrong picture, and stand there where it is nearer."""
    step, wide, at = state.step + 1, goal.astype(np.float64), state.at.astype(np.float64)
    is_test = step % _TEST_EVERY == 0
    state = replace(state, step=step)
    for index in range(DIRECTIONS):
        direction = streams.normals(goal.size, step=step, index=index).reshape(goal.shape).astype(np.float64)
        sphere, nearer = candidate(wide, at, direction, state.spherical, state.towards)
        if is_test:
            scores = (yield sphere.astype(np.float32)[np.newaxis])[0]
            on_sphere = _is_wrong(of, scores)
            window = (*state.sphere_window, on_sphere)[-_SPHERE_WINDOW:]
            state = replace(state, queries=state.queries + 1, sphere_window=window)
            if not on_sphere:
                continue
        tried = nearer.astype(np.float32)
        scores = (yield tried[np.newaxis])[0].copy()
        state = replace(state, queries=state.queries + 1)
        if is_test:
            state = replace(state, step_window=(*state.step_window, _is_wrong(of, scores))[-_STEP_WINDOW:])
        if _is_wrong(of, scores):
            if distance(goal, tried) < distance(goal, state.at):
                state = replace(state, at=tried, scores=scores)
            break
    return adjusted(state)


def _ended(goal: Rows, state: BoundaryState) -> Attack:
    """Return where the walk ended, or the point at the goal's distance on the way there."""
    far, chosen = distance(goal, state.at), {"steps": state.step}
    if far <= GOAL:
        return AttackResult(state.at, state.scores, state.queries, chosen)
    cut = (goal + GOAL * (state.at.astype(np.float64) - goal) / far).astype(np.float32)
    scores = (yield cut[np.newaxis])[0].copy()
    return AttackResult(cut, scores, state.queries + 1, {**chosen, "distance": far})
