"""A weekly release of a whole week, against COPY alone.

As a program, in a process of its own so that its memory can be told: `python -m bench.release OUT` releases the week
of `bench.answered` out of DATABASE_URL into OUT and prints what that took.
"""

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import psycopg2

from bench.machine import forget_peak_memory, peak_memory_mb
from bench.outcome import Figure, Section, Table, median_ratio
from bench.servers import Cluster
from bench.week import Week

MIN_PER_SECOND = 60_000
MIN_COPY_RATIO = 0.16
MAX_GROWTH_MIB = 80
_COPY = "COPY (SELECT * FROM labeling_response ORDER BY id) TO STDOUT WITH CSV"


def run(cluster: Cluster, pictures: int = 100_000, side: int = 8, rounds: int = 2) -> Section:
    """Release a week of `pictures` pictures, and copy its answers, alternating."""
    with tempfile.TemporaryDirectory(prefix="unanimous-bench-") as folder:
        week = Week.made(cluster, Path(folder) / "week", pictures, side)
        released, copied = [], []
        for turn in range(rounds):
            released.append(week.release(f"out-{turn}"))
            copied.append(_copy_seconds(week))
    return _section(week, released, copied)


def _copy_seconds(week: Week) -> float:
    """Return how long PostgreSQL alone takes to hand out the same answers."""
    connection = psycopg2.connect(week.database)
    start = time.perf_counter()
    with connection, connection.cursor() as cursor, tempfile.TemporaryFile("w") as file:
        cursor.copy_expert(_COPY, file)
    connection.close()
    return time.perf_counter() - start


def _section(week: Week, released: Sequence[dict[str, Any]], copied: Sequence[float]) -> Section:
    tables = [each["tables_seconds"] for each in released]
    growth = max(each["growth_mb"] for each in released)
    speed = week.responses / median(tables)
    rows = [
        ["COPY of the answers to CSV", median(copied), week.responses / median(copied), ""],
        ["all tables of the release", median(tables), speed, ""],
        ["and pictures, manifest, zip", median(each["seconds"] for each in released), "", f"{growth:.0f}"],
    ]
    table = Table("Release", ["what", "seconds", "responses/s", "memory growth MiB"], rows)
    share = median_ratio(copied, tables)
    return Section(
        "The weekly release",
        f"`release_week` of {week.responses:,} responses to {week.pictures:,} tiny pictures, in a new process with its "
        "libraries loaded; COPY is PostgreSQL handing out the same answers. Each picture is a file that is brought to "
        "the disk by itself, so that part depends on the disk and is told apart.",
        [table],
        [
            Figure.at_least("responses/s into all tables", speed, MIN_PER_SECOND),
            Figure.at_least("responses/s into all tables, share", share, MIN_COPY_RATIO, floor="COPY of the answers"),
            Figure.at_most("memory growth of the whole release", growth, MAX_GROWTH_MIB, " MiB"),
        ],
        {"released": list(released), "copied_seconds": list(copied)},
    )


def main(out: Path) -> None:
    """Release the week into `out` and print what it took."""
    import django
    import pandas  # noqa: F401 - a need of the tests alone, which pyarrow loads where it finds it
    import pyarrow.parquet  # noqa: F401 - what libraries take is taken once, whatever the week holds

    django.setup()
    from django.utils import timezone

    from adjudication.schema import release_format
    from bench.answered import RECEIVED
    from contest.releases.services import release_week
    from policy.calendar import week_of

    seen: dict[str, float] = {}

    def progress(what: str, done: int, total: int | None) -> None:
        seen.setdefault(what, time.perf_counter())

    week = week_of(RECEIVED, "UTC")
    forget_peak_memory()
    memory, start = peak_memory_mb(), time.perf_counter()
    released = release_week(week, out=out, now=timezone.now(), progress=progress)
    took = {
        "seconds": time.perf_counter() - start,
        "tables_seconds": seen[release_format.PICTURES] - start,
        "growth_mb": peak_memory_mb() - memory,
        "folder": str(released.folder),
    }
    print(json.dumps(took))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
