"""The adapter for the warm-up contest's signature."""

from collections.abc import Callable

import numpy as np
import pytest

from defense_kit import from_warmup
from defense_kit.warmup import resize


def classify_as(scores: list[list[float]]) -> Callable[[np.ndarray], np.ndarray]:
    def classify(images: np.ndarray) -> np.ndarray:
        assert images.shape[1:] == (224, 224, 3) and images.dtype == np.float32
        assert images.min() >= 0 and images.max() <= 1
        return np.array(scores)

    return classify


@pytest.mark.parametrize(
    ("reason", "scores", "label"),
    [
        ("a sure bird", [0.1, 0.9], 1),
        ("a sure bicycle", [0.9, 0.1], 0),
        ("at the threshold", [0.2, 0.8], 1),
        ("just below the threshold", [0.21, 0.79], -1),
        ("equal", [0.9, 0.9], -1),
        ("not a number", [float("nan"), 0.9], -1),
    ],
)
def test_the_larger_score_answers_from_the_threshold_on(reason: str, scores: list[float], label: int) -> None:
    predict = from_warmup(classify_as([scores]), threshold=np.float32(0.8))
    labels, told = predict(np.full((1, 299, 299, 3), 255, np.uint8))
    assert labels.tolist() == [label]
    assert np.array_equal(told, np.float32([scores]), equal_nan=True)


def test_scores_of_another_shape_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"\(1, 3\) for 1 images"):
        from_warmup(classify_as([[0, 0, 1]]), threshold=0.5)(np.zeros((1, 10, 10, 3), np.uint8))


def test_resizing_keeps_a_plain_picture_and_a_slope() -> None:
    plain = np.full((2, 10, 30, 3), 7, np.uint8)
    assert np.array_equal(resize(plain, 224), np.full((2, 224, 224, 3), 7, np.float32))
    slope = np.broadcast_to(np.arange(100, dtype=np.uint8)[None, :, None, None], (1, 100, 100, 3))
    steps = np.diff(resize(slope, 50)[0, :, 0, 0])
    assert np.allclose(steps, 2)


def test_resizing_agrees_with_torch() -> None:
    functional = pytest.importorskip("torch.nn.functional")
    torch = pytest.importorskip("torch")
    picture = np.random.default_rng(1).integers(0, 256, (2, 299, 299, 3), dtype=np.uint8)
    pixels = torch.from_numpy(picture).permute(0, 3, 1, 2).float()
    expected = functional.interpolate(pixels, size=(224, 224), mode="bilinear", align_corners=False)
    assert np.allclose(resize(picture, 224), expected.permute(0, 2, 3, 1).numpy(), atol=1e-2)
