"""Rows, pictures and defenses that the tests of trials share."""

import random
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from defense_kit.conversation import ConversationDeadlines
from defense_kit.harness import DefenseSession, open_defense
from defense_kit.limits import DefenseLimits
from defense_kit.process import start_process
from defense_kit.shared_batches import own_places
from labeling.enums import Label
from labeling.models import Image
from labeling.selectors import forget_versions
from picture_files.png import encode_png
from policy.models import PolicyVersion
from scoring.arrays import load_picture
from scoring.enums import DefenseAnswer, RunState, TrialKind
from scoring.models import Defense, PrivateSet, Trial
from scoring.reference.drawing import draw
from scoring.runner import BatchAnswers
from scoring.trials import private_set, selectors, services
from scoring.trials.published import PublishedImages
from tests import factories
from tests.scoring.cast import POLICY, SIZE, work_all

NAMED = {Label.BIRD: DefenseAnswer.BIRD, Label.BICYCLE: DefenseAnswer.BICYCLE}


def policy_in_force(**values: Any) -> None:
    """Put the small pictures' policy in force, changed by `values`."""
    factories.policy_version()
    PolicyVersion.objects.update(numbers=replace(POLICY, **values).to_json())
    forget_versions()


def photograph(label: str = Label.BIRD, seed: int = 1) -> bytes:
    """A drawn picture as a file."""
    return encode_png(SIZE, SIZE, draw(Label(label), np.random.default_rng(seed), SIZE).tobytes())


def private(
    pictures: int = 10,
    *,
    seed: int = 90,
    now: datetime = factories.NOW,
    labels: Sequence[Label] = (Label.BIRD, Label.BICYCLE),
) -> PrivateSet:
    """A complete private set, its classes being `labels` again and again."""
    found, _ = private_set.private_set_begin(note="our own garden", by=None, now=now)
    shas = []
    for number in range(pictures):
        label = labels[number % len(labels)]
        data = photograph(label, seed + number)
        row, _ = private_set.private_picture_add(found, data, label=label, source=f"{number}.png", size=SIZE)
        shas.append(row.pixels_sha256)
    private_set.private_set_complete(found, meant=shas, by=None, now=now)
    return found


def container(name: str = "newcomer", **values: Any) -> Defense:
    """A container before its publication."""
    digest = f"sha256:{name.encode().hex():0<64}"[:71]
    defaults = {"name": name, "image": digest, "digest": digest, "created_at": factories.NOW}
    return Defense.objects.create(**(defaults | values))


def ask(defense: Defense, kind: TrialKind, now: datetime, *, seed: int = 3, **values: Any) -> Trial:
    """A trial queued, its predecessors being passed where they have to be."""
    for earlier in selectors.IN_ORDER[: selectors.IN_ORDER.index(kind)]:
        if defense.image and not Trial.objects.filter(defense=defense, kind=earlier).exists():
            passed(defense, earlier)
    return services.trial_request(defense, kind, by=None, policy=POLICY, now=now, rng=random.Random(seed), **values)


GOOD: dict[TrialKind, dict[str, Any]] = {
    TrialKind.SMOKE: {"accepted": True},
    TrialKind.PRIVATE: {"pictures": 10, "right": 9, "abstained": 1, "rows": 16, "milliseconds": 900},
    TrialKind.EARLIER: {"pictures": 4, "right": 2, "abstained": 2},
    TrialKind.PROBE: {"pictures": 0, "shown": False},
}


