"""Play a whole contest, or months of labeling, with made-up people on a virtual clock, and tell what came of it."""

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
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from common.commands import ContestCommand
from common.progress import every_few_seconds
from contest.core.models import Team
from contest.simulation.cast import ContestPlan
from contest.simulation.contest import SimulatedContest
from contest.simulation.expectations import Expectations
from contest.simulation.isolation import STOPPED, SimulationStore, manage
from contest.simulation.month import MonthPlan, SimulatedMonth
from contest.simulation.outcome import MonthOutcome, plan_json, rules_in_force
from contest.simulation.report import render
from contest.simulation.story import render as render_story
from contest.simulation.world import PASSWORD, SIGN_INS
from labeling.models import Image, Tasker
from scoring.models import Defense

# A simulation makes hundreds of thousands of rows that refer to nothing in a circle: look for circles seldom.
CIRCLES_AFTER = 100_000
_CONTEST_NUMBERS = {
    "weeks": "weeks in which teams attack",
    "teams": "teams, of every kind in turn",
    "attacks": "pictures that teams send, beside what is refused",
    "taskers": "people who label",
    "stake_days": "days a defense has to stay unbroken",
    "cents_per_label": "what a label costs",
    "taken_in": "pictures that organizers take in at the beginning",
    "private": "pictures of the private set",
}
_MONTH_NUMBERS = {
    "honest": "taskers who do their best",
    "careless": "taskers who overlook what is cut off or covered",
    "random": "taskers who press anything",
    "copying": "taskers who look up what the other one said",
    "days": "working days",
    "pictures_a_day": "pictures each tasker answers in a day",
    "first_gold": "gold pictures at the beginning",
    "gold_a_day": "gold pictures that are added each day",
}


