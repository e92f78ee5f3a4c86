"""The warm-up's random numbers: NumPy's streams are guarded by golden values (a change raises the attack version)."""

import numpy as np
import pytest
from numpy.typing import NDArray

from defense_kit.warmup.streams import Purpose, Streams

ZEROS = Streams("spsa", bytes(32))


def written(signs: NDArray[np.int8]) -> str:
    return "".join("+" if sign > 0 else "-" for sign in signs)


def test_the_key_names_attack_and_picture() -> None:
    assert ZEROS.key.hex() == "6092e1a12ff489d72abbf5b662ef1c79"
    others = [Streams("boundary", bytes(32)), Streams("spsa", bytes(31) + b"\x01")]
    assert len({each.key for each in [ZEROS, *others]}) == 3


def test_golden_words_signs_and_normals() -> None:
    words = ZEROS.draws(Purpose.SPSA_SIGNS, step=1).bit_generator.random_raw(4)
    assert [f"{int(word):016x}" for word in words] == [
        "29a3634f30bb4410",
        "22a74eb50e429e6c",
        "977f3a7bfa27af78",
        "fcb2e4f964674d69",
    ]
    assert written(ZEROS.signs(Purpose.SPSA_SIGNS, 16, step=1, index=0)) == "----+-----+---+-"
    direction = Streams("boundary", bytes(32)).signs(Purpose.BOUNDARY_DIRECTION, 16, step=7, index=3)
    assert written(direction) == "++-++-++-+-+----"
    normals = ZEROS.normals(4, step=7, index=3)
    assert normals.dtype == np.float32
    assert normals == pytest.approx([-3.7788284, 0.07182667, -0.14374535, 0.06158335], abs=1e-7)


def test_signs_are_as_many_as_asked_for_and_fair() -> None:
    signs = ZEROS.signs(Purpose.SPSA_SIGNS, 150_528, step=1, index=2)
    assert signs.dtype == np.int8 and set(np.unique(signs)) == {-1, 1} and len(signs) == 150_528
    assert abs(signs.mean()) < 0.01
    assert np.array_equal(ZEROS.signs(Purpose.SPSA_SIGNS, 100, step=1, index=2), signs[:100])
    for many in (150_528, 100, 1):
        floats = ZEROS.float_signs(Purpose.SPSA_SIGNS, many, 0.3, step=1, index=2)
        assert floats.dtype == np.float32 and np.array_equal(floats, signs[:many] * np.float32(0.3))


@pytest.mark.parametrize(
    ("purpose", "step", "index", "why"),
    [
        (Purpose.SPSA_SIGNS, 2, 0, "another step"),
        (Purpose.SPSA_SIGNS, 1, 1, "another index"),
        (Purpose.BOUNDARY_DIRECTION, 1, 0, "another purpose"),
    ],
)
def test_each_purpose_step_and_index_has_a_stream_of_its_own(purpose: Purpose, step: int, index: int, why: str) -> None:
    found = ZEROS.signs(purpose, 64, step=step, index=index)
    assert not np.array_equal(ZEROS.signs(Purpose.SPSA_SIGNS, 64, step=1, index=0), found), why
