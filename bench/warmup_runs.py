"""The pictures that the warm-up is measured on, and our attacks on them."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from bench.networks import CNN, RESNET50
from bench.warmup_defense import opened
from defense_kit.allocator import keep_memory
from defense_kit.harness import DefenseSession
from defense_kit.warmup.attacks import SIDE, Attack, AttackedPicture, AttackResult, Rows, as_floats
from defense_kit.warmup.boundary import BoundaryState, boundary, distance
from defense_kit.warmup.measure import attacks_at_once, rows_of_batch
from defense_kit.warmup.pictures import attacked_picture
from defense_kit.warmup.scheduler import Scheduler
from defense_kit.warmup.spsa import first_move
from defense_kit.warmup.streams import Purpose, Streams
from labeling.enums import Label
from scoring.reference.drawing import draw

_PHOTOGRAPH = 299  # pixels of a drawn photograph's side
_STARTS = 4
Begin = Callable[[AttackedPicture], Attack]


@dataclass(frozen=True, slots=True)
class Speed:
    """What is timed: an attack on a network with so many rows a batch at most, for so many seconds in the middle of a
    run; the bare pass takes so many `batches`."""

    network: str
    attack: str
    rows: int
    batches: int
    seconds: float


@dataclass(frozen=True, slots=True)
class WarmupPlan:
    """How much of everything: attacks, pictures, steps of peers, and how many times as long as ours a peer may take."""

    rounds: int = 3
    speeds: Sequence[Speed] = (
        *(Speed(CNN, attack, 64, 100, 12) for attack in ("spatial_grid", "spsa", "boundary")),
        Speed(RESNET50, "spsa", 16, 4, 45),
        Speed(RESNET50, "boundary", 4, 8, 30),
    )
    pictures: int = 24  # of the boundary attack
    spsa_pictures: int = 6
    drawn: int = 60
    peer_boundary_steps: int = 1000
    spsa_steps: int = 60
    grid_pictures: int = 2
    art_pictures: int = 2
    patience: float = 5.0


QUICK = WarmupPlan(1, (Speed(CNN, "spsa", 16, 1, 0.1),), 2, 2, 8, 2, 2, 1, 1, 2.0)


def drawn_picture(label: Label, number: int) -> AttackedPicture:
    """Return the same drawing for the same number."""
    pixels = draw(label, np.random.default_rng([number, label is Label.BIRD]), _PHOTOGRAPH)
    return attacked_picture(Image.fromarray(pixels), is_bird=label is Label.BIRD)


@cache
def _network() -> Any:
    import torch

    from bench.peers.network import recorded

    network = recorded(torch)
    return lambda rows: network(torch.from_numpy(rows).permute(0, 3, 1, 2)).numpy()


def margins_of(of: Sequence[AttackedPicture], rows: Rows) -> NDArray[np.float64]:
    """Return the margin of each picture's row, as this program sees it, whoever made the row."""
    return np.concatenate([each.margins(scores[np.newaxis]) for each, scores in zip(of, _network()(rows), strict=True)])


def moved(attack: str, pictures: Sequence[AttackedPicture]) -> Rows:
    """Return the moved pictures that an attack begins from."""
    return np.stack([first_move(each, Streams(attack, each.sha256)) for each in pictures])


def chosen(plan: WarmupPlan) -> list[AttackedPicture]:
    """Return drawn bicycles that are right also when they are moved, those with the smallest margins: the network calls
    most birds in a black border bicycles."""
    drawn = [drawn_picture(Label.BICYCLE, number) for number in range(plan.drawn)]
    margins = np.maximum(*(margins_of(drawn, moved(attack, drawn)) for attack in ("spsa", "boundary")))
    nearest = [number for number in np.argsort(-margins) if margins[number] < 0]
    return [drawn[number] for number in nearest[: plan.pictures]]


def starts() -> list[AttackedPicture]:
    """Return drawn birds that the network calls birds."""
    drawn = [drawn_picture(Label.BIRD, number) for number in range(5 * _STARTS)]
    margins = margins_of(drawn, np.stack([as_floats(each.pixels) for each in drawn]))
    return [each for each, margin in zip(drawn, margins, strict=True) if margin < 0][:_STARTS]


