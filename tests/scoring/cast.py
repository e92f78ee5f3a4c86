"""Rows and pictures that the scoring tests share."""

import random
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adjudication.models import Ruling
from labeling.enums import Label
from labeling.models import Image
from labeling.png import encode_png, pixels_sha256
from labeling.policy import Policy
from labeling.store import picture_key, picture_store
from scoring import services
from scoring.models import Defense
from scoring.reference import REFERENCES
from scoring.reference.drawing import draw
from scoring.runner import Answers, ReferenceRunner, ReferenceSession
from tests import factories

SIZE = 75
POLICY = Policy(image_size=SIZE, batch_size=4)


def stored(picture: NDArray[np.uint8]) -> Image:
    """An image row whose canonical picture is in the store."""
    size, pixels = len(picture), picture.tobytes()
    sha = pixels_sha256(size, size, pixels)
    picture_store().put(picture_key(sha), encode_png(size, size, pixels))
    return factories.image(pixels_sha256=sha, width=size, height=size)


def ruled(image: Image, *, verdict: str = "valid", label: str = "bird", number: int = 1) -> Ruling:
    """A ruling on `image`."""
    return Ruling.objects.create(
        image=image,
        number=number,
        panel=image.panels.first() or factories.panel(image),
        verdict=verdict,
        label=label if verdict == "valid" else "",
        policy=factories.policy_version(),
        response_ids=[],
        decided_at=factories.NOW,
        decided_by="rules",
    )


def valid_pictures(count: int, *, size: int = SIZE) -> list[Image]:
    """Drawn pictures, in the store and ruled valid, birds and bicycles in turn."""
    rng = np.random.default_rng(7)
    images = []
    for number in range(count):
        label = (Label.BIRD, Label.BICYCLE)[number % 2]
        images.append(stored(draw(label, rng, size)))
        ruled(images[-1], label=label)
    return images


def publish(now: datetime, *keys: str) -> list[Defense]:
    """The shipped defenses called `keys`, in force; all of them when none is named."""
    wanted = [each for each in REFERENCES if not keys or each.key in keys]
    return [services.reference_publish(each, now=now)[0] for each in wanted]


def plan(now: datetime, *, seed: int = 1, policy: Policy = POLICY) -> int:
    """One planning sweep."""
    return services.runs_plan(policy=policy, now=now, rng=random.Random(seed))


class Answering(ReferenceRunner):
    """A runner whose session is the real one, except that the defenses called `names` do what `misbehave` does."""

    def __init__(self, names: Sequence[str], misbehave: Any) -> None:
        self.names, self.misbehave = names, misbehave

    def open(self, defense: Defense, **values: Any) -> Any:
        session = super().open(defense, **values)
        return Misbehaving(session, self.misbehave) if defense.name in self.names else session


class Misbehaving:
    """Hands the real answers to `misbehave` on their way out."""

    def __init__(self, session: ReferenceSession, misbehave: Any) -> None:
        self.session, self.misbehave, self.device = session, misbehave, session.device

    def predict(self, images: NDArray[np.uint8]) -> Any:
        answers: Answers = self.session.predict(images)
        return self.misbehave(answers)

    def close(self) -> None:
        self.session.close()
