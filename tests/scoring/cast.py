"""Rows and pictures that the scoring tests share."""

import random
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError
from numpy.typing import NDArray

from adjudication.models import Ruling
from labeling.enums import Label
from labeling.models import Image
from picture_files.png import encode_png, pixels_sha256
from picture_files.store import picture_key, picture_store
from policy.numbers import Policy
from scoring import reruns, services
from scoring.arrays import load_picture
from scoring.engine import ScoringEngine
from scoring.enums import Fault
from scoring.models import Defense, Rerun
from scoring.reference import REFERENCES
from scoring.reference.drawing import draw
from scoring.rerun_preparation import reruns_prepare
from scoring.rerun_scope import Scope
from scoring.runner import BatchAnswers, ReferenceRunner, ReferenceSession, RunnerFault
from tests import factories

SIZE = 75
POLICY = Policy(image_size=SIZE, batch_size=4)


def stored(picture: NDArray[np.uint8]) -> Image:
    """An image row whose canonical picture is in the store."""
    size, pixels = len(picture), picture.tobytes()
    sha = pixels_sha256(size, size, pixels)
    picture_store().put(picture_key(sha), encode_png(size, size, pixels))
    return factories.image(pixels_sha256=sha, width=size, height=size)


def ruled(image: Image, *, verdict: str = "valid", label: str = "bird", number: int = 1, **values: Any) -> Ruling:
    """A ruling on `image`."""
    by_rules = {"decided_at": factories.NOW, "decided_by": "rules", "response_ids": []}
    return Ruling.objects.create(
        image=image,
        number=number,
        panel=image.panels.first() or factories.panel(image),
        verdict=verdict,
        label=label if verdict == "valid" else "",
        policy=factories.policy_version(),
        **(by_rules | values),
    )


def valid_pictures(count: int, *, size: int = SIZE, seed: int = 7) -> list[Image]:
    """Drawn pictures, in the store and ruled valid, birds and bicycles in turn."""
    rng = np.random.default_rng(seed)
    images = []
    for number in range(count):
        label = (Label.BIRD, Label.BICYCLE)[number % 2]
        images.append(stored(draw(label, rng, size)))
        ruled(images[-1], label=label)
    return images


def publish(now: datetime, *keys: str) -> list[Defense]:
    """The shipped defenses called `keys`, in force; all of them when none is named."""
    return [services.reference_publish(each, now=now)[0] for each in REFERENCES if not keys or each.key in keys]


def plan(now: datetime, *, seed: int = 1, policy: Policy = POLICY) -> int:
    """One planning sweep."""
    return services.runs_plan(policy=policy, now=now, rng=random.Random(seed))


def queued(now: datetime, *keys: str, pictures: int = 2, **values: Any) -> list[Defense]:
    """The shipped defenses called `keys` in force, and runs planned on so many valid pictures."""
    defenses = publish(now, *keys)
    valid_pictures(pictures, **values)
    plan(now)
    return defenses


def answered(now: datetime, *keys: str, pictures: int = 2, find_runner: Any = None) -> list[Defense]:
    """The shipped defenses called `keys`, which have answered so many pictures in each round."""
    defenses = queued(now, *keys, pictures=pictures)
    work_all(now, find_runner=find_runner or shipped)
    return defenses


def answered_later(now: datetime, pictures: int, **values: Any) -> None:
    """More pictures, ruled valid and answered by whatever is in force."""
    valid_pictures(pictures, **{"seed": 8, **values})
    plan(now, seed=2)
    work_all(now)


def prepare(now: datetime, *, seed: int = 5) -> int:
    """Sweep until no re-run is being prepared; return how many steps it took."""
    rng = random.Random(seed)
    return sum(iter(lambda: reruns_prepare(now=now, rng=rng), 0))


def begun(defense: Defense, by: User, now: datetime, *, scope: Scope, reason: str = "why") -> Rerun:
    """A re-run that was asked for and is prepared: its runs wait in the queue."""
    rerun = reruns.rerun_start(defense=defense, scope=scope, reason=reason, by=by, now=now)
    prepare(now)
    rerun.refresh_from_db()
    return rerun


class Seeing(ReferenceRunner):
    """A runner whose sessions hand the real answers and the pictures to `change` on their way out.

    Sending ends in a crash while a batch for which `fails_late` is true is not answered yet.
    """

    def __init__(self, change: Any, fails_late: Any = None, names: Sequence[str] | None = None) -> None:
        self.change, self.fails_late, self.names = change, fails_late, names

    def open(self, defense: Defense, **values: Any) -> Any:
        session = super().open(defense, **values)
        is_meant = self.names is None or defense.name in self.names
        return SeeingSession(session, self.change, self.fails_late) if is_meant else session


