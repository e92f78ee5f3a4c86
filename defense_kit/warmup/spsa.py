"""The SPSA attack (simultaneous perturbation stochastic approximation, Uesato et al. 2018).

Adam on a gradient that is estimated from pairs of probes, within 16/255 of the picture. The state is
float32; sums over the pairs are float64, in the order of the pairs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from defense_kit.warmup.attacks import Attack, AttackedPicture, AttackResult, MadeRows, Rows, as_floats
from defense_kit.warmup.moves import bordered, moved
from defense_kit.warmup.streams import Purpose, Streams

SIDE_INSIDE = 184  # a black border of 20 pixels
MAX_SHIFT_PX, MAX_ANGLE_DEGREES = 18, 30

EPSILON = np.float32(16 / 255)
STEPS, PAIRS = 200, 32
DELTA = np.float32(0.01)
_RATE, _BETA_1, _BETA_2, _EPSILON_ADAM = 0.01, 0.9, 0.999, 1e-8
_MAX_SLOPE = 1e18
LOSS_THAT_ENDS = -1.0  # a loss below it ends the attack


def first_move(of: AttackedPicture, streams: Streams) -> Rows:
    """Return the randomly moved picture that SPSA and the boundary attack begin from."""
    return as_floats(moved(bordered(of.pixels, SIDE_INSIDE), *drawn_move(streams)))


def drawn_move(streams: Streams) -> tuple[float, float, float]:
    """Return the degrees, dx and dy of the first move."""
    draws = streams.draws(Purpose.MOVE)
    dx, dy = draws.uniform(-MAX_SHIFT_PX, MAX_SHIFT_PX, 2)
    return float(draws.uniform(-MAX_ANGLE_DEGREES, MAX_ANGLE_DEGREES)), float(dx), float(dy)


@dataclass(frozen=True, slots=True)
class SpsaState:
    """Where an attack stands after whole steps: what it adds to the picture, Adam's moments, and the best so far.

    `loss` is the true class over the other; `flat` counts steps whose probes all answered the same.
    """

    step: int
    added: Rows
    mean: Rows
    square: Rows
    loss: float
    best: Rows
    best_scores: NDArray[np.float32]
    best_loss: float
    best_step: int
    queries: int
    flat: int = 0


StateKeeper = Callable[[SpsaState], None]


def spsa(
    of: AttackedPicture, state: SpsaState | None = None, keep: StateKeeper | None = None, steps: int | None = None
) -> Attack:
    """Attack a picture, from the start or from a kept state; `keep` is called with the state after each step, and
    there are STEPS of them at most where `steps` does not say how many.

    It stops as soon as the picture just queried is wrong enough, and returns the worst one that was queried.
    """
    streams = Streams("spsa", of.sha256)
    return (yield from descend(of, first_move(of, streams), streams, state, keep, steps))


def descend(
    of: AttackedPicture,
    start: Rows,
    streams: Streams,
    state: SpsaState | None = None,
    keep: StateKeeper | None = None,
    steps: int | None = None,
) -> Attack:
    """Lower the loss from a picture of any size, as `spsa` says."""
    if state is None:
        added = drawn_start(start, streams)
        scores = yield (start + added)[np.newaxis]
        loss, nothing = loss_of(of, scores), np.zeros_like(start)
        state = SpsaState(0, added, nothing, nothing, loss, added, scores[0].copy(), loss, 0, 1)
    while state.loss >= LOSS_THAT_ENDS and state.step < (STEPS if steps is None else steps):
        signs = drawn_signs(start, streams, step=state.step + 1)
        scores = yield Probes(start + state.added, signs)
        slopes, is_flat = slopes_of(of, scores)
        state = stepped(state, start, gradient(slopes, signs), is_flat)
        scores = yield (start + state.added)[np.newaxis]
        state = _judged(state, loss_of(of, scores), scores[0])
        if keep is not None:
            keep(state)
    chosen = {"best_step": state.best_step, "steps": state.step, "flat_steps": state.flat}
    return AttackResult(start + state.best, state.best_scores, state.queries, chosen)


def drawn_start(start: Rows, streams: Streams) -> Rows:
    """Return what is added to a picture before the first step."""
    drawn = streams.draws(Purpose.RANDOM_START).uniform(-EPSILON, EPSILON, start.shape).astype(np.float32)
    return within(start, drawn)


def drawn_signs(start: Rows, streams: Streams, *, step: int) -> list[NDArray[np.int8]]:
    """Return the signs of each pair of a step, in the shape of the picture."""
    return [
        streams.signs(Purpose.SPSA_SIGNS, start.size, step=step, index=pair).reshape(start.shape)
        for pair in range(PAIRS)
    ]


def within(start: Rows, added: Rows) -> Rows:
    """Return what may be added to a picture: at most EPSILON for each value, and the sum within 0 to 1."""
    return np.clip(start + np.clip(added, -EPSILON, EPSILON), 0, 1) - start


class Probes(MadeRows):
    """The pairs around a picture, within 0 to 1: all that add DELTA times the signs, then all that take it away."""

    def __init__(self, at: Rows, signs: Sequence[NDArray[np.int8]]) -> None:
        super().__init__((2 * len(signs), *at.shape))
        self._signs = signs
        above, below = (np.clip(at + step, 0, 1).view(np.int32) for step in (DELTA, -DELTA))
        self._sides, self._differing = (above, below), above ^ below

    def write(self, first: int, out: Rows) -> None:
        """Write the rows from number `first` on: the bits of one side, and of the other one where the sign is -1."""
        for number, row in enumerate(out, first):
            side, pair = divmod(number, len(self._signs))
            bits = row.view(np.int32)
            np.right_shift(self._signs[pair], 1, out=bits)  # all bits for -1, none for +1
            bits &= self._differing
            bits ^= self._sides[side]


def gradient(slopes: NDArray[np.float64], signs: list[NDArray[np.int8]]) -> NDArray[np.float64]:
    """Return the estimated gradient of the loss from each pair's difference over 2 DELTA."""
    total = np.zeros(signs[0].shape, np.float64)
    for slope, sign in zip(slopes, signs, strict=True):
        total += slope * sign
    return total / len(signs)


