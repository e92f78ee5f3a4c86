"""The attacks of other libraries beside ours, on the same pictures and the same network."""

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.machine import ROOT, commit
from bench.networks import CNN
from bench.outcome import Figure, Section, Table
from bench.peers.environments import PEERS, NoPeer, python_of, run_peer
from bench.servers import Cluster
from bench.warmup_defense import written
from bench.warmup_runs import Ran, WarmupPlan, boundary_ran, chosen, first_starts, margins_of, moved, run_attack
from defense_kit.limits import DefenseLimits
from defense_kit.warmup.attacks import AttackedPicture, Rows, as_floats
from defense_kit.warmup.moves import bordered
from defense_kit.warmup.spatial_grid import SIDE_INSIDE, spatial_grid
from defense_kit.warmup.spsa import EPSILON, spsa

FOOLBOX_BOUNDARY, ART_BOUNDARY, FOOLBOX_GRID, ART_GRID = 1 / 1.5, 1 / 8, 1 / 2, 1 / 10
POINTS_OVER_CLEVERHANS = 10
_LEVELS = (100, 500)  # queries at which distances are compared
_TITLE = "Warm-up against peers"
Found = Iterator[tuple[Table, list[Figure]]]


@dataclass(frozen=True, slots=True)
class PeerTask:
    """What a peer is given besides its attack."""

    is_bird: Sequence[bool]
    pictures: Rows
    starts: Rows
    max_seconds: float
    steps: int = 1_000_000
    goals: NDArray[np.float64] | None = None  # none: it ends by itself
    least: int = 0