class Answering(Seeing):
    """A runner whose session is the real one, except that the defenses called `names` do what `misbehave` does."""

    def __init__(self, names: Sequence[str], misbehave: Any) -> None:
        super().__init__(lambda answers, _: misbehave(answers), names=names)


class SeeingSession:
    """Keeps the pictures until their answers go out."""

    def __init__(self, session: ReferenceSession, change: Any, fails_late: Any) -> None:
        self.session, self.change, self.fails_late, self.device = session, change, fails_late, session.device
        self.places = session.places
        self.begun: list[NDArray[np.uint8]] = []

    def send(self, images: NDArray[np.uint8]) -> None:
        if self.fails_late is not None and any(map(self.fails_late, self.begun)):
            raise RunnerFault(Fault.CRASHED, "hung up while it was sent a batch")
        self.begun.append(images)
        self.session.send(images)

    def receive(self) -> Any:
        return self.change(self.session.receive(), self.begun.pop(0))

    def close(self) -> None:
        self.session.close()


def crashed() -> RunnerFault:
    """A program that ended by itself."""
    return RunnerFault(Fault.CRASHED, "ended with status 1")


def killed() -> RunnerFault:
    """A program that was ended by a signal, which may have been its own or somebody else's."""
    return RunnerFault(Fault.PLATFORM, "ended with status 137: it was killed", killed=True)


def allergic_to(*poison: Image, late: bool = False, fault: Callable[[], RunnerFault] = crashed) -> Any:
    """How to find runners whose defenses end with `fault` on a batch with one of `poison` in it.

    `late`: a crash shows while the next batch is being sent, if there is one.
    """
    bad = [load_picture(image.pixels_sha256, image.width) for image in poison]

    def is_bad(images: NDArray[np.uint8]) -> bool:
        return any(np.array_equal(image, each) for image in images for each in bad)

    def crash(answers: BatchAnswers, images: NDArray[np.uint8]) -> BatchAnswers:
        if is_bad(images):
            raise fault()
        return answers

    return lambda _: Seeing(crash, is_bad if late else None)


def answering(change: Callable[[BatchAnswers], BatchAnswers], *names: str) -> Any:
    """How to find runners whose defenses called `names` (all shipped ones) do what `change` does with real answers."""
    return lambda _: Answering(names or [each.name for each in REFERENCES], change)


def raising(error: BaseException) -> Callable[[BatchAnswers], BatchAnswers]:
    """What a defense does that fails on everything."""

    def misbehave(_: BatchAnswers) -> BatchAnswers:
        raise error

    return misbehave


def server_gone_at(sql_start: str, nth: int) -> Callable[..., Any]:
    """A wrapper of statements: the database goes away at the `nth` one that begins with `sql_start`."""
    seen = []

    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        seen.extend([1] * sql.startswith(sql_start))
        if sql.startswith(sql_start) and len(seen) == nth:
            raise DatabaseError("the server went away")
        return execute(sql, params, many, context)

    return wrapper


def away(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, errors: list[Exception], *, kept: bool = False
) -> None:
    """Let the database be away when `name` is called, once for each error; `kept`: after it was carried out."""
    real = getattr(module, name)

    def restarting(*asked: Any, **values: Any) -> Any:
        if not errors:
            return real(*asked, **values)
        if kept:
            real(*asked, **values)
        raise errors.pop()

    monkeypatch.setattr(module, name, restarting)
    monkeypatch.setattr("scoring.persistence.time.sleep", lambda _: None)
    monkeypatch.setattr("scoring.persistence.connection.close", lambda: None)  # the test's own transaction


def shipped(defense: Defense) -> ReferenceRunner:
    """How to find the runner where there are shipped defenses only."""
    return ReferenceRunner()


def scorer_at(now: datetime, *, device: str = "auto", name: str = "one", find_runner: Any = shipped) -> ScoringEngine:
    """A scorer whose clock stands still, on a card where there is one."""
    return ScoringEngine(name=name, clock=lambda: now, device=device, find_runner=find_runner)


def work_all(now: datetime, *, device: str = "auto", name: str = "one", **values: Any) -> int:
    """Work until nothing waits; return how many runs were worked on."""
    with scorer_at(now, device=device, name=name, **values) as scorer:
        return sum(iter(scorer.work, 0))
