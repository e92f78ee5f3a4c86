"""How fast the warm-up's attacks are, against the bare forward pass and against other libraries, and how strong.

As a program it measures this alone, and puts its sections into `bench/results.md` and `bench/results.json`. Other
libraries get an environment each in DATA_DIR/bench (`bench.peers.environments`).
"""

import os
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import inf
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from bench.machine import ROOT, commit
from bench.networks import CNN, RESNET50
from bench.outcome import Figure, Section, Table, median_ratio, record_sections
from bench.peers.environments import NoPeer, python_of, run_peer
from bench.servers import Cluster
from bench.warmup_defense import bare, bare_speed, opened, written
from defense_kit.warmup import boundary as boundary_module
from defense_kit.warmup import spsa as spsa_module
from defense_kit.warmup.attacks import Attack, AttackedPicture, AttackResult, Rows, as_floats
from defense_kit.warmup.boundary import BoundaryState, boundary, distance
from defense_kit.warmup.measure import AskedSession
from defense_kit.warmup.moves import bordered
from defense_kit.warmup.pictures import attacked_picture
from defense_kit.warmup.scheduler import RowCounts, Scheduler
from defense_kit.warmup.spatial_grid import SIDE_INSIDE, spatial_grid
from defense_kit.warmup.spsa import EPSILON, first_move, spsa
from defense_kit.warmup.streams import Streams
from labeling.enums import Label
from scoring.reference.drawing import draw

OF_BARE = 0.90
FOOLBOX_BOUNDARY, ART_BOUNDARY, FOOLBOX_GRID, ART_GRID = 1 / 1.5, 1 / 8, 1 / 2, 1 / 10
POINTS_OVER_CLEVERHANS = 10
_SPEED, _PEERS = "Warm-up", "Warm-up against peers"
_PHOTOGRAPH = 299  # pixels of a drawn photograph's side
_STARTS = 4
Begin = Callable[[AttackedPicture], Attack]


@dataclass(frozen=True, slots=True)
class WarmupPlan:
    """How much of everything: pictures, steps, and how many times longer than ours a peer may take."""

    rounds: int = 3
    batch: int = 64
    bare_batches: Mapping[str, int] = field(default_factory=lambda: {CNN: 20, RESNET50: 1})
    networks: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: {CNN: ("spatial_grid", "spsa", "boundary"), RESNET50: ("boundary",)}
    )
    boundary_steps: int = 2
    pictures: int = 6
    drawn: int = 60
    peer_boundary_steps: int = 150
    spsa_steps: int = 60
    grid_pictures: int = 2
    art_pictures: int = 2
    patience: float = 10.0


QUICK = WarmupPlan(1, 4, {CNN: 1}, {CNN: ("spsa",)}, 1, 2, 8, 2, 2, 1, 1, 2.0)


# Pictures ------------------------------------------------------------------------------------------------------------


def _drawn(label: Label, number: int) -> AttackedPicture:
    pixels = draw(label, np.random.default_rng([number, label is Label.BIRD]), _PHOTOGRAPH)
    return attacked_picture(Image.fromarray(pixels), is_bird=label is Label.BIRD)


@cache
def _network() -> Any:
    import torch

    from bench.peers.network import recorded

    network = recorded(torch)
    return lambda rows: network(torch.from_numpy(rows).permute(0, 3, 1, 2)).numpy()


def _margins(of: Sequence[AttackedPicture], rows: Rows) -> NDArray[np.float64]:
    """Return the margin of each picture's row, as this program sees it, whoever made the row."""
    return np.concatenate([each.margins(scores[np.newaxis]) for each, scores in zip(of, _network()(rows), strict=True)])


def moved(attack: str, pictures: Sequence[AttackedPicture]) -> Rows:
    """Return the moved pictures that an attack begins from."""
    return np.stack([first_move(each, Streams(attack, each.sha256)) for each in pictures])


def chosen(plan: WarmupPlan) -> list[AttackedPicture]:
    """Return drawn bicycles that are right also when they are moved, those with the smallest margins: the network calls
    most birds in a black border bicycles."""
    drawn = [_drawn(Label.BICYCLE, number) for number in range(plan.drawn)]
    margins = np.maximum(*(_margins(drawn, moved(attack, drawn)) for attack in ("spsa", "boundary")))
    nearest = [number for number in np.argsort(-margins) if margins[number] < 0]
    return [drawn[number] for number in nearest[: plan.pictures]]


def starts() -> list[AttackedPicture]:
    """Return drawn birds that the network calls birds."""
    drawn = [_drawn(Label.BIRD, number) for number in range(5 * _STARTS)]
    margins = _margins(drawn, np.stack([as_floats(each.pixels) for each in drawn]))
    return [each for each, margin in zip(drawn, margins, strict=True) if margin < 0][:_STARTS]


