"""Reads dataset pictures for the warm-up, which measures a defense with fixed attacks (R40)."""

import numpy as np
from PIL import Image as PillowImage

from adjudication.selectors import rulings_in_force
from contest.core.publication import released
from defense_kit.frames import CLASSES
from defense_kit.warmup.pictures import LabelledPicture, UnusablePictures, attacked_picture, in_order
from labeling.enums import Label, Origin
from scoring.arrays import load_arrays


def contest_pictures(limit: int | None = None) -> list[LabelledPicture]:
    """Return the valid pictures of the organizers' dataset whose week is released, each under its ID.

    So everybody has them, and none of them was made to mislead a defense. With `limit`, only so many, half of each
    class; UnusablePictures if a class has none.
    """
    rulings = rulings_in_force().filter(released("image__"), image__origin=Origin.DATASET, label__in=list(Label))
    rows = rulings.values_list("image__public_id", "image__pixels_sha256", "image__width", "label")
    found = [_picture(name, sha, size, is_bird=label == Label.BIRD) for name, sha, size, label in rows]
    if {each.of_class for each in found} != set(CLASSES):
        raise UnusablePictures("no picture of each class is valid and released yet: name a folder with --pictures")
    return in_order(found, limit)


def _picture(name: str, sha: str, size: int, *, is_bird: bool) -> LabelledPicture:
    pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]] = load_arrays([sha], size)[0]
    return LabelledPicture(name, attacked_picture(PillowImage.fromarray(pixels), is_bird=is_bird))
