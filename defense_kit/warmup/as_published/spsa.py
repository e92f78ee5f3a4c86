"""The published SPSA: that of CleverHans 2.1.0, with its 64 samples a step taken as 32 pairs."""

from dataclasses import replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from defense_kit.warmup.as_published.moves import first_move
from defense_kit.warmup.attacks import Attack, AttackedPicture, AttackResult, Rows
from defense_kit.warmup.spsa import (
    DELTA,
    LOSS_THAT_ENDS,
    STEPS,
    SpsaState,
    StateKeeper,
    drawn_signs,
    drawn_start,
    gradient,
    loss_of,
    slopes_of,
    stepped,
)
from defense_kit.warmup.streams import Streams

_EPSILON_ADAM = 1e-9


def spsa(
    of: AttackedPicture, state: SpsaState | None = None, keep: StateKeeper | None = None, steps: int | None = None
) -> Attack:
    """Attack a picture as the warm-up's `spsa` does, by the published step, stop and choice."""
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
    """Lower the loss from a picture of any size. `loss` of a state is that of the picture before its step, and its best
    picture is not used."""
    if state is None:
        added, nothing = drawn_start(start, streams), np.zeros_like(start)
        state = SpsaState(0, added, nothing, nothing, inf, added, np.zeros(2, np.float32), inf, 0, 0)
    while state.loss >= LOSS_THAT_ENDS and state.step < (STEPS if steps is None else steps):
        signs = drawn_signs(start, streams, step=state.step + 1)
        scores = yield probes(start + state.added, signs)
        slopes, is_flat = slopes_of(of, scores[:-1])
        state = stepped(state, start, DELTA * gradient(slopes, signs), is_flat, _EPSILON_ADAM)
        state = replace(state, loss=loss_of(of, scores[-1:]), queries=state.queries + 1)
        if keep is not None:
            keep(state)
    found = start + state.added
    scores = yield found[np.newaxis]
    chosen = {"best_step": state.step, "steps": state.step, "flat_steps": state.flat}
    return AttackResult(found, scores[0].copy(), state.queries + 1, chosen)


def probes(at: Rows, signs: list[NDArray[np.int8]]) -> Rows:
    """Return the pairs around a picture, which may leave 0 to 1, and the picture itself: [2 * pairs + 1, ...]."""
    rows = np.empty((2 * len(signs) + 1, *at.shape), np.float32)
    for sign, above, below in zip(signs, rows, rows[len(signs) :], strict=False):
        step = sign * DELTA
        np.add(at, step, out=above)
        np.subtract(at, step, out=below)
    rows[-1] = at
    return rows