# Ours ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ran:
    """What an attack came to on all pictures. An event is (picture, queries of it, seconds, L2) of a nearer one."""

    pictures: Rows
    seconds: float
    queries: Sequence[int]
    events: NDArray[np.float64]


def _run(place: Path, of: Sequence[AttackedPicture], begin: Begin, batch: int, running: int) -> tuple[Ran, RowCounts]:
    """Run an attack on pictures against the defense in `place`; its start is not counted."""
    with opened(place, batch) as session:
        defense = AskedSession(session)
        defense.send(np.zeros((batch, *as_floats(of[0].pixels).shape), np.float32))
        defense.receive()
        scheduler, began = Scheduler[int](defense, batch=batch, most_running=running), time.perf_counter()
        found = dict(scheduler.run((number, begin(each)) for number, each in enumerate(of)))
        seconds = time.perf_counter() - began
    results: list[AttackResult] = [found[number] for number in range(len(of))]
    queries = [each.queries for each in results]
    return Ran(np.stack([each.picture for each in results]), seconds, queries, np.empty((0, 4))), scheduler.counts


def _boundary_ran(place: Path, of: Sequence[AttackedPicture], plan: WarmupPlan) -> Ran:
    """Run the boundary attack for some steps, two batches on their way with half of the pictures each."""
    events, began = list[tuple[float, float, float, float]](), time.perf_counter()
    others = [each.pixels for each in starts()]
    goals = moved("boundary", of)
    numbers = {each.sha256: number for number, each in enumerate(of)}

    def begin(each: AttackedPicture) -> Attack:
        number = numbers[each.sha256]

        def keep(state: BoundaryState) -> None:
            far = distance(goals[number], state.at)
            events.append((number, state.queries, time.perf_counter() - began, far))

        return boundary(each, others, keep=keep)

    with patch.object(boundary_module, "STEPS", plan.peer_boundary_steps):
        ran, _ = _run(place, of, begin, max(1, len(of) // 2), len(of))
    late = time.perf_counter() - began - ran.seconds  # the defense's start
    found = np.array(events)
    found[:, 2] -= late
    return Ran(ran.pictures, ran.seconds, ran.queries, found)


# Throughput ----------------------------------------------------------------------------------------------------------


def throughput(_: Cluster, plan: WarmupPlan | None = None) -> Section:
    """Time attacks, each in turn with the bare forward pass of the network that they ask."""
    plan = plan or WarmupPlan()
    rows, figures, data = [], [], dict[str, Any]()
    with tempfile.TemporaryDirectory(prefix="unanimous-bench-") as folder:
        for network, names in plan.networks.items():
            place = written(network, Path(folder))
            for name in names:
                alone, asked = _speeds(place, name, plan, plan.bare_batches[network])
                ratio = median_ratio(asked, alone)
                data[f"{network}, {name}"] = {"bare": alone, "asked": asked}
                rows.append([network, name, median(alone), median(asked), ratio])
                figures.append(Figure.at_least(f"queries/s, {network}, {name}", ratio, OF_BARE, floor="bare forward"))
    how = (
        f"Queries a second of an attack, from its pictures to its results through a defense in a process of its own, "
        f"in batches of {plan.batch}, over the rows a second of the network alone in a process with nothing else. "
        f"Medians of {plan.rounds} turns. Both have {os.cpu_count()} cores: what makes the queries and what answers "
        f"them share them. Measured at {commit()}."
    )
    table = Table("Queries", ["network", "attack", "bare, rows/s", "queries/s", "of bare"], rows)
    return Section(_SPEED, how, [table], figures, data)


def _speeds(place: Path, name: str, plan: WarmupPlan, batches: int) -> tuple[list[float], list[float]]:
    alone, asked = list[float](), list[float]()
    others = [each.pixels for each in starts()]
    begin: Begin = {"spatial_grid": spatial_grid, "spsa": spsa, "boundary": lambda each: boundary(each, others)}[name]
    many = {"spatial_grid": 2, "spsa": 2 + 2 * plan.batch // 64, "boundary": 2 + 2 * plan.batch}[name]
    pictures = [_drawn(Label.BICYCLE, number) for number in range(many)]
    with (
        patch.object(boundary_module, "STEPS", plan.boundary_steps),
        patch.object(spsa_module, "STEPS", plan.boundary_steps),
        bare(place, plan.batch) as process,
    ):
        for _ in range(plan.rounds):
            alone.append(bare_speed(process, batches))
            ran, counts = _run(place, pictures, begin, plan.batch, many)
            asked.append(counts.asked / ran.seconds)
    return alone, asked


# Peers ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PeerTask:
    """What a peer is given besides its attack."""

    is_bird: Sequence[bool]
    pictures: Rows
    starts: Rows
    most_seconds: float
    steps: int = 1_000_000
    goal: float = -inf


def _asked_peer(folder: Path, attack: str, task: PeerTask) -> Ran:
    python = python_of(attack.partition("_")[0], _environments())
    given, found = folder / f"{attack}-in.npz", folder / f"{attack}-out.npz"
    np.savez(
        given,
        pictures=task.pictures,
        is_bird=np.array(task.is_bird),
        starts=task.starts,
        goal=task.goal,
        most_seconds=task.most_seconds,
        steps=task.steps,
    )
    run_peer(python, ["bench.peers.attack", attack, str(given), str(found)])
    with np.load(found) as file:
        queries = [int(file["rows"]) // len(task.pictures)] * len(task.pictures)
        return Ran(file["pictures"], float(file["seconds"]), queries, file["events"])


def _environments() -> Path:
    return Path(os.environ.get("DATA_DIR", ROOT / "var")) / "bench"


def nearest(events: NDArray[np.float64], pictures: int, *, column: int, most: float = inf) -> NDArray[np.float64]:
    """Return the smallest L2 distance of each picture until `most` queries (column 1) or seconds (2); inf before any."""
    found = np.full(pictures, inf)
    for event in events[events[:, column] <= most]:
        found[int(event[0])] = min(found[int(event[0])], event[3])
    return found


def seconds_to(events: NDArray[np.float64], pictures: int, far: float) -> float:
    """Return when the median of the distances fell to `far`; inf where it never did."""
    moments = sorted(events[:, 2])
    return next((at for at in moments if np.median(nearest(events, pictures, column=2, most=at)) <= far), inf)


def peers(_: Cluster, plan: WarmupPlan | None = None) -> Section:
    """Run the attacks of other libraries beside ours on the same pictures and the same network."""
    plan = plan or WarmupPlan()
    of, tables, figures, missing = chosen(plan), list[Table](), list[Figure](), list[str]()
    with tempfile.TemporaryDirectory(prefix="unanimous-bench-") as folder:
        place = written(CNN, Path(folder))
        for measured in (_boundary_rows, _spsa_rows, _grid_rows):
            for table, those in measured(place, of, plan, missing):
                tables.append(table)
                figures += those
    how = (
        f"{len(of)} drawn bicycles of those with the smallest margins, asked about on the shipped CNN: framed in black "
        "it calls most birds bicycles, so there are no birds among them. Each library runs in an environment of its "
        "own on the same network and pictures; wrong and distances are what we measure. `docs/warmup-peers.md` says "
        f"what differs. Measured at {commit()}."
    )
    return Section(_PEERS, " ".join([how, *missing]), tables, figures)


Found = Iterator[tuple[Table, list[Figure]]]


def _tried(missing: list[str], folder: Path, attack: str, task: PeerTask) -> Ran | None:
    try:
        return _asked_peer(folder, attack, task)
    except NoPeer as reason:
        missing.append(f"{attack} was not measured: {reason}.")
        return None


def _boundary_rows(place: Path, of: Sequence[AttackedPicture], plan: WarmupPlan, missing: list[str]) -> Found:
    """Compare the time until the median distance is what ours comes to in some steps."""
    ours, first = _boundary_ran(place, of, plan), as_floats(starts()[0].pixels)
    far = float(np.median(nearest(ours.events, len(of), column=2)))
    queries = int(median(ours.queries))
    rows: list[list[Any]] = [["ours", seconds_to(ours.events, len(of), far), far]]
    figures = []
    goals = moved("boundary", of)
    for attack, goal, many in (
        ("foolbox_boundary", FOOLBOX_BOUNDARY, len(of)),
        ("art_boundary", ART_BOUNDARY, min(len(of), plan.art_pictures)),
    ):
        same = np.repeat(first[np.newaxis], many, 0)
        is_single = attack.startswith("art")
        patience = plan.patience * ours.seconds / (len(of) if is_single else 2)
        task = PeerTask([each.is_bird for each in of[:many]], goals[:many], same, patience, goal=far)
        ran = _tried(missing, place.parent, attack, task)
        if ran is None:
            continue
        theirs = (
            _alone_to(ran.events, many, far, patience) * len(of) if is_single else seconds_to(ran.events, many, far)
        )
        theirs = min(theirs, plan.patience * ours.seconds)  # it was stopped: at least so long
        after = float(np.median(nearest(ran.events, many, column=1, most=queries)))
        rows.append([attack, theirs, after])
        name = attack.partition("_")[0]
        figures.append(Figure.at_most("boundary, time to equal median L2", rows[0][1] / theirs, goal, floor=name))
        if not is_single:
            figures.append(Figure.at_most("boundary, median L2 at equal queries", far / after, 1.02, floor=name))
    head = ["library", f"seconds to a median L2 of {far:.1f}", f"median L2 after {queries:,} queries a picture"]
    yield Table("Boundary attack", head, rows), figures


def _alone_to(events: NDArray[np.float64], pictures: int, far: float, patience: float) -> float:
    """Return the median over pictures, attacked one by one, of the seconds until the distance."""
    near = events[events[:, 3] <= far]
    return median(min([*near[near[:, 0] == number, 2], patience]) for number in range(pictures))


def _spsa_rows(place: Path, of: Sequence[AttackedPicture], plan: WarmupPlan, missing: list[str]) -> Found:
    """Compare how many pictures are wrong after the same number of steps, 65 queries each."""
    originals = moved("spsa", of)
    with patch.object(spsa_module, "STEPS", plan.spsa_steps):
        ours, _ = _run(place, of, spsa, 64, 2 + 2 * plan.batch // 64)
    rows = [["ours", success(of, originals, ours.pictures), ours.seconds, sum(ours.queries)]]
    figures = []
    for attack in ("torchattacks_spsa", "cleverhans_spsa"):
        patience = plan.patience * ours.seconds
        task = PeerTask([each.is_bird for each in of], originals, originals, patience, steps=plan.spsa_steps)
        ran = _tried(missing, place.parent, attack, task)
        if ran is None:
            continue
        share = success(of, originals, ran.pictures)
        rows.append([attack, share, ran.seconds, sum(ran.queries)])
        least = share + (POINTS_OVER_CLEVERHANS if attack.startswith("cleverhans") else 0)
        what = f"SPSA, pictures wrong after {plan.spsa_steps} steps, against {attack.partition('_')[0]}"
        figures.append(Figure.at_least(what, rows[0][1], least, " %"))
    yield Table("SPSA", ["library", "wrong, %", "seconds", "queries"], rows), figures


def success(of: Sequence[AttackedPicture], originals: Rows, found: Rows) -> float:
    """Return the percentage of pictures that are wrong, within the bound and within 0 to 1."""
    inside = (np.abs(found - originals).max(axis=(1, 2, 3)) <= EPSILON + 1e-6) & (found.min(axis=(1, 2, 3)) >= 0)
    return 100 * float((inside & (found.max(axis=(1, 2, 3)) <= 1) & (_margins(of, found) >= 0)).mean())


def _grid_rows(place: Path, of: Sequence[AttackedPicture], plan: WarmupPlan, missing: list[str]) -> Found:
    """Compare the time for all 775 moves of each picture."""
    those = of[: plan.grid_pictures]
    ours, _ = _run(place, those, spatial_grid, plan.batch, len(those))
    rows = [["ours", ours.seconds / len(those), sum(ours.queries) // len(those), _wrong(those, ours.pictures)]]
    figures = []
    framed = np.stack([as_floats(bordered(each.pixels, SIDE_INSIDE)) for each in those])
    for attack, goal, many in (
        ("foolbox_grid", FOOLBOX_GRID, len(those)),
        ("art_grid", ART_GRID, min(len(those), plan.art_pictures)),
    ):
        patience = 10 * plan.patience * ours.seconds
        task = PeerTask([each.is_bird for each in those[:many]], framed[:many], framed[:many], patience)
        ran = _tried(missing, place.parent, attack, task)
        if ran is None:
            continue
        rows.append([attack, ran.seconds / many, ran.queries[0], _wrong(those[:many], ran.pictures)])
        name = attack.partition("_")[0]
        figures.append(Figure.at_most("grid, time a query", _each(rows[0]) / _each(rows[-1]), goal, floor=name))
    yield Table("Spatial grid", ["library", "seconds a picture", "queries a picture", "wrong"], rows), figures


def _each(row: Sequence[Any]) -> float:
    return float(row[1]) / float(row[2])


def _wrong(of: Sequence[AttackedPicture], found: Rows) -> int:
    return int((_margins(of, found) >= 0).sum())


BENCHMARKS = (throughput, peers)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure this alone and put its sections where the others are; 1 when something failed."""
    parser = ArgumentParser(prog="python -m bench.warmup", description=str(__doc__).partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it runs, measures nothing")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent, help="the folder of the results")
    options = parser.parse_args(arguments)
    nowhere = Cluster("", 0)  # no database is needed
    return record_sections(
        options.out, [benchmark(nowhere, QUICK if options.quick else None) for benchmark in BENCHMARKS]
    )


if __name__ == "__main__":
    sys.exit(main())