def first_starts(of: Sequence[AttackedPicture]) -> Rows:
    """Return the picture that our boundary attack begins from, for each: other libraries are given the same."""
    others = sorted(starts(), key=lambda each: each.sha256)
    orders = (Streams("boundary", each.sha256).draws(Purpose.BOUNDARY_STARTS) for each in of)
    return np.stack([as_floats(others[draws.permutation(len(others))[0]].pixels) for draws in orders])


@dataclass(frozen=True, slots=True)
class Ran:
    """What an attack came to on all pictures. An event is (picture, queries of it, seconds, L2) of a nearer one."""

    pictures: Rows
    seconds: float
    queries: Sequence[int]
    events: NDArray[np.float64]


@contextmanager
def started(place: Path, batch: int) -> Iterator[DefenseSession]:
    """Start the defense in `place`, have it answer a first batch, and yield it."""
    keep_memory()
    with opened(place, batch) as defense:
        defense.send(np.zeros((batch, SIDE, SIDE, 3), np.float32))
        defense.receive()
        yield defense


def run_attack(place: Path, of: Sequence[AttackedPicture], begin: Begin, batch: int, running: int) -> Ran:
    """Run an attack on pictures against the defense in `place`; its start is not counted."""
    with started(place, batch) as defense:
        scheduler, began = Scheduler[int](defense, batch=batch, max_running=running), time.perf_counter()
        found = dict(scheduler.run((number, begin(each)) for number, each in enumerate(of)))
        seconds = time.perf_counter() - began
    results: list[AttackResult] = [found[number] for number in range(len(of))]
    queries = [each.queries for each in results]
    return Ran(np.stack([each.picture for each in results]), seconds, queries, np.empty((0, 4)))


class _Over(Exception):
    """Enough was timed."""


def steady_speed(place: Path, attacks: Iterable[Attack], speed: Speed, pictures: int) -> float:
    """Return the queries a second of attacks on so many pictures in the middle of a run.

    What comes before, a third as long, is not counted.
    """
    moments, batch = list[tuple[float, int]](), rows_of_batch(speed.attack, speed.rows, pictures)
    with started(place, speed.rows) as defense:
        running = min(pictures, attacks_at_once(speed.attack, batch))
        scheduler, began = Scheduler[int](defense, batch=batch, max_running=running), time.perf_counter()

        def note() -> None:
            seconds = time.perf_counter() - began
            if seconds > speed.seconds / 3:
                moments.append((seconds, scheduler.rows_wanted))
            if seconds > speed.seconds * 4 / 3 and len(moments) > 1:
                raise _Over

        scheduler.on_sent = note
        with suppress(_Over):
            for _ in scheduler.run(enumerate(attacks)):
                continue
    (first, before), (last, after) = moments[0], moments[-1]
    return (after - before) / (last - first)


def boundary_ran(place: Path, of: Sequence[AttackedPicture], plan: WarmupPlan) -> Ran:
    """Run the boundary attack for some steps, two batches on their way with half of the pictures each."""
    events, began = list[tuple[float, float, float, float]](), time.perf_counter()
    others = [each.pixels for each in sorted(starts(), key=lambda each: each.sha256)]
    goals = moved("boundary", of)
    numbers = {each.sha256: number for number, each in enumerate(of)}

    def begin(each: AttackedPicture) -> Attack:
        number = numbers[each.sha256]

        def keep(state: BoundaryState) -> None:
            far = distance(goals[number], state.at)
            events.append((number, state.queries, time.perf_counter() - began, far))

        return boundary(each, others, keep=keep, steps=plan.peer_boundary_steps)

    ran = run_attack(place, of, begin, max(1, len(of) // 2), len(of))
    late = time.perf_counter() - began - ran.seconds  # the defense's start
    found = np.array(events)
    found[:, 2] -= late
    return Ran(ran.pictures, ran.seconds, ran.queries, found)
