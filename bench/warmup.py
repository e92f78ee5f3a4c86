"""How fast the warm-up's attacks are, against the bare forward pass and against other libraries, and how strong.

As a program it measures this alone, and puts its sections into `bench/results.md` and `bench/results.json`. Other
libraries get an environment each in DATA_DIR/bench (`bench.peers.environments`).
"""

import os
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Sequence
from itertools import cycle
from math import inf
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np

from bench.machine import commit
from bench.networks import THREADS
from bench.outcome import Figure, Section, Table, median_ratio, record_sections
from bench.servers import Cluster
from bench.warmup_defense import bare, bare_speed, written
from bench.warmup_peers import peers
from bench.warmup_runs import QUICK, Begin, Speed, WarmupPlan, drawn_picture, starts, steady_speed
from defense_kit.warmup import boundary as boundary_module
from defense_kit.warmup import spsa as spsa_module
from defense_kit.warmup.attacks import Bytes, as_floats
from defense_kit.warmup.boundary import BoundaryState, boundary
from defense_kit.warmup.spatial_grid import spatial_grid
from defense_kit.warmup.spsa import spsa
from labeling.enums import Label

OF_BARE = 0.90
# As many as a contest's warm-up has.
PICTURES = {"spatial_grid": 250, "spsa": 250, "boundary": 100}


def throughput(_: Cluster, plan: WarmupPlan | None = None) -> Section:
    """Time attacks, each in turn with the bare forward pass of the network that they ask."""
    plan = plan or WarmupPlan()
    rows, figures, data = [], [], dict[str, Any]()
    with tempfile.TemporaryDirectory(prefix="unanimous-bench-") as folder:
        places = {name: written(name, Path(folder), THREADS) for name in {each.network for each in plan.speeds}}
        for each in plan.speeds:
            alone, asked = _speeds(places[each.network], each, plan)
            ratio, what = median_ratio(asked, alone), f"{each.network}, {each.attack}"
            data[what] = {"bare": alone, "asked": asked}
            rows.append([each.network, each.attack, each.rows, median(alone), median(asked), ratio])
            figures.append(Figure.at_least(f"queries/s, {what}", ratio, OF_BARE, floor="bare forward"))
    how = (
        "Queries a second of an attack in the middle of a run, through a defense in a process of its own, over the "
        "rows a second of the network alone in a process with nothing else, which keeps its memory in pages of the "
        "usual size; the defense has large ones. "
        f"Medians of {plan.rounds} turns, in each of which the network alone is timed before and after. "
        f"The network has {THREADS} thread, the machine {os.cpu_count()} processors: "
        f"what makes the queries and what answers them work side by side. Measured at {commit()}."
    )
    table = Table("Queries", ["network", "attack", "rows of a batch", "bare, rows/s", "queries/s", "of bare"], rows)
    return Section("Warm-up", how, [table], figures, data)


def _speeds(place: Path, speed: Speed, plan: WarmupPlan) -> tuple[list[float], list[float]]:
    alone, asked = list[float](), list[float]()
    others = [each.pixels for each in starts()]
    begin: Begin = {
        "spatial_grid": spatial_grid,
        "spsa": spsa,
        "boundary": lambda each: boundary(each, others, _on_the_way(others[0])),
    }[speed.attack]
    pictures = [drawn_picture(Label.BICYCLE, number) for number in range(PICTURES[speed.attack])]
    # No picture ends early: the rate is that of a run with many pictures.
    with patch.object(spsa_module, "LOSS_THAT_ENDS", -inf), patch.object(boundary_module, "GOAL", 0):
        for _ in range(plan.rounds):
            with bare(place, speed.rows) as process:
                before = bare_speed(process, speed.batches)
                attacks = (begin(each) for each in cycle(pictures))
                asked.append(steady_speed(place, attacks, speed, len(pictures)))
                alone.append((before + bare_speed(process, speed.batches)) / 2)
    return alone, asked


def _on_the_way(start: Bytes) -> BoundaryState:
    """Return the state of a picture that is wrong."""
    return BoundaryState(0, as_floats(start), np.zeros(2, np.float32), 1)


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
