"""The published order of the pictures, what is wrong about a tie, and the pictures of the boundary attack."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from defense_kit.warmup.attacks import AttackedPicture, Scores
from defense_kit.warmup.pictures import LabelledPicture
from defense_kit.warmup.streams import Streams

BOUNDARY_PICTURES = 100  # 25 batches of 4


@dataclass(frozen=True, slots=True)
class PublishedPicture(AttackedPicture):
    """A picture for which equal scores are the answer bicycle."""

    def is_wrong(self, scores: Scores) -> bool:
        """Say whether the scores [2] are finite and answer the other class."""
        margin = self.margins(scores[np.newaxis])[0]
        return bool(margin > 0 or (margin == 0 and self.is_bird))


def shuffled(pictures: Sequence[LabelledPicture]) -> list[LabelledPicture]:
    """Return the pictures in a drawn order: by the keys of streams of their own."""
    ordered = sorted(pictures, key=lambda each: Streams("order", each.picture.sha256).key)
    return [replace(each, picture=_published(each.picture)) for each in ordered]


def _published(of: AttackedPicture) -> PublishedPicture:
    return PublishedPicture(of.pixels, of.is_bird, of.sha256)


def boundary_pictures(pictures: Sequence[LabelledPicture]) -> Sequence[LabelledPicture]:
    """Return those that the boundary attack takes: the first of the order."""
    return pictures[:BOUNDARY_PICTURES]
