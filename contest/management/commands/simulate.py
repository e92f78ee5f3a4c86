"""`simulate`: plays a contest, or months of labeling, with made-up people on a virtual clock, and reports it."""

import gc
import json
import logging
import shlex
import signal
import sys
import tempfile
import time
from argparse import ArgumentTypeError, BooleanOptionalAction
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from datetime import date
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from common.commands import ContestCommand
from common.progress import every_few_seconds
from contest.core.models import Team
from contest.simulation.contest import play_contest
from contest.simulation.isolation import STOPPED, SimulationStore, manage
from contest.simulation.month import SimulatedMonth
from contest.simulation.month import figures as month_figures
from contest.simulation.month_report import render_month as render_month
from contest.simulation.plans import ContestPlan, MonthPlan, Plan
from contest.simulation.report import read_figures, render_contest
from contest.simulation.world import SimulationWorld
from labeling.models import Image, Tasker
from scoring.models import Defense

# Accounts that may sign in where a simulation's pages are served: the offices, and the first of each kind.
PASSWORD, SIGN_INS = "demo-only", ("organizer", "organizer2", "board1", "board2", "board3")
# A simulation makes hundreds of thousands of objects without reference cycles: collect garbage seldom.
CIRCLES_AFTER = 100_000
AnyPlan = TypeVar("AnyPlan", bound=Plan)


