"""The ways of running a network, timed side by side; imported where Django is set up (`bench.scored`).

Each way is timed in two parts: batches that lie in memory until their answers are there, which is what the wire and
the harness cost, and the whole of the contest's work, from the claim of a run to the rows of its answers. Each turn is
in a process of its own, because where a process's memory happens to lie makes several per cent.
"""

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from django.db import connection
from django.utils import timezone

from bench.networks import BARE_WAYS, SIDE, Bare, build, weights
from bench.scored import defense, pictures, policy_of
from defense_kit.conversation import ConversationDeadlines
from defense_kit.limits import DefenseLimits
from labeling.models import Image
from scoring import leases, services
from scoring.engine import ScoringEngine
from scoring.inference import TorchForward, choose_device, describe_device
from scoring.models import Prediction, Run
from scoring.reference.demo_cnn import DemoCnn
from scoring.runner import ReferenceSession
from scoring.sealed import ContainerRunner

_WARM_BATCHES = 2  # not counted: memory is taken and the container's libraries are read


def turn(
    name: str, image: str, device: str, batch_size: int, batches: int, *, backwards: bool
) -> tuple[str, dict[str, float]]:
    """Time the network of this name alone and in each way of running it, one after the other, in an empty site.

    `image` is what the engine calls its container; without one, it is not sealed. Return the device, and pictures a
    second of each way.
    """
    chosen = choose_device(device)
    policy = policy_of(batch_size, SIDE, 2, timezone.now())
    with tempfile.TemporaryDirectory(prefix="unanimous-bench-", dir="/var/tmp") as folder, ExitStack() as stack:
        file = weights(name, Path(folder))
        arms = [_Arm(name, "", partial(_InWorker, name, file), chosen, policy)]
        if image:
            arms.append(_Arm(name, image, partial(_sealed, Path(folder)), chosen, policy))
        ways: dict[str, Callable[[], float]] = {
            way: partial(_alone, partial(Bare, name, file, chosen, batch_size, settings), batches)
            for way, settings in BARE_WAYS.items()
        }
        for arm in arms:
            stack.callback(arm.close)
            ways |= {f"{arm.way}, answers": partial(arm.answers, batches), f"{arm.way}, rows": arm.rows}
        _add_pictures(batch_size * _WARM_BATCHES)
        for arm in arms:
            arm.answers(_WARM_BATCHES)
            arm.rows()
        _add_pictures(batch_size * batches)
        return describe_device(chosen), {way: ways[way]() for way in (reversed(ways) if backwards else ways)}


def _add_pictures(count: int) -> None:
    pictures(Image.objects.count() + 1, count, SIDE, timezone.now())
    _settle()


def _settle() -> None:
    """Have what was just made written, vacuumed and analyzed now: else it happens while something is timed."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")
    os.sync()


def _alone(start: Callable[[], Bare], batches: int) -> float:
    """Time the network in a process that nothing else is in."""
    with start() as bare:
        bare(_WARM_BATCHES)
        return bare(batches)


class _InWorker:
    """Opens a network as the shipped defense opens its own."""

    def __init__(self, name: str, file: Path, _part: str) -> None:
        self._name, self._file = name, file

    def open(self, defense: Any, *, device: str, image_size: int, batch_size: int, **_: Any) -> Any:
        make = partial(build, self._name)
        forward = TorchForward(make, self._file, device=device, rows=batch_size, image_size=image_size)
        model = DemoCnn(forward, describe_device(device))
        return ReferenceSession(model, image_size=image_size, batch_size=batch_size)


def _sealed(folder: Path, part: str) -> Any:
    """Return what opens a network in a container, with the limits of a contest that changed nothing.

    A scorer has one container at a time, so each part is a scorer of its own.
    """
    return ContainerRunner(
        scorer=f"bench-{part}",
        folder=folder / part,
        limits=DefenseLimits(),
        deadlines=lambda rows: ConversationDeadlines(start=300, hello=60, batch=8 * rows),
        min_free_bytes=1 << 30,
    )


class _Arm:
    """One way of running a network: a session to itself, and a scorer that works the contest's queue with it."""

    def __init__(self, name: str, image: str, runner: Callable[[str], Any], device: str, policy: Any) -> None:
        self.way = "container" if image else "worker"
        self._policy, self._made = policy, defense(f"{name}, {self.way}", image, timezone.now())
        self._made.retired_at = timezone.now()
        self._made.save()
        self._session = runner("answers").open(
            self._made, device=device, image_size=policy.image_size, batch_size=policy.batch_size, seed=1
        )
        rows = runner("rows")
        self._scorer = ScoringEngine(name="bench", clock=timezone.now, device=device, find_runner=lambda _: rows)

    def answers(self, batches: int) -> float:
        """Have so many batches of noise answered, two on their way at a time as the scorer keeps them."""
        rng = np.random.default_rng(1)
        shape = (self._policy.batch_size, SIDE, SIDE, 3)
        noise = [rng.integers(0, 256, shape, dtype=np.uint8) for _ in range(2)]
        _settle()
        started = time.perf_counter()
        self._session.send(noise[0])
        for number in range(1, batches):
            self._session.send(noise[number % 2])
            self._session.receive()
        self._session.receive()
        return batches * self._policy.batch_size / (time.perf_counter() - started)

    def rows(self) -> float:
        """Have all new pictures scored, from the claim of a run to the rows of its answers."""
        self._plan()
        before = Prediction.objects.count()
        started = time.perf_counter()
        while leases.waiting(Run, now=timezone.now()).exists():  # with nothing to do it would end what is loaded
            self._scorer.work()
        seconds = time.perf_counter() - started
        return (Prediction.objects.count() - before) / seconds

    def _plan(self) -> None:
        """Plan the runs of this defense alone."""
        self._made.retired_at = None
        self._made.save()
        services.runs_plan(policy=self._policy, now=timezone.now(), rng=Random(1))
        # Those of the last round are opened anew, each of them: what that costs is not what is measured here.
        Run.objects.filter(fresh=True).update(not_before=timezone.now() + timedelta(days=1))
        self._made.retired_at = timezone.now()
        self._made.save()
        _settle()

    def close(self) -> None:
        """End what is loaded."""
        self._session.close()
        self._scorer.close()
