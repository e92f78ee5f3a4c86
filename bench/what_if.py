"""Other numbers tried on all answers there are, in a process of its own; what a page adds to that is not counted."""

import tempfile
from pathlib import Path
from statistics import median

from bench.outcome import Figure, Section, Table
from bench.servers import Cluster, python
from bench.week import Week

MAX_SECONDS = 5
_TRIED = {
    "smallest box 20 %": "TriedNumbers(VerdictPolicy(min_box_fraction=Fraction(1, 5)), 3)",
    "occlusion allowed": "TriedNumbers(VerdictPolicy(occlusion_allowed=True), 3)",
    "four taskers": "TriedNumbers(VerdictPolicy(), 4)",
}
_PROGRAM = """
import time
from fractions import Fraction
import django
django.setup()
from adjudication.rules import VerdictPolicy
from adjudication.what_if import TriedNumbers, try_on_all
begun = time.perf_counter()
parts = list(try_on_all({numbers}))
print(time.perf_counter() - begun, sum(each.looked for each in parts), sum(len(each.changes) for each in parts))
"""


def run(cluster: Cluster, pictures: int = 10_000, rounds: int = 3) -> Section:
    """Try each of the examples on `pictures` pictures of three answers each."""
    with tempfile.TemporaryDirectory(prefix="unanimous-bench-") as folder:
        week = Week.made(cluster, Path(folder) / "week", pictures, side=8)
        rows = [[words, *_tried(week, numbers, rounds)] for words, numbers in _TRIED.items()]
    slowest = max(float(row[1]) for row in rows)
    return Section(
        "What if",
        f"Medians of {rounds} runs.",
        [Table("Tried", ["what", "seconds", "responses", "pictures that would change"], rows)],
        [Figure.at_most(f"{week.responses:,} responses under other numbers", slowest, MAX_SECONDS, " s")],
    )


def _tried(week: Week, numbers: str, rounds: int) -> list[float | int]:
    program = _PROGRAM.format(numbers=numbers)
    found = [python(["-c", program], week.environment()).split() for _ in range(rounds)]
    if int(found[0][1]) != week.pictures:
        raise RuntimeError(f"{found[0][1]} pictures were tried instead of {week.pictures}")
    return [median(float(seconds) for seconds, *_ in found), week.responses, int(found[0][2])]