class Command(ContestCommand):
    """`simulate` plays a contest and prints its story; `simulate month` plays months of labeling and writes PATH.json
    and PATH.md. Both in databases of their own, never in the contest's."""

    help = __doc__
    example = "./unanimous simulate --weeks 4 --teams 10 --attacks 80 --taskers 8"

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options; the defaults of a month are those of the report in docs/."""
        parser.add_argument(
            "what",
            nargs="?",
            choices=["contest", "month"],
            default="contest",
            help="a whole contest (default), or months of labeling",
        )
        parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same, byte for byte")
        parser.add_argument(
            "--into-this-database",
            "--in-this-database",
            dest="here",
            action=BooleanOptionalAction,
            default=False,
            help="play in the configured database, which must be migrated and empty",
        )
        contest, months = parser.add_argument_group("a contest"), parser.add_argument_group("months")
        _add_numbers(contest, ContestPlan)
        contest.add_argument("--folder", type=Path, help="where its files lie; by default in DATA_DIR")
        contest.add_argument("--database", default="", help="postgres://... of a database to create; by default SQLite")
        contest.add_argument("--json", type=Path, metavar="PATH", help="write the figures to this file too")
        months.add_argument("--seeds", type=int, default=1, help="how many months, from --seed on")
        _add_numbers(months, MonthPlan)
        out = "where to write PATH.md and PATH.json; by default DATA_DIR/monitoring-simulation"
        months.add_argument("--out", type=Path, metavar="PATH", help=out)

    def handle(self, *args: Any, **options: Any) -> None:
        """Play, and report."""
        options["out"] = (options["out"] or settings.DATA_DIR / "monitoring-simulation").resolve()
        for path in (options["json"], options["out"]):
            if path and not path.resolve().parent.is_dir():
                raise CommandError(f"There is no folder {path.resolve().parent} to write into: make it first.")
        try:
            if options["what"] == "month":
                self._months(options)
            elif options["here"]:
                self._contest_here(_plan(ContestPlan, options), options["json"])
            else:
                self._contest_apart(_plan(ContestPlan, options), options)
        except KeyboardInterrupt:
            self.stderr.write("Stopped. What was played until then is in its database.")
            sys.exit(STOPPED)

    # A contest --------------------------------------------------------------------------------------------------------

    def _contest_apart(self, plan: ContestPlan, options: dict[str, Any]) -> None:
        folder = options["folder"] or settings.DATA_DIR / f"simulation-{plan.seed}"
        place = SimulationStore.at(folder, options["database"])
        place.make()
        # With DEMO a few people can sign in, with a public password; the secret key is that of the served folder.
        environment = place.environment() | {"DEMO": "1"}
        del environment["SECRET_KEY"]
        told = [f"--json={options['json'].resolve()}"] if options["json"] else []
        manage(environment, "migrate", "-v", "0")
        manage(environment, "simulate", "contest", "--into-this-database", *_words(plan), *told)
        self.stderr.write(f"Its pages: {_serving(place)}")

    def _contest_here(self, plan: ContestPlan, out: Path | None) -> None:
        _refuse_used_database()
        begun = time.monotonic()
        with undisturbed(), _bar() as bar, between_days(bar) as say:
            world = play_contest(plan, say)
            figures = read_figures(world)
        if settings.DEMO:
            _let_sign_in(world)
        if out:
            _write(out, figures)
        self.stdout.write(render_contest(figures), ending="")
        self.stderr.write(f"It took {time.monotonic() - begun:.0f} s.")

    # Months -----------------------------------------------------------------------------------------------------------

    def _months(self, options: dict[str, Any]) -> None:
        plan = _plan(MonthPlan, options)
        if options["here"]:
            with undisturbed(), between_days(self.stdout.write) as say:
                _write(options["out"].with_suffix(".json"), play(plan, say))
            return
        played = [self._play_apart(replace(plan, seed=plan.seed + number)) for number in range(options["seeds"])]
        months = [month for figures in played for month in figures.pop("months")]
        figures = {"command": _command(plan, options), **played[0], "months": months}
        _write(options["out"].with_suffix(".json"), figures)
        options["out"].with_suffix(".md").write_text(render_month(figures))
        self.stdout.write(f"Wrote {options['out']}.md and .json")

    def _play_apart(self, plan: MonthPlan) -> dict[str, Any]:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="unanimous-simulation-") as folder:
            environment = SimulationStore.at(Path(folder)).environment()
            manage(environment, "migrate", "-v", "0")
            out = Path(folder) / "month"
            manage(environment, "simulate", "month", "--into-this-database", f"--out={out}", *_words(plan))
            figures: dict[str, Any] = json.loads(out.with_suffix(".json").read_text())
        self.stdout.write(f"seed {plan.seed} took {time.monotonic() - begin:.0f} s")
        return figures


# Options --------------------------------------------------------------------------------------------------------------


def _add_numbers(group: Any, kind: type[Plan]) -> None:
    """Add an option for each number of a plan except the seed, which both plans have."""
    for each in fields(kind)[1:]:
        read, words = (_day if each.name == "begin" else int), each.metadata["words"]
        group.add_argument(_option(each.name), type=read, default=each.default, help=words)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no day: write it like 2026-01-03") from None


def _plan(kind: type[AnyPlan], options: dict[str, Any]) -> AnyPlan:
    try:
        return kind(**{each.name: options[each.name] for each in fields(kind)})
    except ValueError as error:
        raise CommandError(f"{error}.".capitalize()) from error


def _words(plan: Plan) -> list[str]:
    """The command-line options that give this plan."""
    return [f"{_option(name)}={value}" for name, value in asdict(plan).items()]


def _command(plan: MonthPlan, options: dict[str, Any]) -> str:
    """The command that repeats this report, without default options."""
    values, usual = {"seeds": options["seeds"], **asdict(plan)}, {"seeds": 1, **asdict(MonthPlan())}
    words = [f"{_option(name)} {value}" for name, value in values.items() if value != usual[name]]
    return " ".join(["./unanimous simulate month", *words])


# Playing --------------------------------------------------------------------------------------------------------------


def play(plan: MonthPlan, say: Any) -> dict[str, Any]:
    """Play a month in the database at hand and return its figures; CommandError when somebody labels there."""
    if Tasker.objects.exists():
        raise CommandError("There are taskers in this database: a simulation never runs among them.")
    month = SimulatedMonth(plan)
    month.play(say)
    return month_figures(month)


def _refuse_used_database() -> None:
    """Refuse a database that holds any data of a contest."""
    if any(rows.exists() for rows in (User.objects, Team.objects, Image.objects, Tasker.objects, Defense.objects)):
        raise CommandError("This database holds a contest: a simulation is played in an empty one.")


def _let_sign_in(world: SimulationWorld) -> None:
    """Give the offices and the first tasker and captains a password, as in the demo."""
    first = [world.crowd.workers[0].tasker.user, *(team.captain for team in world.teams[:2])]
    for user in [*User.objects.filter(username__in=SIGN_INS), *(user for user in first if user)]:
        user.set_password(PASSWORD)
        user.save(update_fields=["password"])


def _serving(place: SimulationStore) -> str:
    words = ["DEMO=1", f"DATABASE_URL={shlex.quote(place.database)}", f"DATA_DIR={shlex.quote(str(place.folder))}"]
    signing = f"sign in as {', '.join(SIGN_INS)}; the password of all is {PASSWORD}"
    launcher = shlex.quote(str(settings.BASE_DIR / "unanimous"))
    return f"{' '.join(words)} {launcher} serve --pages-only\n({signing})"


def _write(out: Path, figures: dict[str, Any]) -> None:
    out.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")


@contextmanager
def between_days(say: Callable[..., object]) -> Iterator[Callable[..., None]]:
    """Give `say`, which is called after each day, the answer to Ctrl-C: it raises KeyboardInterrupt.

    Raised at once, it may be swallowed: within a function that SQLite calls it becomes an error of the database, which
    a service may answer like any other.
    """
    stopped = Event()

    def said(*words: Any) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        say(*words)

    before = signal.signal(signal.SIGINT, lambda *_: stopped.set())
    try:
        yield said
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Inside, collect garbage seldom and log only warnings of runs and trials; both are restored afterwards."""
    collects, root = gc.get_threshold(), logging.getLogger()
    level = root.level
    gc.set_threshold(CIRCLES_AFTER, 50, 50)
    root.setLevel(logging.WARNING)
    try:
        yield
    finally:
        gc.set_threshold(*collects)
        root.setLevel(level)


@contextmanager
def _bar() -> Iterator[Callable[[int, int, str], None]]:
    """Give a function that moves a bar on a terminal, and writes a line every few seconds elsewhere."""
    if not sys.stderr.isatty():
        line = every_few_seconds(lambda words: print(words, file=sys.stderr))
        yield lambda done, total, words: line(
            f"Playing {words}" + (f": day {done + 1} of {total}" if done < total else "")
        )
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task("a contest", total=None)

        def say(done: int, total: int, words: str) -> None:
            bars.update(task, completed=done, total=total, description=words)

        yield say
