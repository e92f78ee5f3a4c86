"""The alterations of the memorisation probe: small, repeatable, and none without effect."""

import numpy as np
import pytest
from numpy.typing import NDArray

from scoring.trials import answers, probe
from scoring.trials.enums import Variant

SHA, OTHER = "ab" * 32, "cd" * 32


@pytest.fixture
def picture() -> NDArray[np.uint8]:
    values = np.random.default_rng(1).integers(0, 256, (31, 31, 3), dtype=np.uint8)
    values[0], values[1] = 0, 255
    return values


def test_noise_moves_every_value_by_one(picture: NDArray[np.uint8]) -> None:
    noised = probe.noised(picture, SHA).astype(int)
    assert set(np.unique(np.abs(noised - picture.astype(int)))) == {1}
    assert 0 < (noised > picture).mean() < 1


def test_noise_is_the_picture_s_own(picture: NDArray[np.uint8]) -> None:
    assert np.array_equal(probe.noised(picture, SHA), probe.noised(picture, SHA))
    assert not np.array_equal(probe.noised(picture, SHA), probe.noised(picture, OTHER))


def test_a_shift_moves_by_one_pixel_and_repeats_the_edge(picture: NDArray[np.uint8]) -> None:
    shifted = probe.shifted(picture)
    assert np.array_equal(shifted[:, 1:], picture[:, :-1])
    assert np.array_equal(shifted[:, 0], picture[:, 0])
    assert shifted.dtype == np.uint8 and shifted.shape == picture.shape


def test_each_variant_is_another_picture_and_plain_is_the_same(picture: NDArray[np.uint8]) -> None:
    before = picture.copy()
    shown = {variant: probe.altered(picture, variant, SHA).tobytes() for variant in Variant}
    assert shown[Variant.PLAIN] == before.tobytes() and len(set(shown.values())) == len(Variant)
    assert np.array_equal(picture, before)


def test_kept_answers_come_back_in_the_pictures_order() -> None:
    rows = answers.rows_of([(7, 1, -1, 0.25, 0.5), (3, 0, 1, 0.1, 0.9), (7, 0, 0, 1.0, 0.0)])
    kept = answers.pack(rows)
    assert len(kept) == 3 * 20
    back = answers.unpack(memoryview(kept))
    assert [(int(row["picture"]), int(row["variant"]), int(row["label"])) for row in back] == [
        (3, 0, 1),
        (7, 0, 0),
        (7, 1, -1),
    ]
    assert back["scores"][0].tolist() == pytest.approx([0.1, 0.9])
    assert len(answers.unpack(answers.pack(answers.rows_of([])))) == 0
    with pytest.raises(ValueError):
        answers.unpack(kept[:-1])