def loss_of(of: AttackedPicture, scores: NDArray[np.float32]) -> float:
    """Return the true class over the other in the first row; +inf where that is not finite."""
    return -float(of.margins(scores)[0])


def slopes_of(of: AttackedPicture, scores: NDArray[np.float32]) -> tuple[NDArray[np.float64], bool]:
    """Return the slope of each pair, 0 for one with a row that is not finite, and whether all probes are alike."""
    losses = -of.margins(scores)
    with np.errstate(invalid="ignore"):
        slopes = (losses[:PAIRS] - losses[PAIRS:]) / (2 * float(DELTA))
    return np.where(np.isfinite(slopes), slopes, 0.0), bool(np.isfinite(losses[0]) and (losses == losses[0]).all())


def stepped(
    state: SpsaState, start: Rows, estimate: NDArray[np.float64], is_flat: bool, epsilon: float = _EPSILON_ADAM
) -> SpsaState:
    """Return the state after one step of Adam against the gradient, bounded so that its square is a float32."""
    estimate = np.clip(estimate, -_MAX_SLOPE, _MAX_SLOPE)
    step = state.step + 1
    mean = (_BETA_1 * state.mean + (1 - _BETA_1) * estimate).astype(np.float32)
    square = (_BETA_2 * state.square + (1 - _BETA_2) * estimate * estimate).astype(np.float32)
    size = np.sqrt(square / (1 - _BETA_2**step)) + epsilon
    added = within(start, (state.added - _RATE * (mean / (1 - _BETA_1**step)) / size).astype(np.float32))
    queries = state.queries + 2 * PAIRS
    return replace(state, step=step, added=added, mean=mean, square=square, queries=queries, flat=state.flat + is_flat)


def _judged(state: SpsaState, loss: float, scores: NDArray[np.float32]) -> SpsaState:
    """Return the state with what was answered about the picture that it stands at."""
    state = replace(state, loss=loss, queries=state.queries + 1)
    if loss >= state.best_loss:
        return state
    return replace(state, best=state.added, best_scores=scores.copy(), best_loss=loss, best_step=state.step)
