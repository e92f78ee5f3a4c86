"""How fast the contest scores, against the bare forward pass of the same network; and what a picture costs at all.

As a program it measures this alone, and puts its sections into `bench/results.md` and `bench/results.json`.
"""

import json
import os
import signal
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench import chaos, images
from bench.machine import commit
from bench.networks import CNN, FLOOR, RESNET50, SIDE, THREADS
from bench.outcome import Figure, Section, Table, median_ratio, record_sections
from bench.servers import Cluster, cluster, environment, python
from defense_kit import container
from defense_kit.conversation import ConversationDeadlines
from defense_kit.harness import DefenseSession, open_defense
from defense_kit.limits import DefenseLimits
from defense_kit.sealing import Sealing
from tests.engine import EngineUnavailable
from tests.engine import engine as own_engine
from tests.images import Image, write_archive

BATCH = 16
IN_WORKER, SEALED = 0.95, 0.90
MIN_WIRE_PER_SECOND = 8_000
MAX_GROWTH = 1.2
DEADLINES = ConversationDeadlines(start=120, hello=60, batch=60)
_DISK = "/var/tmp"  # images have gigabytes, and /tmp may be memory
_WIRE = "The wire alone"
_WAYS = {"worker": IN_WORKER, "container": SEALED}


@dataclass(frozen=True, slots=True)
class Timing:
    """How many turns a network is timed, with how many batches each way."""

    turns: int
    batches: int


@dataclass(frozen=True, slots=True)
class ScoringPlan:
    """How much of everything: turns of each network, whether in containers too, pictures."""

    networks: Mapping[str, Timing] = field(default_factory=lambda: {RESNET50: Timing(4, 4), CNN: Timing(8, 384)})
    sealed: bool = True
    wire_pictures: int = 32_000
    wire_batches: tuple[int, ...] = (64, 16)
    sizes: tuple[int, ...] = (1_000, 1_000, 1_000, 1_000, 1_000, 10_000, 100_000)
    killed: chaos.ChaosPlan = chaos.ChaosPlan()


QUICK = ScoringPlan(
    networks={CNN: Timing(1, 4)},
    sealed=False,
    wire_pictures=640,
    wire_batches=(16,),
    sizes=(16, 32),
    killed=chaos.ChaosPlan(pictures=20, kills=1, after=0.5),
)


@dataclass(frozen=True, slots=True)
class Engine:
    """A container engine, or why there is none."""

    address: str
    without: str = ""


@contextmanager
def engine() -> Iterator[Engine]:
    """Yield the engine of DOCKER_HOST, else one of the benchmark's own."""
    if given := os.environ.get("DOCKER_HOST"):
        yield Engine(given)
        return
    with ExitStack() as stack:
        try:
            place = Engine(stack.enter_context(own_engine()))
        except EngineUnavailable as reason:
            place = Engine("", str(reason))
        yield place


@contextmanager
def loaded(address: str, made: Sequence[Image], folder: Path) -> Iterator[Any]:
    """Yield a client of an engine that has these images, and take them away afterwards."""
    from docker.errors import APIError

    client = container.connect(address, seconds=container.LOADING_SECONDS)
    try:
        with open(write_archive(folder / "images.tar", made), "rb") as archive:
            client.images.load(archive)
        (folder / "images.tar").unlink()
        yield client
    finally:
        for image in made:
            with suppress(APIError):
                client.images.remove(image.id, force=True)
        client.close()


# Throughput ----------------------------------------------------------------------------------------------------------


def throughput(servers: Cluster, plan: ScoringPlan | None = None) -> Section:
    """Time the networks alone, in the worker, and in containers where an engine can run them."""
    plan = plan or ScoringPlan()
    device, found = "", dict[str, dict[str, list[float]]]()
    with engine() as place, tempfile.TemporaryDirectory(prefix="unanimous-bench-", dir=_DISK) as folder:
        sealed = place.address and plan.sealed
        made = {name: images.network_image(name, Path(folder)) for name in plan.networks} if sealed else {}
        with loaded(place.address, list(made.values()), Path(folder)) if made else nullcontext():
            for name, timing in plan.networks.items():
                found[name] = {}
                network = {"name": name, "image": made[name].id if made else "", "batches": timing.batches}
                for number in range(timing.turns):
                    device, speeds = _turn(servers, place, network | {"backwards": number % 2 == 1})
                    for way, speed in speeds.items():
                        found[name].setdefault(way, []).append(speed)
    return judged(device, found, place, plan)


