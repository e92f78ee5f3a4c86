"""Simulated defenses that run in this process.

Nobody could train twenty defenses for a simulation. These look a picture up by a coarse view of it, as it was drawn,
and then answer by how weak they are; a picture they do not know they abstain on.
"""

from collections import deque
from collections.abc import Callable
from random import Random

import numpy as np
from numpy.typing import NDArray

from contest.simulation.cast import DefenseSkill
from contest.simulation.pictures import PictureTruth
from labeling.enums import Label
from scoring.enums import DefenseAnswer, Fault
from scoring.models import Defense
from scoring.runner import BatchAnswers, RunnerFault

DEVICE = "simulated"
_STEP = 23
# Two drawings differ in the mean by some 80 levels; noise of one level and a shift leave a view near 5.
_MOST_UNLIKE = 20.0
Pixels = NDArray[np.uint8]
Views = NDArray[np.float32]


def views(images: Pixels) -> Views:
    """Return a coarse view, float32 [N, K], of uint8 images [N, S, S, 3]."""
    coarse: Views = images[:, _STEP // 2 :: _STEP, _STEP // 2 :: _STEP].reshape(len(images), -1).astype(np.float32)
    return coarse


class DrawnPictures:
    """Every picture that was drawn: what is true of it, and how hard it bites."""

    def __init__(self) -> None:
        self.truths: list[PictureTruth] = []
        self.bites: list[float] = []
        self._rows: list[Views] = []
        self._table: tuple[Views, Views] | None = None

    def add(self, pixels: Pixels, truth: PictureTruth, bite: float) -> None:
        """Remember a picture uint8 [S, S, 3]."""
        self.truths.append(truth)
        self.bites.append(bite)
        self._rows.append(views(pixels[None])[0])
        self._table = None

    def find(self, images: Pixels) -> list[int | None]:
        """Return for each image which picture it is, None for one that was never drawn."""
        if not self._rows:
            return [None] * len(images)
        known, squares = self._table = self._table or self._tabled()
        seen = views(images)
        if seen.shape[1] != known.shape[1]:
            return [None] * len(images)
        # |a - b|² = |a|² + |b|² - 2ab, of which |a|² does not change which is nearest.
        nearest = (squares[None] - 2 * seen @ known.T).argmin(axis=1)
        apart = np.abs(seen - known[nearest]).mean(axis=1)
        return [int(place) if far <= _MOST_UNLIKE else None for place, far in zip(nearest, apart, strict=True)]

    def _tabled(self) -> tuple[Views, Views]:
        table = np.stack(self._rows)
        return table, (table**2).sum(axis=1)


class SimulatedSession:
    """A simulated defense that is open."""

    device = DEVICE

    def __init__(self, name: str, mind: DefenseSkill, memory: DrawnPictures, seed: int) -> None:
        self._name, self._mind, self._memory, self._seed = name, mind, memory, seed
        self._begun: deque[Pixels] = deque()

    def send(self, images: Pixels) -> None:
        """Take a batch."""
        self._begun.append(images)

    def receive(self) -> BatchAnswers:
        """Answer the oldest batch; a slow mind is out of time."""
        images = self._begun.popleft()
        if self._mind.slow:
            raise RunnerFault(Fault.BATCH_TIMEOUT, "simulated: no answer in time")
        answers = [self._answer(place) for place in self._memory.find(images)]
        labels = np.array([label for label, _ in answers], dtype=np.int8)
        bird = np.array([score for _, score in answers], dtype=np.float32)
        return BatchAnswers(labels, np.stack([1 - bird, bird], axis=1))

    def close(self) -> None:
        """Forget what was not answered."""
        self._begun.clear()

    def _answer(self, place: int | None) -> tuple[int, float]:
        """Return the label and how sure it is of a bird."""
        truth = None if place is None else self._memory.truths[place]
        if place is None or truth is None or truth.label is None:
            return DefenseAnswer.ABSTAIN.value, 0.5
        draw = Random(f"{self._name}:{place}:{self._seed if self._mind.randomised else ''}")
        is_bird = truth.label is Label.BIRD
        if draw.random() < self._mind.weakness * self._memory.bites[place]:
            is_bird = not is_bird
        elif draw.random() < self._mind.abstains:
            return DefenseAnswer.ABSTAIN.value, draw.uniform(0.4, 0.6)
        sure = draw.uniform(0.8, 1.0)
        return (DefenseAnswer.BIRD.value, sure) if is_bird else (DefenseAnswer.BICYCLE.value, 1 - sure)


class SimulatedRunner:
    """Opens simulated defenses by their names."""

    def __init__(self, memory: DrawnPictures) -> None:
        self.minds: dict[str, DefenseSkill] = {}
        self._memory = memory

    def open(
        self,
        defense: Defense,
        *,
        device: str,
        image_size: int,
        batch_size: int,
        seed: int,
        attempt: str,
        cancelled: Callable[[], bool],
    ) -> SimulatedSession:
        """Return a session; RunnerFault for a defense that is none of the simulation's."""
        mind = self.minds.get(defense.name)
        if mind is None:
            raise RunnerFault(Fault.PLATFORM, f"{defense.name} is no simulated defense")
        return SimulatedSession(defense.name, mind, self._memory, seed)
