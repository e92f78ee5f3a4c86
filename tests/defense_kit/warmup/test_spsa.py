"""SPSA: the estimate on linear models, Adam's step, the bounds, where it stops, and going on from a kept state."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from defense_kit.warmup import spsa as module
from defense_kit.warmup.attacks import AttackedPicture, AttackResult, Rows, Scores
from defense_kit.warmup.spsa import DELTA, EPSILON, PAIRS, Probes, SpsaState, descend, gradient, spsa, within
from defense_kit.warmup.streams import Purpose, Streams
from tests.defense_kit.warmup.defenses import alone, linear, made, picture, scheduled

BIRD = AttackedPicture(np.zeros((1, 1, 3), np.uint8), True, bytes(32))
STREAMS = Streams("spsa", bytes(32))
SMALL = (32, 32, 3)  # 3,072 values


def of_direction(direction: NDArray[np.float64], offset: float = 0.0) -> Callable[[Rows], Scores]:
    """A bird's score that is linear in the picture; the loss of a bird is that score."""

    def classify(rows: Rows) -> Scores:
        bird = [float((row.astype(np.float64) * direction).sum()) + offset for row in rows]
        return np.stack([np.zeros(len(bird)), bird], axis=1).astype(np.float32)

    return classify


def hadamard(size: int) -> NDArray[np.int8]:
    table = np.ones((1, 1), np.int8)
    while len(table) < size:
        table = np.block([[table, table], [table, -table]]).astype(np.int8)
    return table


def test_with_orthogonal_signs_the_estimate_is_the_gradient() -> None:
    direction = np.random.default_rng(1).normal(size=64)
    signs = list(hadamard(64))
    slopes = np.array([float(direction @ sign) for sign in signs])
    assert np.abs(gradient(slopes, signs) - direction).max() < 1e-12


def test_with_random_signs_it_is_unbiased() -> None:
    direction, pairs = np.random.default_rng(2).normal(size=3072), 12_800
    signs = np.random.default_rng(3).choice(np.array([-1, 1], np.int8), (pairs, 3072))
    estimate = gradient(signs @ direction, list(signs))
    slope = float(estimate @ direction / (direction @ direction))
    assert abs(slope - 1) < 0.02
    spread = float((estimate - slope * direction).std())
    assert spread == pytest.approx(np.linalg.norm(direction) / np.sqrt(pairs), rel=0.05)


def test_probes_lie_on_both_sides_and_never_outside_0_to_1() -> None:
    start = np.full((2, 2, 3), 0.5, np.float32)
    start[0, 0], start[1, 1] = 0.0, 1.0
    signs = [np.ones(start.shape, np.int8), -np.ones(start.shape, np.int8)]
    rows = made(Probes(start, signs))
    assert rows.shape == (4, 2, 2, 3) and rows.dtype == np.float32
    assert (rows.min(), rows.max()) == (0, 1)
    assert np.array_equal(rows[0], np.clip(start + DELTA, 0, 1)) and np.array_equal(
        rows[2], np.clip(start - DELTA, 0, 1)
    )
    assert np.array_equal(rows[1], rows[2]), "the other sign is the other side"


@pytest.mark.parametrize(
    ("start", "added", "allowed"),
    [(0.5, 0.2, EPSILON), (0.5, -0.2, -EPSILON), (0.5, 0.01, 0.01), (0.02, -0.05, -0.02), (1.0, 0.05, 0.0)],
)
def test_what_is_added_stays_in_the_ball_and_then_in_the_range(start: float, added: float, allowed: float) -> None:
    found = within(np.full(SMALL, start, np.float32), np.full(SMALL, added, np.float32))
    assert np.allclose(found, allowed, atol=1e-7)


def small(classify: Callable[[Rows], Scores], start: Rows, **values: Any) -> tuple[AttackResult, list[SpsaState]]:
    states: list[SpsaState] = []
    return alone(descend(BIRD, start, STREAMS, keep=states.append, **values), classify), states


def test_the_first_step_moves_each_value_by_the_rate_against_the_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", 1)
    direction = np.random.default_rng(4).normal(0, 0.02, SMALL)
    start = np.full(SMALL, 0.5, np.float32)
    begun = STREAMS.draws(module.Purpose.RANDOM_START).uniform(-EPSILON, EPSILON, SMALL).astype(np.float32)
    signs = [STREAMS.signs(Purpose.SPSA_SIGNS, start.size, step=1, index=pair).reshape(SMALL) for pair in range(PAIRS)]
    estimate = gradient(np.array([float((direction * sign).sum()) for sign in signs]), signs)
    (state,) = small(of_direction(direction), start)[1]
    sure = np.abs(estimate) > 1e-3  # where rounding of the scores cannot turn the sign
    expected = within(start, (begun - 0.01 * np.sign(estimate)).astype(np.float32))
    assert sure.mean() > 0.99 and np.abs(state.added - expected)[sure].max() < 1e-6


def test_200_steps_on_a_linear_model_gain_what_the_specification_measured() -> None:
    rng = np.random.default_rng(5)
    direction = rng.normal(0, 0.02, SMALL)
    start = rng.uniform(0.2, 0.8, SMALL).astype(np.float32)
    saturated = rng.choice(start.size, 400, replace=False)
    start.reshape(-1)[saturated] = rng.choice([0.0, 1.0], 400)
    result, states = small(of_direction(direction, offset=50), start)
    best = within(start, np.where(direction > 0, -EPSILON, EPSILON).astype(np.float32))
    gain = float(((result.picture - start) * direction).sum() / (best * direction).sum())
    assert 0.64 <= gain <= 0.71
    assert result.queries == 1 + 200 * 65 and len(states) == 200
    for state in states:
        assert np.abs(state.added).max() <= EPSILON + 1e-6
        assert (start + state.added).min() >= 0 and (start + state.added).max() <= 1


