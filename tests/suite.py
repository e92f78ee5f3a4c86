"""Runs the phases of `make test` and `make test-all`, and says at the end what each of them took.

`python -m tests.suite [--all] [PHASE …] [-- ARGUMENTS FOR PYTEST]`. Without a phase, all of them: `PHASES`, or with
`--all`, `REST`: what `make test` leaves out.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from scoring.machine import free_memory_mib
from tests.services import Ended, ending_in_order, postgres, redis, run_to_the_end

PYTEST = [sys.executable, "-m", "pytest"]
BIN = Path(sys.executable).parent
LINTERS = [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["lint-imports"]]
# The checks of the JavaScript (tests/node/package.json).
SCRIPTS = Path("tests/node")
SCRIPTS_BIN = SCRIPTS / "node_modules" / ".bin"
ESLINT = [str(SCRIPTS_BIN / "eslint"), "--config", str(SCRIPTS / "eslint.config.mjs"), "static/js", str(SCRIPTS)]
TSC = [str(SCRIPTS_BIN / "tsc"), "--project", "jsconfig.json"]
NODE = ["node", "--test", *sorted(map(str, SCRIPTS.glob("*.test.mjs")))]

# Each phase has a database of its own. Without what Python keeps of a compiled file, each process would compile every
# test.
NOT_FOR_TESTS = {"DATABASE_URL", "PYTHONDONTWRITEBYTECODE"}
# Marks choose the tests of a phase (docs/testing.md).
QUICK_SQLITE = "not browser and not long and not postgres"
QUICK_BROWSER = "browser and not long and not postgres"
QUICK_POSTGRES = "(postgres or both) and not long"
QUICK = (QUICK_SQLITE, QUICK_BROWSER, QUICK_POSTGRES)
LONG_SQLITE = "long and not postgres"
# What is long runs on one database, unless it is marked `both`.
REST_POSTGRES = "long and (postgres or both) or database and not (long or postgres or both or browser)"
# A file system in memory. The temporary files of a phase take up to 2 GiB; so much has to be free.
MEMORY, ROOM_MIB = Path("/dev/shm"), 4096
# Changes to the rules that are tried of about 630 (`tests/mutants`).
MUTANTS = 60
# Processes at once on two cores: one more, as cases wait for a page, a program that is killed or a lock.
PROCESSES = 3


@dataclass
class Suite:
    """One run: what its phases took, and whether they passed."""

    arguments: list[str]
    took: list[tuple[str, float, int | None, int]] = field(default_factory=list)

    @contextmanager
    def _timed(self, phase: str) -> Iterator[dict[str, int]]:
        """Note what a phase takes; the caller fills in `status`, and `cases` where there are any."""
        print(f"== {phase}", flush=True)
        start, found = time.monotonic(), {"status": 1}
        try:
            yield found
        finally:
            self.took.append((phase, time.monotonic() - start, found.get("cases"), found["status"]))

    def commands(self, phase: str, *commands: list[str]) -> None:
        """Run programs one after the other; each is run, whatever the one before says."""
        with self._timed(phase) as found:
            found["status"] = max(run_to_the_end(command, dict(os.environ)) != 0 for command in commands)

    def pytest(self, phase: str, chosen: str, places: list[str], processes: int, **environment: str) -> None:
        """Run the tests of `places` that the marks choose; an interrupt lets pytest take down what they started."""
        with self._timed(phase) as found, tempfile.NamedTemporaryFile("r", suffix=".json") as cases:
            # How long a case may take is judged where every change has to wait for it.
            limit = [] if chosen in QUICK else ["-p", "no:tests.dear_cases"]
            # A short path: it holds sockets, whose paths have at most 107 bytes.
            folder = f"--basetemp={tempfile.gettempdir()}/t"
            command = [*PYTEST, *limit, folder, "-n", str(processes), "-m", chosen, *self.arguments, *places]
            kept = {name: value for name, value in os.environ.items() if name not in NOT_FOR_TESTS}
            found["status"] = run_to_the_end(command, kept | environment | {"CASES": cases.name}, ask=signal.SIGINT)
            found["cases"] = int(cases.read() or 0)

    @property
    def passed(self) -> bool:
        """Whether every phase so far ended well."""
        return not any(status for *_, status in self.took)

    def table(self) -> str:
        """Return the phases with their seconds of wall time and their cases."""
        rows = [f"{'phase':<20}{'seconds':>8}{'cases':>8}"]
        for phase, seconds, cases, status in self.took:
            rows.append(f"{phase:<20}{seconds:8.0f}{'' if cases is None else cases:>8}{'  failed' if status else ''}")
        return "\n".join([*rows, f"{'together':<20}{sum(seconds for _, seconds, *_ in self.took):8.0f}"])


def lint(suite: Suite) -> None:
    """Style, format and import contracts; style of the JavaScript."""
    suite.commands("lint", *([str(BIN / command[0]), *command[1:]] for command in LINTERS), ESLINT)


def types(suite: Suite) -> None:
    """Types of the application, and of the JavaScript."""
    suite.commands("types", [str(BIN / "mypy")], TSC)


def node(suite: Suite) -> None:
    """The JavaScript that needs no page, in Node's own runner."""
    suite.commands("Node", NODE)