def passed(defense: Defense, kind: TrialKind, **values: Any) -> Trial:
    """A finished trial with good totals."""
    in_force = selectors.private_set_in_force() or private(2, seed=990)
    good = GOOD[kind]
    if kind is TrialKind.EARLIER:
        asked = selectors.pictures_fingerprint(selectors.earlier_questions(now=factories.NOW))
        good = good | {selectors.ASKED: {"sha256": asked}}
    defaults = {
        "state": RunState.FINISHED,
        "number": Trial.objects.filter(defense=defense, kind=kind).count() + 1,
        "private_set": in_force if kind is TrialKind.PRIVATE else None,
        "seed": 1,
        "batch_size": 4,
        "totals": good,
        "created_at": factories.NOW,
        "finished_at": factories.NOW,
    }
    return Trial.objects.create(defense=defense, kind=kind, **(defaults | values))


class Scripted:
    """A session whose answers `answer` gives for each batch of images; it stands in for a program of anybody."""

    device = "cpu, test"

    def __init__(self, answer: Callable[[Any], Any], *, image_size: int, batch_size: int) -> None:
        self._answer, self._begun, self.closed = answer, list[Any](), False
        self.places = deque(own_places((batch_size, image_size, image_size, 3), np.dtype(np.uint8)))

    def send(self, images: Any) -> None:
        self.places.rotate(-1)
        self._begun.append(images)

    def receive(self) -> Any:
        return self._answer(self._begun.pop(0))

    def close(self) -> None:
        self.closed = True


class Opening:
    """Finds the same scripted program for every defense; remembers what it was opened for.

    An error in the place of an answer: the program does not open.
    """

    def __init__(self, answer: Callable[[Any], Any] | Exception) -> None:
        self._answer = answer
        self.opened: list[dict[str, Any]] = []
        self.sessions: list[Scripted] = []

    def __call__(self, defense: Defense) -> "Opening":
        return self

    def open(self, defense: Defense, **values: Any) -> Scripted:
        if isinstance(self._answer, Exception):
            raise self._answer
        self.opened.append({name: values[name] for name in ("device", "image_size", "batch_size", "seed")})
        sizes = {name: values[name] for name in ("image_size", "batch_size")}
        self.sessions.append(Scripted(self._answer, **sizes))
        return self.sessions[-1]


def answers(labels: Sequence[int]) -> BatchAnswers:
    """Legal answers."""
    return BatchAnswers(np.array(labels, np.int8), np.tile(np.array([0.25, 0.75], np.float32), (len(labels), 1)))


def knowing(labels: dict[bytes, int], otherwise: int = DefenseAnswer.ABSTAIN) -> Callable[[Any], BatchAnswers]:
    """A program that looks pictures up by their pixels."""
    return lambda images: answers([labels.get(image.tobytes(), otherwise) for image in images])


def truth_of(found: Sequence[selectors.TrialPicture], key: Callable[[str], str]) -> dict[bytes, int]:
    """The right answers by pixels."""
    return {load_picture(q.pixels_sha256, q.size, key, cached=False).tobytes(): NAMED[q.label] for q in found}


def work(now: datetime, find_runner: Any) -> int:
    """Work until nothing waits; return how much was worked on."""
    return work_all(now, device="cpu", find_runner=find_runner)


class InProcess:
    """Runs a defense's program as a process of this machine, through the contest's own harness."""

    def __init__(self, folder: Path, program: str) -> None:
        self._folder = folder
        (folder / "defense.py").write_text(program)

    def __call__(self, defense: Defense) -> "InProcess":
        return self

    def open(
        self, defense: Defense, *, device: str, image_size: int, batch_size: int, seed: int, **_: Any
    ) -> DefenseSession:
        opened = open_defense(
            lambda path: start_process([sys.executable, "defense.py"], self._folder, path, DefenseLimits()),
            image_size=image_size,
            batch_size=batch_size,
            seed=seed,
            deadlines=ConversationDeadlines(30, 10, 30),
        )
        opened.device = f"{device}, process"
        return opened


def published(monkeypatch: pytest.MonkeyPatch, images: Sequence[Image]) -> None:
    """Let these pictures be public."""
    public = Image.objects.filter(pk__in=[image.pk for image in images])
    monkeypatch.setattr(PublishedImages, "find", staticmethod(public.all))
