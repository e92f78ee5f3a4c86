"""Simulated defenses that run in this process.

Nobody could train twenty defenses for a simulation. These look a picture up by a coarse view of it, as it was drawn,
and then answer by how weak they are; a picture they do not know they abstain on.
"""

from random import Random

import numpy as np
from numpy.typing import NDArray

from contest.simulation.cast import DefenseSkill
from contest.simulation.painting import PaintedPicture, picture_pixels
from labeling.enums import Label
from scoring.enums import DefenseAnswer, Fault
from scoring.models import Defense
from scoring.reference import AtOnce
from scoring.runner import Pixels, ReferenceSession, RunnerFault

DEVICE = "simulated"
_STEP = 23
# Two drawings differ in the mean by some 80 levels; noise of one level and a shift leave a view near 5.
_MAX_MEAN_DIFFERENCE = 20.0


class DrawnPictures:
    """Every picture that was drawn, known by a coarse view of it."""

    def __init__(self) -> None:
        self.pictures: list[PaintedPicture] = []
        self._views: list[NDArray[np.float32]] = []

    def add(self, picture: PaintedPicture) -> None:
        """Remember a picture."""
        self.pictures.append(picture)
        self._views.append(_views(picture_pixels(picture.data)[None])[0])

    def find(self, images: Pixels) -> list[int | None]:
        """Return for each image which picture it is, None for one that was never drawn."""
        seen = _views(images)
        if not self._views or seen.shape[1] != self._views[0].size:
            return [None] * len(images)
        known = np.stack(self._views)
        # |a - b|² = |a|² + |b|² - 2ab, of which |a|² does not change which is nearest.
        nearest = ((known**2).sum(axis=1)[None] - 2 * seen @ known.T).argmin(axis=1)
        apart = np.abs(seen - known[nearest]).mean(axis=1)
        return [int(place) if far <= _MAX_MEAN_DIFFERENCE else None for place, far in zip(nearest, apart, strict=True)]


def _views(images: Pixels) -> NDArray[np.float32]:
    """Return a coarse view, float32 [N, K], of uint8 images [N, S, S, 3]."""
    return images[:, _STEP // 2 :: _STEP, _STEP // 2 :: _STEP].reshape(len(images), -1).astype(np.float32)


class SimulatedDefense(AtOnce):
    """A simulated defense."""

    device = DEVICE

    def __init__(self, name: str, skill: DefenseSkill, drawn: DrawnPictures, seed: int) -> None:
        super().__init__()
        self._name, self._skill, self._drawn, self._seed = name, skill, drawn, seed

    def predict(self, images: Pixels) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Answer a batch; a slow one is out of time."""
        if self._skill.slow:
            raise RunnerFault(Fault.BATCH_TIMEOUT, "simulated: no answer in time")
        labels, bird = zip(*(self._answer(place) for place in self._drawn.find(images)), strict=True)
        scores = np.array(bird, dtype=np.float32)
        return np.array(labels, dtype=np.int8), np.stack([1 - scores, scores], axis=1)

    def _answer(self, place: int | None) -> tuple[int, float]:
        """Return the label and how sure it is of a bird."""
        picture = None if place is None else self._drawn.pictures[place]
        if picture is None or picture.truth.label is None:
            return DefenseAnswer.ABSTAIN.value, 0.5
        draw = Random(f"{self._name}:{place}:{self._seed if self._skill.randomised else ''}")
        is_bird = picture.truth.label is Label.BIRD
        if draw.random() < self._skill.weakness * picture.bite:
            is_bird = not is_bird
        elif draw.random() < self._skill.abstains:
            return DefenseAnswer.ABSTAIN.value, draw.uniform(0.4, 0.6)
        sure = draw.uniform(0.8, 1.0)
        return (DefenseAnswer.BIRD.value, sure) if is_bird else (DefenseAnswer.BICYCLE.value, 1 - sure)


class SimulatedRunner:
    """Opens simulated defenses by their names."""

    def __init__(self, drawn: DrawnPictures) -> None:
        self.skills: dict[str, DefenseSkill] = {}
        self._drawn = drawn

    def open(self, defense: Defense, *, image_size: int, batch_size: int, seed: int, **_: object) -> ReferenceSession:
        """Return a session; RunnerFault for a defense that is none of the simulation's."""
        if defense.name not in self.skills:
            raise RunnerFault(Fault.PLATFORM, f"{defense.name} is no simulated defense")
        model = SimulatedDefense(defense.name, self.skills[defense.name], self._drawn, seed)
        return ReferenceSession(model, image_size=image_size, batch_size=batch_size)