class Command(ContestCommand):
    """`simulate` plays a contest and prints its story; `simulate month` plays months of labeling and writes PATH.json
    and PATH.md. Both in databases of their own, never in the contest's."""

    help = __doc__
    example = "./unanimous simulate --weeks 4 --teams 10 --attacks 80 --taskers 8"

    def add_arguments(self, parser: CommandParser) -> None:
        """Say what is simulated; the defaults of a month are those of the report in docs/."""
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
        _add_contest(parser.add_argument_group("a contest"))
        _add_month(parser.add_argument_group("months"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Play, and tell."""
        options["out"] = (options["out"] or settings.DATA_DIR / "monitoring-simulation").resolve()
        for path in (options["json"], options["out"]):
            if path and not path.resolve().parent.is_dir():
                raise CommandError(f"There is no folder {path.resolve().parent} to write into: make it first.")
        try:
            if options["what"] == "month":
                self._months(options)
            elif options["here"]:
                self._contest_here(_contest_plan(options), options["json"])
            else:
                self._contest_apart(_contest_plan(options), options)
        except KeyboardInterrupt:
            self.stderr.write("Stopped. What was played until then is in its database.")
            sys.exit(STOPPED)

    # A contest --------------------------------------------------------------------------------------------------------

    def _contest_apart(self, plan: ContestPlan, options: dict[str, Any]) -> None:
        folder = options["folder"] or settings.DATA_DIR / f"simulation-{plan.seed}"
        place = SimulationStore.at(folder, options["database"])
        place.make()
        # With DEMO a few people can sign in, with a password that everybody knows; the key is the served folder's.
        environment = place.environment() | {"DEMO": "1"}
        del environment["SECRET_KEY"]
        numbers = [f"--{name.replace('_', '-')}={value}" for name, value in asdict(plan).items()]
        told = [f"--json={options['json'].resolve()}"] if options["json"] else []
        manage(environment, "migrate", "-v", "0")
        manage(environment, "simulate", "contest", "--into-this-database", *numbers, *told)
        self.stderr.write(f"Its pages: {_serving(place)}")

    def _contest_here(self, plan: ContestPlan, out: Path | None) -> None:
        _refuse_taken()
        begun = time.monotonic()
        with few_collections(), _quiet(), _bar() as bar, between_days(bar) as say:
            contest = SimulatedContest(plan)
            contest.play(say)
            figures = Expectations(contest).to_json()
        if settings.DEMO:
            _let_sign_in(contest)
        if out:
            _write(out, figures)
        self.stdout.write(render_story(figures), ending="")
        self.stderr.write(f"It took {time.monotonic() - begun:.0f} s.")

    # Months -----------------------------------------------------------------------------------------------------------

    def _months(self, options: dict[str, Any]) -> None:
        plan = MonthPlan(**{number.name: options[number.name] for number in fields(MonthPlan)})
        if options["here"]:
            with few_collections(), between_days(self.stdout.write) as say:
                _write(options["out"].with_suffix(".json"), play(plan, say))
            return
        played = [self._play_apart(replace(plan, seed=plan.seed + number)) for number in range(options["seeds"])]
        months = [month for figures in played for month in figures.pop("months")]
        figures = {"command": _command(plan, options), **played[0], "months": months}
        _write(options["out"].with_suffix(".json"), figures)
        options["out"].with_suffix(".md").write_text(render(figures))
        self.stdout.write(f"Wrote {options['out']}.md and .json")

    def _play_apart(self, plan: MonthPlan) -> dict[str, Any]:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="unanimous-simulation-") as folder:
            environment = SimulationStore.at(Path(folder)).environment()
            manage(environment, "migrate", "-v", "0")
            numbers = [f"--{name.replace('_', '-')}={value}" for name, value in asdict(plan).items()]
            out = Path(folder) / "month"
            manage(environment, "simulate", "month", "--into-this-database", f"--out={out}", *numbers)
            figures: dict[str, Any] = json.loads(out.with_suffix(".json").read_text())
        self.stdout.write(f"seed {plan.seed} took {time.monotonic() - begin:.0f} s")
        return figures


# Options --------------------------------------------------------------------------------------------------------------


def _add_contest(group: Any) -> None:
    defaults = asdict(ContestPlan())
    for name, words in _CONTEST_NUMBERS.items():
        group.add_argument(f"--{name.replace('_', '-')}", type=int, default=defaults[name], help=words)
    group.add_argument("--begin", type=_day, default=ContestPlan().begin, help="the first day, as 2026-01-03")
    group.add_argument("--folder", type=Path, help="where its files lie; by default in DATA_DIR")
    group.add_argument("--database", default="", help="postgres://... of a database to create; by default SQLite")
    group.add_argument("--json", type=Path, metavar="PATH", help="write the figures to this file too")


def _add_month(group: Any) -> None:
    group.add_argument("--seeds", type=int, default=1, help="how many months, from --seed on")
    for number in fields(MonthPlan):
        if number.name != "seed":
            words = _MONTH_NUMBERS[number.name]
            group.add_argument(f"--{number.name.replace('_', '-')}", type=int, default=number.default, help=words)
    out = "where to write PATH.md and PATH.json; by default DATA_DIR/monitoring-simulation"
    group.add_argument("--out", type=Path, metavar="PATH", help=out)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no day: write it like 2026-01-03") from None


def _contest_plan(options: dict[str, Any]) -> ContestPlan:
    try:
        return ContestPlan(**{number.name: options[number.name] for number in fields(ContestPlan)})
    except ValueError as error:
        raise CommandError(f"{error}.".capitalize()) from error


def _command(plan: MonthPlan, options: dict[str, Any]) -> str:
    """The command that writes the same again, without what is usual."""
    named = {"seeds": (options["seeds"], 1)} | {
        number.name: (getattr(plan, number.name), number.default) for number in fields(MonthPlan)
    }
    words = [f"--{name.replace('_', '-')} {value}" for name, (value, usual) in named.items() if value != usual]
    return " ".join(["./unanimous simulate month", *words])


# Playing --------------------------------------------------------------------------------------------------------------


def play(plan: MonthPlan, say: Any) -> dict[str, Any]:
    """Play a month in the database at hand and return its figures; CommandError when somebody labels there."""
    if Tasker.objects.exists():
        raise CommandError("There are taskers in this database: a simulation never runs among them.")
    month = SimulatedMonth(plan)
    month.play(say)
    return {
        "plan": plan_json(month),
        "policy": month.policy.policy.to_json(),
        "rules": rules_in_force(),
        "months": [MonthOutcome(month).to_json()],
    }


def _refuse_taken() -> None:
    """Refuse a database in which there is anything of a contest."""
    if any(rows.exists() for rows in (User.objects, Team.objects, Image.objects, Tasker.objects, Defense.objects)):
        raise CommandError("This database holds a contest: a simulation is played in an empty one.")


def _let_sign_in(contest: SimulatedContest) -> None:
    """Give the offices and the first tasker and captains a password, as in the demo."""
    world = contest.world
    first = [world.crowd.workers[0].tasker.user, *(team.captain for team in world.teams[:2])]
    users = [*User.objects.filter(username__in=SIGN_INS), *(user for user in first if user)]
    for user in users:
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
def few_collections() -> Iterator[None]:
    """Let the collector of circular garbage come seldom, and as before afterwards."""
    before = gc.get_threshold()
    gc.set_threshold(CIRCLES_AFTER, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep to oneself what every run and trial says; warnings are seen."""
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.setLevel(before)


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