def _turn(servers: Cluster, place: Engine, network: Mapping[str, Any]) -> tuple[str, dict[str, float]]:
    """Run `bench.arms.turn` in a new site: in an old one a new defense would be asked about the earlier pictures."""
    with tempfile.TemporaryDirectory(prefix="unanimous-bench-", dir=_DISK) as folder:
        site = _site(servers, "scoring-throughput", Path(folder), place)
        asked = json.dumps({"device": "cpu", "batch_size": BATCH, **network})
        device, speeds = json.loads(python(["-m", "bench.scored", "turn", asked], site).splitlines()[-1])
        return device, speeds


def _site(servers: Cluster, name: str, folder: Path, place: Engine | None = None) -> dict[str, str]:
    """Return the environment of an installation of its own; torch has THREADS there."""
    (folder / "static").mkdir()
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(THREADS))
    host = {"DOCKER_HOST": place.address} if place and place.address else {}
    return environment("config.settings", servers.create_migrated(name)) | threads | host | {"DATA_DIR": str(folder)}


def judged(
    device: str, found: Mapping[str, Mapping[str, Sequence[float]]], place: Engine, plan: ScoringPlan
) -> Section:
    """Return the section for the pictures a second of each network, way and turn."""
    counts = ", ".join(f"{each.turns} of {name}" for name, each in plan.networks.items())
    how = (
        f"Pictures a second at {SIDE} x {SIDE} in batches of {BATCH} on {device}. Each network has {THREADS} "
        f"thread, the machine {os.cpu_count()} processors. "
        "`bare` is the network alone in a process of its own, two batches in turn; `memory kept` with "
        "the settings of the C library's allocator and of OpenMP's threads that the contest gives to defenses, and "
        "what the others are measured against; `in large pages` with all settings of a defense. "
        "`answers` is from batches that lie in memory to their answers, as a scorer sends them, two on their way. "
        "`rows` is the whole of the contest's work: claim, read the pictures, ask, keep the answers in PostgreSQL. "
        "Medians of turns in which everything ran once in new processes, every second one in reversed order "
        f"({counts}); ratios are medians of ratios within a turn. Containers have all the contest's flags. "
        f"Measured at {commit()}."
    )
    if not place.address:
        how += f" Nothing was measured in containers: {place.without}."
    rows, figures = [], []
    for name, times in found.items():
        for way, speeds in times.items():
            ratio = median_ratio(speeds, times[FLOOR])
            rows.append([name, way, median(speeds), ratio])
            where = way.partition(", ")[0]
            if where in _WAYS:
                figures.append(Figure.at_least(f"pictures/s, {name}, {way}", ratio, _WAYS[where], floor=FLOOR))
    table = Table("Throughput", ["network", "way", "pictures/s", f"of {FLOOR}"], rows)
    return Section("Scoring", how, [table], figures, {"found": found})


# The wire ------------------------------------------------------------------------------------------------------------


def wire(_: Cluster, plan: ScoringPlan | None = None) -> Section:
    """Send pictures into a container whose program reads them and abstains."""
    plan = plan or ScoringPlan()
    with engine() as place:
        if not place.address:
            return Section(_WIRE, f"Not measured: {place.without}.", [], [])
        speeds = _wire_speeds(place, plan)
    how = (
        f"Pictures of {SIDE} x {SIDE} a second into a container with all the flags of the contest, whose program reads "
        f"each batch and abstains; the contest's harness on this side, the kit's `serve` on the other. "
        f"{plan.wire_pictures:,} pictures each, measured at {commit()}."
    )
    table = Table("The wire", ["pictures a batch", "pictures/s"], [[rows, speed] for rows, speed in speeds.items()])
    figures = [
        Figure.at_least(f"pictures/s in batches of {rows}", speed, MIN_WIRE_PER_SECOND)
        for rows, speed in speeds.items()
    ]
    return Section(_WIRE, how, [table], figures, {"pictures_per_second": speeds})


