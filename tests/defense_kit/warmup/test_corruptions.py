"""The corruptions: each one against a second opinion on the same draws, and the attack that asks about all."""

from functools import cache

import cv2
import numpy as np
import pytest
from skimage import filters
from skimage.util import random_noise

from defense_kit.warmup import corruptions as module
from defense_kit.warmup.attacks import SIDE, AttackedPicture, Bytes, Floats, Rows, Scores, as_floats
from defense_kit.warmup.corruptions import CORRUPTIONS, NAMES, corrupted, corruptions
from defense_kit.warmup.corruptions.digital import affine, smoothed
from defense_kit.warmup.corruptions.noise import impulse_noise
from defense_kit.warmup.corruptions.weather import canny_edges, equalised, fog_clouds, spatter
from defense_kit.warmup.streams import Streams
from tests.defense_kit.warmup import corruption_oracles as oracles
from tests.defense_kit.warmup.defenses import alone, linear, picture, scheduled

RANDOM = np.random.default_rng(7)
GREY = np.full((SIDE, SIDE, 3), 128, np.uint8)


def _varied() -> Bytes:
    """Smooth colours, noise, black and white."""
    pixels = picture(1).pixels.copy()
    pixels[40:120] = RANDOM.integers(0, 256, (80, SIDE, 3))
    pixels[150:180, :100], pixels[150:180, 100:] = 0, 255
    return pixels


PIXELS = _varied()


def draws(number: int) -> np.random.Generator:
    """What a picture of a made-up name draws for corruption `number`."""
    return Streams("corruptions", bytes(32)).draws(16 + number)


@cache
def made(number: int) -> Floats:
    return CORRUPTIONS[NAMES[number]](PIXELS, draws(number))


@pytest.mark.parametrize(
    ("number", "name", "tolerance", "why"),
    [
        (0, "gaussian_noise", 1e-12, "written out; float32 draws, as all normals of the warm-up"),
        (1, "shot_noise", 1e-12, "written out"),
        (2, "impulse_noise", 0, "written out: first what is hit, then its colour; each channel by itself"),
        (3, "defocus_blur", 1e-12, "OpenCV's filter, scikit-image's disk"),
        pytest.param(
            *(4, "glass_blur", 1e-12, "the loop over pixels, each with draws of its own; scikit-image's blur"),
            marks=pytest.mark.slow("draws for each pixel by itself"),
        ),
        (5, "motion_blur", 0, "ImageMagick's formula as a kernel of SciPy; rounded to 8 bits"),
        (6, "zoom_blur", 1e-6, "SciPy's zoom of all channels, averaged in another order: float32"),
        (7, "fog", 1e-9, "diamond-square point by point; scaled over all 256 x 256 points"),
        (8, "brightness", 1e-12, "scikit-image's HSV"),
        (9, "contrast", 1e-12, "written out for each channel"),
        (10, "elastic", 1e-4, "OpenCV moves the corners, and computes places in float32"),
        (11, "pixelate", 0, "means over boxes"),
        (12, "jpeg", 0, "OpenCV's JPEG, from the same library"),
        (13, "speckle_noise", 1e-12, "written out"),
        (14, "gaussian_blur", 0, "scikit-image's blur"),
        (15, "spatter", 1e-6, "OpenCV, with exact distances"),
        (16, "saturate", 1e-12, "scikit-image's HSV"),
    ],
)
def test_each_corruption_is_what_another_library_makes_of_the_same_draws(
    number: int, name: str, tolerance: float, why: str
) -> None:
    assert NAMES[number] == name
    expected = getattr(oracles, name)(PIXELS, draws(number))
    assert np.abs(made(number) - expected).max() <= tolerance, why
    assert np.abs(made(number) - PIXELS / 255).max() > 0.05, "it changes something"


def test_exact_distances_change_spatter_by_less_than_0_11_grey_levels_on_average() -> None:
    estimated = oracles.spatter(PIXELS, draws(15), cv2.DIST_MASK_5)
    assert 0 < np.abs(made(15) - estimated).mean() * 255 < 0.11


