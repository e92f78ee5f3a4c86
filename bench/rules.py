"""The rules in one process: opinions ruled upon per second, without database or files."""

import time
from collections.abc import Callable
from random import Random
from statistics import median

from adjudication.rules import CountedOpinion, VerdictPolicy, adjudicate
from bench.forms import IMAGE_SIZE
from bench.outcome import Figure, Section, Table
from labeling.enums import Answer
from labeling.geometry import Box

MIN_PER_SECOND = 100_000
PANEL = 3
_SURE = ((Answer.DEFINITELY_YES, Answer.DEFINITELY_NO), (Answer.DEFINITELY_NO, Answer.DEFINITELY_YES))


def unanimous(rng: Random) -> list[CountedOpinion]:
    """A panel that agrees on a large, whole object: every rule is looked at before the picture is valid."""
    said = rng.choice(_SURE)
    return [CountedOpinion(*said, _box(rng, IMAGE_SIZE * 60), True, True, True) for _ in range(PANEL)]


def mixed(rng: Random) -> list[CountedOpinion]:
    """A panel whose members say anything."""
    return [
        CountedOpinion(
            rng.choice(list(Answer)),
            rng.choice(list(Answer)),
            _box(rng, IMAGE_SIZE * 10) if rng.random() < 0.5 else None,
            rng.random() < 0.8,
            rng.random() < 0.8,
            rng.random() < 0.8,
        )
        for _ in range(PANEL)
    ]


def _box(rng: Random, least: int) -> Box:
    return Box(0, 0, rng.randint(least, IMAGE_SIZE * 100), rng.randint(least, IMAGE_SIZE * 100))


def run(panels: int = 20_000, rounds: int = 5) -> Section:
    """Rule on `panels` panels of each kind, `rounds` times."""
    speeds = {make.__name__: _speed(make, panels, rounds) for make in (unanimous, mixed)}
    rows = [[name, speed / PANEL, speed] for name, speed in speeds.items()]
    return Section(
        "The rules",
        f"`adjudicate` on panels of {PANEL}, in one process; medians of {rounds} rounds.",
        [Table("Rulings", ["opinions", "pictures/s", "responses/s"], rows)],
        [Figure.at_least("responses/s in one process", min(speeds.values()), MIN_PER_SECOND)],
        {"responses_per_second": speeds},
    )


def _speed(make: Callable[[Random], list[CountedOpinion]], panels: int, rounds: int) -> float:
    rng, policy = Random(1), VerdictPolicy()
    given = [make(rng) for _ in range(panels)]
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for opinions in given:
            adjudicate(opinions, policy, width=IMAGE_SIZE, height=IMAGE_SIZE)
        times.append(time.perf_counter() - start)
    return panels * PANEL / median(times)
