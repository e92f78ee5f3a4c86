"""The shared move: exact cases, and Pillow as an oracle."""

from math import cos, radians, sin

import numpy as np
import pytest
from PIL import Image

from defense_kit.warmup.attacks import SIDE
from defense_kit.warmup.moves import bordered, moved, rotated_beyond, shifted

RANDOM = np.random.default_rng(7).integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
WHITE = np.full((SIDE, SIDE, 3), 255, np.uint8)


def test_no_move_is_the_picture_itself() -> None:
    assert np.array_equal(moved(RANDOM, 0, 0, 0), RANDOM)


@pytest.mark.parametrize(("dx", "dy"), [(5, 0), (-3, 0), (0, 18), (0, -18), (-9, 9)])
def test_a_shift_by_whole_pixels_is_a_roll_with_black_coming_in(dx: int, dy: int) -> None:
    framed = bordered(RANDOM, 158)
    assert np.array_equal(moved(framed, 0, dx, dy), np.roll(framed, (dy, dx), (0, 1)))
    out = moved(WHITE, 0, dx, dy)
    assert out.sum() == 255 * 3 * (SIDE - abs(dx)) * (SIDE - abs(dy))


@pytest.mark.parametrize(("degrees", "quarters"), [(90, -1), (-90, 1), (180, 2)])
def test_positive_angles_turn_clockwise(degrees: int, quarters: int) -> None:
    assert np.array_equal(moved(RANDOM, degrees, 0, 0), np.rot90(RANDOM, quarters))


@pytest.mark.parametrize(("side", "first", "last"), [(158, 33, 190), (184, 20, 203)])
def test_the_border_is_black_on_all_sides(side: int, first: int, last: int) -> None:
    framed = bordered(WHITE, side)
    rows, columns = np.nonzero(framed.any(axis=2))
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (first, last, first, last)
    assert framed[first : last + 1, first : last + 1].min() == 255


@pytest.mark.parametrize("degrees", [-30, -2, 0, 7.25, 30])
def test_shifts_of_one_rotation_are_the_moves_one_by_one(degrees: float) -> None:
    framed = bordered(RANDOM, 158)
    beyond = rotated_beyond(framed, degrees, 18)
    for dx in (-18, -9, 0, 9, 18):
        for dy in (-18, 0, 9):
            assert np.array_equal(shifted(beyond, dx, dy), moved(framed, degrees, dx, dy)), (dx, dy)


@pytest.mark.parametrize(("degrees", "dx", "dy"), [(13, 0, 0), (-29.5, 3.25, -11.5), (4, -18, 18)])
def test_pillow_says_the_same_but_for_rounding_down(degrees: float, dx: float, dy: float) -> None:
    framed = bordered(RANDOM, 158)
    cosine, sine, centre = cos(radians(degrees)), sin(radians(degrees)), SIDE / 2
    matrix = (cosine, sine, centre - cosine * (centre + dx) - sine * (centre + dy))
    matrix += (-sine, cosine, centre + sine * (centre + dx) - cosine * (centre + dy))
    expected = np.asarray(
        Image.fromarray(framed).transform((SIDE, SIDE), Image.Transform.AFFINE, matrix, Image.Resampling.BILINEAR)
    )
    apart = moved(framed, degrees, dx, dy).astype(int) - expected
    assert set(np.unique(apart)) <= {0, 1}