@pytest.mark.parametrize(
    ("number", "spread", "why"),
    [
        (0, 0.08, "the same everywhere"),
        (1, (128 / 255 / 60) ** 0.5, "that of a Poisson distribution"),
        (13, 0.15 * 128 / 255, "in proportion to the value"),
    ],
)
def test_noise_on_grey_has_its_spread_around_grey(number: int, spread: float, why: str) -> None:
    noise = CORRUPTIONS[NAMES[number]](GREY, draws(number)) - 128 / 255
    assert noise.std() == pytest.approx(spread, rel=0.01), why
    assert abs(noise.mean()) < 0.001


def test_impulse_noise_hits_3_percent_of_the_values_as_scikit_image_does() -> None:
    ours = impulse_noise(GREY, draws(2))
    theirs = random_noise(GREY, mode="s&p", amount=0.03, rng=1)
    for noisy in (ours, theirs):
        hit = noisy[noisy != 128 / 255]
        assert 0.029 < len(hit) / GREY.size < 0.031 and 0.48 < hit.mean() < 0.52 and set(hit) == {0, 1}
    assert (np.ptp(ours, axis=2) > 0).mean() > 0.05, "channels are hit apart"


def test_clouds_reach_from_0_to_1_on_a_torus() -> None:
    clouds = fog_clouds(draws(7))
    assert (clouds.shape, clouds.min(), clouds.max()) == ((256, 256), 0, 1)
    across_the_seam, inside = np.abs(clouds[-1] - clouds[0]).mean(), np.abs(np.diff(clouds, axis=0)).mean()
    assert across_the_seam < 1.5 * inside


@pytest.mark.parametrize("seed", range(5))
def test_edges_and_levels_are_opencvs(seed: int) -> None:
    noise = np.random.default_rng(seed).integers(0, 256, (SIDE, SIDE), dtype=np.uint8)
    for layer in (oracles.drops(seed), noise, cv2.GaussianBlur(noise, (0, 0), 1.5)):
        edges = canny_edges(layer)
        assert np.array_equal(edges, cv2.Canny(layer, 50, 150) > 0) and edges.any()
        assert np.array_equal(equalised(layer), cv2.equalizeHist(layer))


def test_without_a_drop_spatter_changes_nothing() -> None:
    class Dry:
        def standard_normal(self, shape: tuple[int, ...], dtype: type) -> Floats:
            return np.zeros(shape, dtype)  # a thickness of 0.65 everywhere: nothing is left of that

    assert np.array_equal(spatter(PIXELS, Dry()), PIXELS / 255)


def test_the_affine_move_is_opencvs() -> None:
    before = np.array([[186, 186], [186, 38], [38, 38]], np.float32)
    for seed in range(3):
        after = before + np.random.default_rng(seed).uniform(-24.4, 24.4, (3, 2)).astype(np.float32)
        assert np.abs(affine(PIXELS / 255, after) - oracles.warped(PIXELS / 255, before, after)).max() < 1e-4
    assert np.abs(affine(PIXELS / 255, before) - PIXELS / 255).max() < 1e-9


def test_the_field_of_the_elastic_move_is_smoothed_as_by_scikit_image() -> None:
    field = RANDOM.uniform(-1, 1, (SIDE, SIDE))
    expected = filters.gaussian(field, 170.8, mode="reflect", truncate=3)
    assert np.abs(smoothed(field) - expected).max() < 1e-12


@pytest.mark.parametrize("name", ["brightness", "saturate"])
def test_colours_keep_their_hue_also_black_grey_and_white(name: str) -> None:
    ends = np.array(np.meshgrid(*[[0, 1, 128, 254, 255]] * 3), np.uint8).reshape(3, -1).T[np.newaxis]
    for pixels in (ends, RANDOM.integers(0, 256, (64, 64, 3), dtype=np.uint8)):
        found, expected = CORRUPTIONS[name](pixels, draws(8)), getattr(oracles, name)(pixels, draws(8))
        assert np.abs(found - expected).max() < 1e-12
        assert found.max() == 1, "white stays white when it is truncated"


def test_a_black_picture_stays_finite() -> None:
    of = AttackedPicture(np.zeros_like(GREY), True, bytes(32))
    for name in NAMES:
        assert np.isfinite(CORRUPTIONS[name](of.pixels, draws(NAMES.index(name)))).all(), name
    assert not corrupted(of, "fog").any(), "fog is as bright as the brightest pixel"