def _wire_speeds(place: Engine, plan: ScoringPlan) -> dict[int, float]:
    with tempfile.TemporaryDirectory(prefix="unanimous-bench-", dir=_DISK) as folder:
        image = images.wire_image(Path(folder))
        with loaded(place.address, [image], Path(folder)) as client:
            return {rows: _wire_speed(client, image.id, rows, plan.wire_pictures) for rows in plan.wire_batches}


def _wire_speed(client: Any, image: str, rows: int, pictures: int) -> float:
    launch = partial(container.start_container, client, Sealing(image, "bench"), DefenseLimits())
    with open_defense(launch, image_size=SIDE, batch_size=rows, seed=1, deadlines=DEADLINES) as opened:
        _stream(opened, rows, 10)
        return _stream(opened, rows, max(pictures // rows, 2))


def _stream(opened: DefenseSession, rows: int, batches: int) -> float:
    """Have so many batches answered, two on their way at a time; return pictures a second."""
    noise = np.random.default_rng(1).integers(0, 256, (2, rows, SIDE, SIDE, 3), dtype=np.uint8)
    started = time.perf_counter()
    opened.send(noise[0])
    for number in range(1, batches):
        opened.send(noise[number % 2])
        opened.receive()
    opened.receive()
    return batches * rows / (time.perf_counter() - started)


# Cost ----------------------------------------------------------------------------------------------------------------


def cost(servers: Cluster, plan: ScoringPlan | None = None) -> Section:
    """Score more and more tiny pictures with a defense that costs nothing."""
    plan = plan or ScoringPlan()
    with tempfile.TemporaryDirectory(prefix="unanimous-bench-", dir=_DISK) as folder:
        site = _site(servers, "scoring-flat", Path(folder))
        step = ["-m", "bench.scored", "flat", *map(str, plan.sizes)]
        found = json.loads(python(step, site).splitlines()[-1])["seconds_per_picture"]
    rows = [[size, 1000 * planning, 1000 * scoring] for size, planning, scoring in found]
    first, last = plan.sizes[0], plan.sizes[-1]
    # A thousand pictures take a third of a second, which any neighbour disturbs.
    smallest, largest = (median(a + b for size, a, b in found if size == wanted) for wanted in (first, last))
    how = (
        "Milliseconds a picture from the planning of the runs to the rows of the answers in PostgreSQL, with a defense "
        "that abstains from tiny pictures: what the contest adds to a defense's own time. Each number of pictures is "
        f"new on top of those before it, so the tables grow as well; of equal numbers the median counts. Measured at "
        f"{commit()}."
    )
    what = f"a picture of {last:,} over one of {first:,}"
    return Section(
        "Cost per picture",
        how,
        [Table("Cost", ["new pictures", "planning, ms a picture", "scoring, ms a picture"], rows)],
        [Figure.at_most(what, largest / smallest, MAX_GROWTH)],
        {"seconds_per_picture": found},
    )


def killed(servers: Cluster, plan: ScoringPlan | None = None) -> Section:
    """Kill scorers at random moments."""
    return chaos.run(servers.create_migrated, (plan or ScoringPlan()).killed)


BENCHMARKS = (throughput, wire, cost, killed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure this alone and put its sections where the others are; 1 when something failed."""
    parser = ArgumentParser(prog="python -m bench.scoring", description=str(__doc__).partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it runs, measures nothing")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent, help="the folder of the results")
    options = parser.parse_args(arguments)
    with cluster() as servers:
        sections = [benchmark(servers, QUICK if options.quick else None) for benchmark in BENCHMARKS]
    return record_sections(options.out, sections)


if __name__ == "__main__":
    # Ended from outside, the servers started here end too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
