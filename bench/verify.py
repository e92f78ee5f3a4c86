"""The verifier of a release, as a stranger runs it: Python alone, in a process of its own."""

import os
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.outcome import Figure, Section, Table
from bench.servers import Cluster, python
from bench.week import Week

MOST_SECONDS = 5
_ROWS_ALONE = (
    "import sys; from pathlib import Path; from adjudication.verify import verify; "
    "sys.exit(bool(verify(Path(sys.argv[1]), pictures=False).differences))"
)


def run(cluster: Cluster, pictures: int = 10_000, side: int = 32, full_size: int = 500, rounds: int = 3) -> Section:
    """Verify a week of `pictures` small pictures, and one of `full_size` pictures as the contest has them."""
    weeks = [(pictures, side), (full_size, 299)]
    with tempfile.TemporaryDirectory(prefix="unanimous-bench-") as folder:
        rows = [_row(Week.made(cluster, Path(folder) / f"{n}-{px}", n, px), px, rounds) for n, px in weeks]
    headings = ["pictures", "pixels", "responses", "seconds", "without picture files", "ms a picture file"]
    return Section(
        "The verifier",
        f"`python -m adjudication.verify`, start of Python included; medians of {rounds} runs.",
        [Table("Verify", headings, rows)],
        [Figure.at_most(f"{rows[0][2]:,} responses, small pictures", float(rows[0][3]), MOST_SECONDS, " s")],
    )


def _row(week: Week, side: int, rounds: int) -> list[int | str | float]:
    folder = week.release("out")["folder"]
    whole = median(_seconds(["-m", "adjudication.verify", folder, "--quiet"]) for _ in range(rounds))
    rows = median(_seconds(["-c", _ROWS_ALONE, folder]) for _ in range(rounds))
    return [week.pictures, f"{side} x {side}", week.responses, whole, rows, (whole - rows) / week.pictures * 1000]


def _seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    python(arguments, {"PATH": os.environ["PATH"]})
    return time.perf_counter() - start
