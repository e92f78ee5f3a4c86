"""The grid asks about every transform, and returns the worst one: the same as trying each by itself."""

import numpy as np
import pytest

from defense_kit.warmup.attacks import Rows, Scores, as_floats, clean
from defense_kit.warmup.moves import bordered, moved
from defense_kit.warmup.spatial_grid import DEGREES, QUERIES, SHIFTS, SIDE_INSIDE, spatial_grid, transform_of
from tests.defense_kit.warmup.defenses import alone, linear, picture

IDENTITY = 387


def test_the_order_of_the_grid() -> None:
    assert QUERIES == 775 and (transform_of(0), transform_of(1)) == ((-18, -18, -30), (-18, -18, -28))
    assert transform_of(31) == (-18, -9, -30) and transform_of(155) == (-9, -18, -30)
    assert (transform_of(IDENTITY), transform_of(774)) == ((0, 0, 0), (18, 18, 30))
    assert len({transform_of(index) for index in range(QUERIES)}) == QUERIES


@pytest.mark.slow("makes all 775 moves one by one")
@pytest.mark.parametrize("is_bird", [True, False])
def test_it_asks_about_each_transform_in_order_and_returns_the_worst(is_bird: bool) -> None:
    of, classify, margins = picture(2, is_bird=is_bird), linear(), list[float]()
    framed = bordered(of.pixels, SIDE_INSIDE)

    def recorded(rows: Rows) -> Scores:
        for index, row in enumerate(rows, len(margins)):
            dx, dy, degrees = transform_of(index)
            assert row.tobytes() == as_floats(moved(framed, degrees, dx, dy)).tobytes(), index
        scores = classify(rows)
        margins.extend(of.margins(scores))
        return scores

    result = alone(spatial_grid(of), recorded)
    assert len(margins) == result.queries == QUERIES
    dx, dy, degrees = transform_of(int(np.argmax(margins)))
    assert result.chosen == {"dx": dx, "dy": dy, "degrees": degrees}
    assert np.array_equal(result.picture, as_floats(moved(framed, degrees, dx, dy)))
    assert of.margins(result.scores[np.newaxis])[0] == max(margins)


def only(wrong: set[int], *, bad: set[int] = frozenset()) -> "list[Scores]":  # type: ignore[assignment]
    """The answers to the grid of a bird where some transforms are wrong, and some rows are not finite."""
    table = np.tile(np.float32([0, 1]), (QUERIES, 1))
    table[sorted(wrong)] = [1, 0]
    table[sorted(bad)] = np.nan
    return np.split(table, len(SHIFTS) ** 2)


def answered(answers: "list[Scores]") -> tuple[int, int, int]:
    left = iter(answers)

    def classify(rows: Rows) -> Scores:
        return next(left)

    result = alone(spatial_grid(picture(1)), classify)
    dx, dy, degrees = result.chosen.values()
    return dx, dy, degrees


@pytest.mark.parametrize("index", [0, 1, 30, 31, IDENTITY, 400, 773, 774])
def test_the_only_wrong_transform_is_found(index: int) -> None:
    assert answered(only({index})) == transform_of(index)


@pytest.mark.parametrize(
    ("wrong", "bad", "expected", "why"),
    [
        ({100, 50, 700}, set(), 50, "the first of equal ones"),
        (set(), set(), 0, "all alike"),
        ({5}, {1, 2, 3}, 5, "a bad row leads nowhere"),
        (set(), set(range(QUERIES)), 0, "every row is bad"),
        (set(), set(range(31)), 31, "the first finite one"),
    ],
)
def test_ties_and_rows_that_are_not_finite(wrong: set[int], bad: set[int], expected: int, why: str) -> None:
    assert answered(only(wrong, bad=bad)) == transform_of(expected), why


def test_the_angles_and_shifts() -> None:
    assert (SHIFTS, DEGREES[0], DEGREES[-1], len(DEGREES)) == ((-18, -9, 0, 9, 18), -30, 30, 31)


def test_clean_is_the_picture_itself() -> None:
    of = picture(4)
    result = alone(clean(of), linear())
    assert result.queries == 1 and np.array_equal(result.picture, as_floats(of.pixels))
