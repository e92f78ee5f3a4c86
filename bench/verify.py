"""The verifier of a release, as a stranger runs it: Python alone."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.machine import ROOT, memory_mb
from bench.outcome import Figure, Section, Table
from bench.servers import Cluster, python
from bench.week import Week

MAX_SECONDS, MAX_SECONDS_LARGE = 5, 20
MAX_MEMORY_MIB = 250
_LOOK_SECONDS = 0.2
_ROWS_ALONE = (
    "import sys; from pathlib import Path; from adjudication.verify import verify; "
    "sys.exit(bool(verify(Path(sys.argv[1]), pictures=False).differences))"
)


class _Took(NamedTuple):
    seconds: float
    memory_mb: float


def run(
    cluster: Cluster,
    pictures: int = 10_000,
    side: int = 32,
    full_size: int = 500,
    large: int = 100_000,
    rounds: int = 3,
) -> Section:
    """Verify a week of `pictures` small pictures, one of `full_size` pictures as the contest has them, and one of
    `large` tiny pictures."""
    weeks = [(pictures, side), (full_size, 299), (large, 8)]
    with tempfile.TemporaryDirectory(prefix="unanimous-bench-") as folder:
        rows = [_row(Week.made(cluster, Path(folder) / f"{n}-{px}", n, px), px, rounds) for n, px in weeks]
    headings = [
        "pictures",
        "pixels",
        "responses",
        "seconds",
        "memory MiB",
        "without picture files",
        "ms a picture file",
    ]
    small, _, most = rows
    return Section(
        "The verifier",
        f"`python -m adjudication.verify`, start of Python included; medians of {rounds} runs. Memory is the most that "
        "all its processes held together, pages that they share counted once.",
        [Table("Verify", headings, rows)],
        [
            Figure.at_most(f"{small[2]:,} responses, small pictures", float(small[3]), MAX_SECONDS, " s"),
            Figure.at_most(f"{most[2]:,} responses, tiny pictures", float(most[3]), MAX_SECONDS_LARGE, " s"),
            Figure.at_most(f"memory for {most[2]:,} responses", float(most[4]), MAX_MEMORY_MIB, " MiB"),
        ],
    )


def _row(week: Week, side: int, rounds: int) -> list[int | str | float]:
    folder = week.release("out")["folder"]
    took = [_verified(folder) for _ in range(rounds)]
    whole, memory = median(each.seconds for each in took), max(each.memory_mb for each in took)
    rows = median(_seconds(["-c", _ROWS_ALONE, folder]) for _ in range(rounds))
    return [week.pictures, f"{side} x {side}", week.responses, whole, memory, rows]


def _verified(folder: str) -> _Took:
    """Verify a release and return what that took, and what its processes held together when they were looked at."""
    start, most = time.perf_counter(), 0.0
    command = [sys.executable, "-m", "adjudication.verify", folder, "--quiet"]
    verifier = subprocess.Popen(command, cwd=ROOT, env={"PATH": os.environ["PATH"]})
    while verifier.poll() is None:
        most = max(most, memory_mb(verifier.pid))
        time.sleep(_LOOK_SECONDS)
    if verifier.returncode:
        raise subprocess.CalledProcessError(verifier.returncode, command)
    return _Took(time.perf_counter() - start, most)


def _seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    python(arguments, {"PATH": os.environ["PATH"]})
    return time.perf_counter() - start