def sqlite(suite: Suite) -> None:
    """Everything quick that needs no browser."""
    with redis() as broker:
        suite.pytest("SQLite", QUICK_SQLITE, ["tests"], PROCESSES, TEST_REDIS_URL=broker)


def browser(suite: Suite) -> None:
    """The journeys, in Chromium."""
    with redis() as broker:
        suite.pytest("browser", QUICK_BROWSER, ["tests/browser"], PROCESSES, TEST_REDIS_URL=broker)


def on_postgres(suite: Suite) -> None:
    """What depends on the database, on PostgreSQL."""
    _on_postgres(suite, "PostgreSQL", QUICK_POSTGRES, _files("postgres", "both"), PROCESSES)


def long(suite: Suite) -> None:
    """What is long by nature, on SQLite, and in the browser."""
    with redis() as broker:
        suite.pytest("long", LONG_SQLITE, _files("long"), PROCESSES, TEST_REDIS_URL=broker)


def mutants(suite: Suite) -> None:
    """Small changes to the rules that tests must notice: a sample, always the same."""
    suite.commands("mutants", [sys.executable, "-m", "tests.mutants", "--sample", str(MUTANTS)])


def fuzz(suite: Suite) -> None:
    """What reads a stranger's release, under 100,000 inputs, always the same."""
    suite.commands("fuzz", [sys.executable, "-m", "tests.fuzz"])


def rest_on_postgres(suite: Suite) -> None:
    """What is long on PostgreSQL, and the quick tests of the database that `make test` runs on SQLite alone."""
    _on_postgres(suite, "the rest, PostgreSQL", REST_POSTGRES, ["tests"], PROCESSES)


@contextmanager
def temporary_files_in_memory() -> Iterator[None]:
    """Let everything keep its temporary files in memory, where there is room. On ext4, overwriting a small file takes
    0.3 ms: a third of the time of the tests of releases. A TMPDIR that is set is used instead."""
    before = os.environ.get("TMPDIR")
    where = MEMORY if before is None and _has_room(MEMORY) else None
    for left in MEMORY.glob("una-*-*"):  # by a run that was killed: it would stay until the machine starts again
        if not Path("/proc", left.name.split("-")[1]).exists():
            shutil.rmtree(left, ignore_errors=True)
    prefix = f"una-{os.getpid()}-"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=where, ignore_cleanup_errors=True) as place:
        Path(place).chmod(0o711)  # servers that root starts run as somebody else
        tempfile.tempdir = os.environ["TMPDIR"] = place
        try:
            yield
        finally:
            tempfile.tempdir = None
            if before is None:
                del os.environ["TMPDIR"]
            else:
                os.environ["TMPDIR"] = before


def _has_room(folder: Path) -> bool:
    """Say whether a file system in memory takes the files of a run, and programs among them."""
    if not folder.is_dir() or os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(folder).free >= ROOM_MIB << 20 and (free_memory_mib() or 0) >= ROOM_MIB


def _files(*marks: str) -> list[str]:
    """Return the files that name one of the marks: the others need not be imported."""
    files = sorted(Path("tests").rglob("test_*.py"))
    return [str(file) for file in files if any(f"mark.{mark}" in file.read_text() for mark in marks)]


def _on_postgres(suite: Suite, phase: str, chosen: str, places: list[str], processes: int) -> None:
    with redis() as broker, postgres() as database:
        # Every database of the cluster is copied from its template: each one that a test makes is migrated already.
        template = urlsplit(database)._replace(path="/template1").geturl()
        environment = os.environ | {"DATABASE_URL": template, "DJANGO_SETTINGS_MODULE": "tests.settings"}
        subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], env=environment, check=True)
        suite.pytest(phase, chosen, places, processes, TEST_REDIS_URL=broker, DATABASE_URL=database)


PHASES: dict[str, Callable[[Suite], None]] = {
    **{"lint": lint, "types": types, "node": node},
    **{"sqlite": sqlite, "browser": browser, "postgres": on_postgres},
}
REST: dict[str, Callable[[Suite], None]] = {
    **{"long": long, "mutants": mutants, "fuzz": fuzz},
    **{"postgres-rest": rest_on_postgres},
}
# Nobody waits for the tests of what the linters refuse already.
FIRST = ("lint", "types")


def main(arguments: list[str]) -> int:
    """Return 0 when all phases pass."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(prog="python -m tests.suite", usage="%(prog)s [--all] [PHASE ...] [-- PYTEST ...]")
    parser.add_argument("--all", action="store_true", help="what `make test` leaves out")
    parser.add_argument("phases", nargs="*", metavar="PHASE", help=", ".join([*PHASES, *REST]))
    asked = parser.parse_args(arguments[:end])
    if unknown := set(asked.phases) - {*PHASES, *REST}:
        parser.error(f"no phase: {', '.join(sorted(unknown))}")
    suite = Suite(arguments[end + 1 :])
    try:
        with ending_in_order(), temporary_files_in_memory():
            for name in asked.phases or (REST if asked.all else PHASES):
                (PHASES | REST)[name](suite)
                if name in FIRST and not suite.passed:
                    break
    except Ended as ended:
        return 128 + ended.number
    finally:
        print(f"\n{suite.table()}", flush=True)
    return 0 if suite.passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
