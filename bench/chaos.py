"""Scorers killed with SIGKILL at random moments: nothing is lost, nothing is there twice.

Two scorers work on one database. Each is killed in the middle of its work and started again, and what comes out has to
be what an undisturbed scorer finds: the same rows, to the last bit. As a program, `python -m bench.chaos score NAME
SPEED` is one of the scorers, whose clock runs SPEED times as fast as the world's, so that a lost lease is soon over.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import django

from bench.outcome import Figure, Section, Table

BEGIN = datetime(2026, 11, 16, 12, tzinfo=UTC)
SIDE, BATCH, PER_RUN = 75, 16, 64
SPEED = 20
MAX_SECONDS = 600
_ROWS = (
    "defense__name",
    "image__pixels_sha256",
    "round",
    "answer",
    "score_bicycle",
    "score_bird",
    "seed",
    "batch",
    "row",
)


@dataclass(frozen=True, slots=True)
class ChaosPlan:
    """How much is scored and how often somebody is killed; `after` are the most seconds that one lives."""

    pictures: int = 2_000
    kills: int = 20
    after: float = 2.0


Row = tuple[Any, ...]
Python = Callable[..., subprocess.Popen[str]]


def disturbed(python: Python, plan: ChaosPlan, seed: int) -> tuple[list[Row], dict[str, int]]:
    """Score in a site with two scorers and kill them; return the rows, and how many runs took how many attempts.

    `python` starts Python with some arguments in the site, which nothing was scored in before.
    """
    _done(python("-m", "bench.chaos", "prepare", str(plan.pictures)))
    rng = random.Random(seed)
    with ExitStack() as stack:
        scorers = [_Scorer(python, f"scorer-{number}", stack) for number in range(2)]
        for _ in range(plan.kills):
            rng.choice(scorers).kill_after(rng.uniform(0, plan.after))
        for scorer in scorers:
            scorer.finish()
    return _rows(python)


def undisturbed(python: Python, plan: ChaosPlan) -> list[Row]:
    """Return the rows that one scorer finds by itself."""
    _done(python("-m", "bench.chaos", "prepare", str(plan.pictures)))
    _done(python("-m", "bench.chaos", "score", "alone", str(SPEED)))
    return _rows(python)[0]


def twice(rows: Sequence[Row]) -> int:
    """Count the answers of one defense for one picture in one round beyond the first."""
    return sum(count - 1 for count in Counter(row[:3] for row in rows).values())


class _Scorer:
    """A scorer's process, started again whenever it was killed."""

    def __init__(self, python: Python, name: str, stack: ExitStack) -> None:
        self._python, self._name = python, name
        self._start()
        stack.callback(self._end)

    def kill_after(self, seconds: float) -> None:
        """Let it live for a while, then kill it without any chance to tidy up, and start the next."""
        time.sleep(seconds)
        self._end()
        self._start()

    def finish(self) -> None:
        """Wait until it finds nothing more to do."""
        _done(self._process)

    def _start(self) -> None:
        self._process = self._python("-m", "bench.chaos", "score", self._name, str(SPEED))
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def _end(self) -> None:
        self._process.kill()
        self._process.communicate()


def _done(process: "subprocess.Popen[str]") -> str:
    out, _ = process.communicate(timeout=MAX_SECONDS)
    if process.returncode:
        raise RuntimeError(f"{process.args} ended with {process.returncode}")
    return out


def _rows(python: Python) -> tuple[list[Row], dict[str, int]]:
    found = json.loads(_done(python("-m", "bench.chaos", "rows")).splitlines()[-1])
    return [tuple(row) for row in found["rows"]], found["attempts"]


def site(folder: Path, database: str) -> Python:
    """Return what starts Python in an installation of its own."""
    (folder / "static").mkdir(parents=True, exist_ok=True)
    own = {"DATABASE_URL": database, "DATA_DIR": str(folder), "DEMO": "1", "DJANGO_SETTINGS_MODULE": "config.settings"}
    environment: Mapping[str, str] = {**os.environ, **own}

    def python(*arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, *arguments]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    return python


def run(create: Callable[[str], str], plan: ChaosPlan | None = None, seed: int = 1) -> Section:
    """Measure; `create` makes a migrated database of a name and returns its address."""
    plan = plan or ChaosPlan()
    with tempfile.TemporaryDirectory(prefix="unanimous-bench-") as folder:
        calm = undisturbed(site(Path(folder) / "calm", create("chaos-calm")), plan)
        found, attempts = disturbed(site(Path(folder) / "wild", create("chaos-wild")), plan, seed)
    rows = [[number, count] for number, count in sorted(attempts.items())]
    return Section(
        "Killed scorers",
        f"{plan.pictures:,} pictures x 3 defenses x 3 rounds by two scorers, of which one was killed with SIGKILL "
        f"{plan.kills} times at random moments, against one scorer that nobody disturbed.",
        [Table("Runs", ["attempts", "runs"], rows)],
        [
            Figure.at_most("answers that differ in any bit", len(set(found) ^ set(calm)), 0),
            Figure.at_most("answers that are there twice", twice(found), 0),
        ],
    )


# Inside a site -------------------------------------------------------------------------------------------------------


def prepare(pictures: int) -> None:
    """Make pictures, publish the shipped defenses and plan their runs: the same ones in every site."""
    from bench.scored import pictures as make_pictures
    from bench.scored import policy_of
    from scoring import services
    from scoring.reference import REFERENCES

    policy = policy_of(BATCH, SIDE, 3, BEGIN)
    make_pictures(1, pictures, SIDE, BEGIN)
    for declared in REFERENCES:
        services.reference_publish(declared, now=BEGIN)
    services.PICTURES_PER_RUN = PER_RUN
    services.runs_plan(policy=policy, now=BEGIN, rng=random.Random(1))


def score(name: str, speed: float) -> None:
    """Score until nothing is left, and take back what silent scorers left."""
    from scoring import leases, services
    from scoring.engine import ScoringEngine
    from scoring.enums import RunState
    from scoring.models import Run
    from scoring.runner import ReferenceRunner

    def clock() -> datetime:
        return BEGIN + timedelta(seconds=time.time() % 1e7 * speed)

    print("ready", flush=True)
    with ScoringEngine(name=name, clock=clock, device="cpu", find_runner=lambda _: ReferenceRunner()) as scorer:
        while Run.objects.exclude(state=RunState.FINISHED).exists():
            leases.reclaim(Run, now=clock())
            services.runs_retry(now=clock())  # as an organizer would: by chance one run may be killed three times
            if not scorer.work():
                time.sleep(0.05)


def rows() -> None:
    """Print what was answered."""
    from scoring.enums import RunState
    from scoring.models import Prediction, Run

    assert not Run.objects.exclude(state=RunState.FINISHED).exists()
    attempts = Counter(str(attempt) for attempt in Run.objects.values_list("attempt", flat=True))
    print(json.dumps({"rows": list(Prediction.objects.values_list(*_ROWS)), "attempts": attempts}))


def main(step: str, *arguments: str) -> None:
    """Do one step."""
    django.setup()
    if step == "prepare":
        prepare(int(arguments[0]))
    elif step == "score":
        score(arguments[0], float(arguments[1]))
    else:
        rows()


if __name__ == "__main__":
    main(*sys.argv[1:])
