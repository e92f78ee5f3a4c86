"""The corruption attack: applies 17 corruptions of ImageNet-C at severity 1 and returns the worst."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.random import Generator

from defense_kit.warmup.attacks import Attack, AttackedPicture, AttackResult, Bytes, Floats, Margins, Scores, as_floats
from defense_kit.warmup.corruptions import blur, digital, noise, weather
from defense_kit.warmup.streams import Purpose, Streams

Corruption = Callable[[Bytes, Generator], Floats]
# The order decides which stream each draws from, and which of equally bad ones is returned.
CORRUPTIONS: Mapping[str, Corruption] = {
    each.__name__: each
    for each in (
        noise.gaussian_noise,
        noise.shot_noise,
        noise.impulse_noise,
        blur.defocus_blur,
        blur.glass_blur,
        blur.motion_blur,
        blur.zoom_blur,
        weather.fog,
        weather.brightness,
        digital.contrast,
        digital.elastic,
        digital.pixelate,
        digital.jpeg,
        noise.speckle_noise,
        blur.gaussian_blur,
        weather.spatter,
        digital.saturate,
    )
}
NAMES = tuple(CORRUPTIONS)


def corruptions(of: AttackedPicture) -> Attack:
    """Return the corruption with the largest margin, the first of equal ones; the first of all where no row is
    finite."""
    return worst_corruption(of, of.margins)


def worst_corruption(of: AttackedPicture, badness: Callable[[Scores], Margins]) -> Attack:
    """Return the corruption whose scores [17, 2] have the largest `badness`, the first of equal ones."""
    pictures = np.stack([corrupted(of, name) for name in NAMES])
    scores = yield as_floats(pictures)
    worst = int(badness(scores).argmax())  # the first of equal ones
    return AttackResult(as_floats(pictures[worst]), scores[worst].copy(), len(NAMES), {"corruption": NAMES[worst]})


def corrupted(of: AttackedPicture, name: str) -> Bytes:
    """Return a picture with one corruption, truncated to 8 bits as in ImageNet-C."""
    draws = Streams("corruptions", of.sha256).draws(Purpose.CORRUPTION + NAMES.index(name))
    return (np.clip(CORRUPTIONS[name](of.pixels, draws), 0, 1) * 255).astype(np.uint8)