def _asked_peer(folder: Path, attack: str, task: PeerTask) -> Ran:
    python = python_of(attack.partition("_")[0], _environments())
    given, found = folder / f"{attack}-in.npz", folder / f"{attack}-out.npz"
    np.savez(
        given,
        pictures=task.pictures,
        is_bird=np.array(task.is_bird),
        starts=task.starts,
        goals=np.full(len(task.pictures), -inf) if task.goals is None else task.goals,
        least=task.least,
        max_seconds=task.max_seconds,
        steps=task.steps,
    )
    run_peer(python, ["bench.peers.attack", attack, str(given), str(found)])
    with np.load(found) as file:
        queries = [int(file["rows"]) // len(task.pictures)] * len(task.pictures)
        return Ran(file["pictures"], float(file["seconds"]), queries, file["events"])


def _environments() -> Path:
    return Path(os.environ.get("DATA_DIR", ROOT / "var")) / "bench"


def nearest(events: NDArray[np.float64], pictures: int, *, column: int, most: float = inf) -> NDArray[np.float64]:
    """Return the smallest L2 distance of each picture in `most` queries (column 1) or seconds (2); inf before any."""
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
        place = written(CNN, Path(folder), DefenseLimits().cpus)
        for measured in (_boundary_rows, _spsa_rows, _grid_rows):
            for table, those in measured(place, of, plan, missing):
                tables.append(table)
                figures += those
    tables.append(_differences())
    how = (
        f"{len(of)} drawn bicycles with the smallest margins ({len(of[: plan.spsa_pictures])} of them for SPSA, "
        f"{len(of[: plan.grid_pictures])} for the grid), asked about on the shipped CNN: framed in black it calls most "
        "birds bicycles, so there are no birds among them. Each library runs in an environment of its "
        "own on the same network and pictures; wrong and distances are what we measure. `docs/warmup-peers.md` says "
        f"what differs. Measured at {commit()}."
    )
    return Section(_TITLE, " ".join([how, *missing]), tables, figures)


def _tried(missing: list[str], folder: Path, attack: str, task: PeerTask) -> Ran | None:
    try:
        return _asked_peer(folder, attack, task)
    except NoPeer as reason:
        missing.append(f"{attack} was not measured: {reason}.")
        return None


def _boundary_rows(place: Path, of: Sequence[AttackedPicture], plan: WarmupPlan, missing: list[str]) -> Found:
    """Compare the time until the distances are what ours come to in some steps, and distances at equal queries."""
    ours, pictures = boundary_ran(place, of, plan), len(of)
    ends, queries = nearest(ours.events, pictures, column=2), int(min(ours.queries))
    far = float(np.median(ends))
    goals, begins, is_bird = moved("boundary", of), first_starts(of), [each.is_bird for each in of]
    levels = [*(level for level in _LEVELS if level < queries), queries]

    def row(name: str, seconds: float, events: NDArray[np.float64]) -> list[Any]:
        medians = [float(np.median(nearest(events, pictures, column=1, most=level))) for level in levels]
        return [name, seconds, *medians]

    rows, figures = [row("ours", at := seconds_to(ours.events, pictures, far), ours.events)], list[Figure]()
    patience = plan.patience * ours.seconds
    task = PeerTask(is_bird, goals, begins, patience, goals=ends, least=queries)
    if ran := _tried(missing, place.parent, "foolbox_boundary", task):
        theirs = min(seconds_to(ran.events, pictures, far), patience)
        rows.append(row("foolbox", theirs, ran.events))
        what = "boundary, time to equal median L2"
        figures.append(Figure.at_most(what, at / theirs, FOOLBOX_BOUNDARY, floor="foolbox"))
        if min(ran.queries) >= queries:
            ratio = rows[0][-1] / rows[1][-1]
            figures.append(Figure.at_most("boundary, median L2 at equal queries", ratio, 1.02, floor="foolbox"))
    few = min(pictures, plan.art_pictures)
    patience *= 2  # the goal is eight times our time
    task = PeerTask(is_bird[:few], goals[:few], begins[:few], patience / pictures, goals=ends[:few])
    if ran := _tried(missing, place.parent, "art_boundary", task):
        # One picture after the other: a picture's time is to be held against its share of ours.
        theirs = sum(_seconds_alone(ran.events, number, ends[number], patience / pictures) for number in range(few))
        ratio = ours.seconds * few / pictures / theirs
        rows.append([f"ART, {few} pictures to the same distances", theirs, *([""] * len(levels))])
        figures.append(Figure.at_most("boundary, time to equal L2", ratio, ART_BOUNDARY, floor="art"))
    medians = [f"median L2 after {level:,} queries" for level in levels]
    yield Table("Boundary attack", ["library", f"seconds to a median L2 of {far:.1f}", *medians], rows), figures


def _seconds_alone(events: NDArray[np.float64], number: int, far: float, patience: float) -> float:
    """Return when a picture that is attacked by itself was at a distance; `patience` where it was stopped before."""
    near = events[(events[:, 0] == number) & (events[:, 3] <= far)]
    return float(min([*near[:, 2], patience]))


def _spsa_rows(place: Path, of: Sequence[AttackedPicture], plan: WarmupPlan, missing: list[str]) -> Found:
    """Compare how many pictures are wrong after the same number of steps, 65 queries each."""
    of = of[: plan.spsa_pictures]
    originals = moved("spsa", of)
    ours = run_attack(place, of, partial(spsa, steps=plan.spsa_steps), 64, 4)
    rows: list[list[Any]] = [["ours", success(of, originals, ours.pictures), ours.seconds, sum(ours.queries)]]
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
    return 100 * float((inside & (found.max(axis=(1, 2, 3)) <= 1) & (margins_of(of, found) >= 0)).mean())


def _grid_rows(place: Path, of: Sequence[AttackedPicture], plan: WarmupPlan, missing: list[str]) -> Found:
    """Compare the time for all 775 moves of each picture."""
    those = of[: plan.grid_pictures]
    ours = run_attack(place, those, spatial_grid, 31, len(those))
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


def _differences() -> Table:
    """Return what peers do other than expected, on networks of a line; those that can be installed."""
    rows = []
    for peer in PEERS:
        try:
            found = run_peer(python_of(peer, _environments()), ["bench.peers.differences", peer])
        except NoPeer:
            continue
        rows += [[peer, *row] for row in json.loads(found.splitlines()[-1])]
    return Table("What peers do differently", ["library", "what", "expected", "measured"], rows)


def _each(row: Sequence[Any]) -> float:
    return float(row[1]) / float(row[2])


def _wrong(of: Sequence[AttackedPicture], found: Rows) -> int:
    return int((margins_of(of, found) >= 0).sum())