def test_a_gradient_at_twice_the_perturbation_would_be_noticed() -> None:
    """A known bug of another library: the loss adds the picture to a perturbed picture once more."""
    goal = np.full(SMALL, 0.5 + 0.02, np.float32)
    start = np.full(SMALL, 0.5, np.float32)

    def bowl(rows: Rows, at: float) -> Scores:
        """Lowest at 0.02 from the start, for what is added times `at`."""
        away = ((start + at * (rows - start) - goal).astype(np.float64) ** 2).sum(axis=(1, 2, 3))
        return np.stack([np.zeros(len(rows)), 10 * away], axis=1).astype(np.float32)

    right = small(lambda rows: bowl(rows, 1), start)[0].picture
    doubled = small(lambda rows: bowl(rows, 2), start)[0].picture
    far, half = float((right - start).mean()), float((doubled - start).mean())
    assert 0.014 < far < 0.02 and half < 0.011, "half as far is not where the loss is lowest"


def test_a_picture_that_is_wrong_enough_from_the_start_costs_one_query() -> None:
    result, states = small(lambda rows: np.tile(np.float32([2, 0]), (len(rows), 1)), np.full(SMALL, 0.5, np.float32))
    assert (result.queries, states, result.chosen) == (1, [], {"best_step": 0, "steps": 0, "flat_steps": 0})


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_it_stops_at_the_step_whose_picture_is_wrong(turns: int) -> None:
    asked = 0

    def classify(rows: Rows) -> Scores:
        nonlocal asked
        asked += len(rows) == 1
        loss = -2.0 if asked > turns and len(rows) == 1 else 1.0
        return np.tile(np.float32([0, loss]), (len(rows), 1))

    result, _ = small(classify, np.full(SMALL, 0.5, np.float32))
    assert (result.chosen["best_step"], result.queries, result.scores[1]) == (turns, 1 + 65 * turns, -2)


def test_the_worst_picture_is_returned_and_the_earliest_of_equal_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", 4)
    losses = iter([3.0, 1.0, 2.0, 1.0, 5.0])

    def classify(rows: Rows) -> Scores:
        loss = next(losses) if len(rows) == 1 else 1.0
        return np.tile(np.float32([0, loss]), (len(rows), 1))

    result, states = small(classify, np.full(SMALL, 0.5, np.float32))
    assert (result.chosen, result.scores[1]) == ({"best_step": 1, "steps": 4, "flat_steps": 4}, 1)
    assert np.array_equal(result.picture, 0.5 + states[0].added)


def test_a_pair_with_a_row_that_is_not_finite_adds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", 1)
    direction = np.random.default_rng(6).normal(0, 0.02, SMALL)
    right = of_direction(direction)

    def broken(rows: Rows) -> Scores:
        scores = right(rows)
        if len(rows) > 1:
            scores[[0, PAIRS + 1]] = [[np.nan, 0], [0, np.inf]]
        return scores

    start = np.full(SMALL, 0.5, np.float32)
    signs = [STREAMS.signs(Purpose.SPSA_SIGNS, start.size, step=1, index=pair).reshape(SMALL) for pair in range(PAIRS)]
    slopes = np.array([float((direction * sign).sum()) for sign in signs])
    slopes[[0, 1]] = 0
    estimate = gradient(slopes, signs)
    (state,) = small(broken, start)[1]
    assert np.allclose(state.mean, 0.1 * estimate, atol=1e-4)


def test_a_picture_that_is_not_finite_is_never_the_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", 2)
    answers = iter([[0, 1.0], [np.nan, 0], [0, 2.0]])

    def classify(rows: Rows) -> Scores:
        return np.tile(np.float32(next(answers) if len(rows) == 1 else [0, 1]), (len(rows), 1))

    assert small(classify, np.full(SMALL, 0.5, np.float32))[0].chosen["best_step"] == 0


def test_no_result_depends_on_the_batch_or_on_the_companions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", 1)
    pictures, classify = [picture(number) for number in range(3)], linear(offset=60)
    found = [
        scheduled(((number, spsa(pictures[number])) for number in order), classify, batch)
        for batch, order in ((7, (0, 1, 2)), (64, (0, 1, 2)), (64, (2, 1, 0)))
    ]
    for other in found[1:]:
        for number in range(3):
            one, two = found[0][number], other[number]
            assert (one.queries, one.chosen) == (two.queries, two.chosen) == (66, one.chosen)
            assert one.picture.tobytes() == two.picture.tobytes() and one.scores.tobytes() == two.scores.tobytes()


def test_going_on_from_a_kept_state_gives_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", 6)
    direction = np.random.default_rng(7).normal(0, 0.02, SMALL)
    start, classify = np.full(SMALL, 0.5, np.float32), of_direction(direction, offset=5)
    whole, states = small(classify, start)
    for state in states:
        again = alone(descend(BIRD, start, STREAMS, state), classify)
        assert (again.queries, again.chosen) == (whole.queries, whole.chosen)
        assert again.picture.tobytes() == whole.picture.tobytes()


def test_scores_near_the_end_of_float32_lead_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slope whose square is no float32 gives no NaN: what is asked about stays within 0 to 1."""
    monkeypatch.setattr(module, "STEPS", 3)
    of = picture(14)
    asked = []

    def huge(rows: Rows) -> Scores:
        asked.append((float(rows.min()), float(rows.max())))
        scores = linear()(rows)
        return np.where(scores > 0, np.float32(3e38), np.float32(-3e38)) * np.sign(rows[:, :1, 0, 0] - 0.4)

    result = alone(spsa(of), huge)
    assert np.isfinite(result.picture).all() and all(0 <= low <= high <= 1 for low, high in asked)