def test_pictures_are_cut_and_truncated_to_8_bits() -> None:
    of = AttackedPicture(PIXELS, True, bytes(32))
    for number in (0, 6, 10):
        expected = np.floor(np.clip(made(number), 0, 1) * 255)
        assert np.array_equal(corrupted(of, NAMES[number]), expected), NAMES[number]


RANDOMS = {0, 1, 2, 4, 5, 7, 10, 13, 15}


def test_it_asks_about_each_corruption_in_order_with_draws_of_its_own_and_returns_the_worst() -> None:
    of, classify, asked = AttackedPicture(PIXELS, False, bytes(32)), linear(), list[Rows]()

    def recorded(rows: Rows) -> Scores:
        asked.append(rows)
        return classify(rows)

    result = alone(corruptions(of), recorded)
    (rows,) = asked
    assert len(rows) == len(NAMES) == 17
    other = AttackedPicture(PIXELS, False, bytes(31) + b"1")
    for number, name in enumerate(NAMES):
        assert np.array_equal(rows[number], as_floats(corrupted(of, name))), "the same draws each time"
        same = np.array_equal(rows[number], as_floats(corrupted(other, name)))
        assert same is (number not in RANDOMS), f"{name}: other draws for another picture, where there are any"
    margins = of.margins(classify(rows))
    assert (result.queries, result.chosen) == (17, {"corruption": NAMES[int(margins.argmax())]})
    assert of.margins(result.scores[np.newaxis])[0] == margins.max()
    assert np.array_equal(result.picture, rows[int(margins.argmax())])


ALL = set(range(17))


@pytest.mark.parametrize(
    ("wrong", "bad", "expected", "why"),
    [
        *(({number}, set(), number, "the only wrong one") for number in (0, 1, 8, 16)),
        ({12, 5, 16}, set(), 5, "the first of equal ones"),
        (set(), set(), 0, "all alike"),
        ({5}, {0, 1, 16}, 5, "a bad row leads nowhere"),
        (set(), {0, 1}, 2, "the first finite one"),
        (set(), ALL, 0, "every row is bad"),
    ],
)
def test_the_worst_is_returned(
    wrong: set[int], bad: set[int], expected: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "corrupted", lambda of, name: np.full_like(GREY, NAMES.index(name)))
    scores = np.tile(np.float32([0, 1]), (17, 1))
    scores[sorted(wrong)] = [1, 0]
    scores[sorted(bad)] = np.nan
    result = alone(corruptions(picture(1)), lambda rows: scores)
    assert result.chosen == {"corruption": NAMES[expected]}, why
    assert np.array_equal(result.picture, as_floats(np.full_like(GREY, expected)))
    assert result.scores.tobytes() == scores[expected].tobytes()


def test_a_picture_that_is_still_right_is_returned_only_where_all_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The published attack takes the highest score of the other class, whatever the true class has."""
    monkeypatch.setattr(module, "corrupted", lambda of, name: np.full_like(GREY, NAMES.index(name)))
    scores = np.tile(np.float32([0, 1]), (17, 1))
    scores[3], scores[9] = [0.9, 1], [0.5, 0.4]  # right with the highest score of bicycle; wrong
    assert alone(corruptions(picture(1)), lambda rows: scores).chosen == {"corruption": NAMES[9]}


def test_no_result_depends_on_the_batch_or_on_the_companions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "corrupted", lambda of, name: np.roll(of.pixels, NAMES.index(name), axis=1))
    pictures, classify = [picture(1), picture(2)], linear()
    found = [
        scheduled(((number, corruptions(pictures[number])) for number in order), classify, batch)
        for batch, order in ((1, (0, 1)), (7, (0, 1)), (64, (1, 0)))
    ]
    for other in found[1:]:
        for number in range(2):
            one, two = found[0][number], other[number]
            assert (one.queries, one.chosen, one.bad_rows) == (two.queries, two.chosen, two.bad_rows)
            assert one.picture.tobytes() == two.picture.tobytes() and one.scores.tobytes() == two.scores.tobytes()
