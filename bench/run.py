"""`make bench`: every benchmark in one go, into `bench/results.md` and `bench/results.json`.

`python -m bench.run --large` runs the labeling loop with up to 1,000,000 pictures too; without `--large`, the
earlier figures of that stay. `--quick` only shows that everything runs. Exit status 1 when a goal is missed, or a
ratio is much worse than in the results.json that is there.
"""

import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path

from bench import label_page, labeling_loop, last_minute, machine, release, rules, scoring, verify, warmup, what_if
from bench.labeling_loop import AT_SIZE, Crowd
from bench.outcome import Report, Section, record
from bench.servers import Cluster, cluster
from bench.warmup_runs import QUICK as WARMUP_QUICK

HERE = Path(__file__).resolve().parent
_LIBRARIES = ("Django", "djangorestframework", "granian", "gunicorn", "psycopg2-binary", "pyarrow", "shapely")
_QUICK_CROWDS = (Crowd(4), Crowd(2, by_token=True), Crowd(1))
_QUICK_LOOP = labeling_loop.LoopPlan(
    sizes=(100,), ahead=100, crowds=_QUICK_CROWDS, seconds=0.3, rounds=1, last_pictures=10
)


def benchmarks(*, large: bool, quick: bool) -> list[Callable[[Cluster], Section]]:
    """Return what runs, in order."""
    if quick:
        return [
            lambda _: rules.run(500, 1),
            partial(labeling_loop.run, plan=_QUICK_LOOP),
            partial(release.run, pictures=60, rounds=1),
            partial(verify.run, pictures=60, full_size=2, large=150, rounds=1),
            partial(what_if.run, pictures=60, rounds=1),
            partial(last_minute.run, plan=last_minute.QUICK),
            *(partial(each, plan=scoring.QUICK) for each in scoring.BENCHMARKS),
            *(partial(each, plan=WARMUP_QUICK) for each in warmup.BENCHMARKS),
        ]
    loops = [labeling_loop.LoopPlan(), *([AT_SIZE] if large else [])]
    others: list[Callable[[Cluster], Section]] = [release.run, verify.run, what_if.run, label_page.run, last_minute.run]
    return [
        lambda _: rules.run(),
        *(partial(labeling_loop.run, plan=loop) for loop in loops),
        *others,
        *scoring.BENCHMARKS,
        *warmup.BENCHMARKS,
    ]


def facts(servers: Cluster) -> dict[str, str]:
    """Return the machine and the versions of everything that matters."""
    found = machine.facts() | {"postgresql": str(servers.execute("SHOW server_version")[0][0])}
    return found | {name: version(name) for name in _LIBRARIES}


def _measured(servers: Cluster, runs: Sequence[Callable[[Cluster], Section]]) -> Iterator[Section]:
    for run in runs:
        start = time.monotonic()
        section = run(servers)
        print(f"{section.title}: {time.monotonic() - start:.0f} s", flush=True)
        yield section


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = ArgumentParser(prog="python -m bench.run", description="The benchmarks, against their baselines.")
    parser.add_argument("--large", action="store_true", help="the labeling loop with up to 1,000,000 pictures too")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that everything runs, measures nothing")
    parser.add_argument("--out", type=Path, default=HERE, help="the folder of results.md and results.json")
    options = parser.parse_args(arguments)
    with cluster() as servers:
        measured = _measured(servers, benchmarks(large=options.large, quick=options.quick))
        sections = [*measured, *_at_size(options.out, large=options.large)]
        return record(options.out, Report(facts(servers), sections))


def _at_size(folder: Path, *, large: bool) -> list[Section]:
    """Return the loop at size of the earlier report, where this run does not measure it."""
    return [] if large else [each for each in Report.read(folder).sections if each.title == AT_SIZE.title]


if __name__ == "__main__":
    # Ended from outside, the servers started here end too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
