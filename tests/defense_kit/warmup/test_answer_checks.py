"""Whether a defense answers alike: noise that shows everywhere, near the border alone, or not at all; and whether its
scores follow small changes."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from defense_kit.warmup.answer_checks import clean_scores, flat_pictures, is_randomised
from defense_kit.warmup.attacks import Rows, Scores
from tests.defense_kit.warmup.defenses import Classify, linear, picture

BOTH = [picture(1), picture(2, is_bird=False), picture(3)]


def separating() -> Classify:
    """A score that is sure of the bird and of the bicycle at both ends of the way, and linear in between."""
    ends = [each.pixels.astype(np.float32) / 255 for each in BOTH[:2]]
    towards = (ends[0] - ends[1]).reshape(-1)
    middle = float(((ends[0] + ends[1]).reshape(-1) / 2 * towards).sum())
    size = float(np.abs(towards).sum())

    def classify(rows: Rows) -> Scores:
        bird = [(float((row.reshape(-1) * towards).sum(dtype=np.float64)) - middle) / size for row in rows]
        return np.stack([-np.array(bird), bird], axis=1).astype(np.float32)

    return classify


def one_hot(of: Classify, noise: float) -> Classify:
    rng = np.random.default_rng(5)

    def classify(rows: Rows) -> Scores:
        scores = of(rows)
        scores[:, 1] += rng.normal(0, noise, len(rows)) if noise else 0
        return np.eye(2, dtype=np.float32)[scores.argmax(axis=1)]

    return classify


def changing(of: Classify) -> Classify:
    """Every two batches it takes a step: the same batch twice gets the same answers."""
    batches = itertools.count()

    def classify(rows: Rows) -> Scores:
        scores = of(rows)
        scores[:, 1] += (0.1, -0.1)[next(batches) // 2 % 2]
        return np.eye(2, dtype=np.float32)[scores.argmax(axis=1)]

    return classify


def noisy(rows: Rows) -> Scores:
    return linear()(rows) + np.random.default_rng().normal(0, 1e-3, (len(rows), 2)).astype(np.float32)


@pytest.mark.parametrize(
    ("classify", "expected", "why"),
    [
        (linear(), False, "the same scores always"),
        (noisy, True, "other scores everywhere"),
        (one_hot(separating(), 0.0), False, "0 and 1, always the same"),
        (one_hot(separating(), 1e-4), True, "0 and 1, and a border that moves a little"),
        (changing(separating()), True, "the same twice, and another class in the batch after that"),
        (lambda rows: np.zeros((len(rows), 2), np.float32), False, "it never answers otherwise"),
        (lambda rows: np.full((len(rows), 2), np.nan, np.float32), False, "never finite"),
    ],
)
def test_noise_is_found_wherever_it_shows(classify: Classify, expected: bool, why: str) -> None:
    assert is_randomised(classify, BOTH, batch=16) is expected, why


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_it_is_found_in_batches_of_any_size(batch: int) -> None:
    assert is_randomised(one_hot(separating(), 1e-4), BOTH, batch=batch)
    assert not is_randomised(one_hot(separating(), 0.0), BOTH, batch=batch)


def test_the_ends_of_the_way_are_what_was_answered() -> None:
    """Not what the pictures are: a defense may be wrong about the first of a class."""
    wrong = [replace(each, is_bird=not each.is_bird) for each in BOTH]
    assert is_randomised(one_hot(separating(), 1e-4), wrong, batch=16)


def test_where_the_pictures_get_one_class_plain_colours_may_get_the_other() -> None:
    assert is_randomised(one_hot(separating(), 1e-4), BOTH[:1], batch=16)
    assert not is_randomised(one_hot(separating(), 0.0), BOTH[:1], batch=16)


def never_finite(rows: Rows) -> Scores:
    return np.full((len(rows), 2), np.nan, np.float32)


@pytest.mark.parametrize(
    ("classify", "expected", "why"),
    [
        (linear(), 0, "each change shows in the scores"),
        (one_hot(separating(), 0.0), 3, "0 and 1 alone"),
        (lambda rows: np.zeros((len(rows), 2), np.float32), 3, "always the same"),
        (never_finite, 0, "that is told as bad rows"),
        (lambda rows: linear()(rows) * [0, 1e-9] + [0, 0.5], 0, "however little they follow"),
    ],
)
@pytest.mark.parametrize("batch", [1, 2, 16])
def test_flat_pictures_are_those_whose_scores_no_small_change_moves(
    classify: Classify, expected: int, why: str, batch: int
) -> None:
    assert flat_pictures(classify, BOTH, batch=batch) == (expected, 3), why


@pytest.mark.parametrize("batch", [1, 2, 16])
def test_clean_scores_are_those_of_the_pictures_in_their_order(batch: int) -> None:
    rows = np.stack([each.pixels.astype(np.float32) / 255 for each in BOTH])
    assert clean_scores(linear(), BOTH, batch=batch).tobytes() == linear()(rows).tobytes()
