"""Play simulated months of labeling, each in a throw-away database, and write what came of them."""

import gc
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from argparse import BooleanOptionalAction
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from contest.simulation.month import Month, Plan
from contest.simulation.outcome import Outcome, plan_json, rules_in_force
from contest.simulation.report import render
from labeling.models import Tasker

# A month makes hundreds of thousands of rows that refer to nothing in a circle: look for circles seldom.
CIRCLES_AFTER = 100_000


class Command(BaseCommand):
    """`manage.py simulate month` plays every seed in a process and an SQLite file of its own, never in the contest's
    database; then it writes PATH.json and PATH.md."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        """Say what is simulated; the defaults are those of the report in docs/."""
        parser.add_argument("what", choices=["month"])
        parser.add_argument("--seeds", type=int, default=1, help="how many months, from --seed on")
        for number in fields(Plan):
            parser.add_argument(f"--{number.name.replace('_', '-')}", type=int, default=number.default)
        parser.add_argument("--out", type=Path, default=Path("docs/monitoring-simulation"), metavar="PATH")
        parser.add_argument(
            "--in-this-database",
            action=BooleanOptionalAction,
            default=False,
            help="play one month in the configured database, which must be migrated and empty; writes PATH.json alone",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Play, and write."""
        plan = Plan(**{number.name: options[number.name] for number in fields(Plan)})
        if options["in_this_database"]:
            with _few_collections():
                _write(options["out"], play(plan, self.stdout.write))
            return
        played = [self._play_apart(replace(plan, seed=plan.seed + number)) for number in range(options["seeds"])]
        months = [month for figures in played for month in figures.pop("months")]
        figures = {"command": _command(plan, options), **played[0], "months": months}
        _write(options["out"], figures)
        options["out"].with_suffix(".md").write_text(render(figures))
        self.stdout.write(f"Wrote {options['out']}.md and .json")

    def _play_apart(self, plan: Plan) -> dict[str, Any]:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="unanimous-simulation-") as folder:
            environment = _environment(Path(folder))
            _manage(environment, "migrate", "-v", "0")
            numbers = [f"--{name.replace('_', '-')}={value}" for name, value in _numbers(plan).items()]
            out = Path(folder) / "month"
            _manage(environment, "simulate", "month", "--in-this-database", f"--out={out}", *numbers)
            figures: dict[str, Any] = json.loads(out.with_suffix(".json").read_text())
        self.stdout.write(f"seed {plan.seed} took {time.monotonic() - begin:.0f} s")
        return figures


@contextmanager
def _few_collections() -> Iterator[None]:
    """Let the collector of circular garbage come seldom, and as before afterwards."""
    before = gc.get_threshold()
    gc.set_threshold(CIRCLES_AFTER, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def play(plan: Plan, say: Any) -> dict[str, Any]:
    """Play a month in the database at hand and return its figures; CommandError when somebody labels there."""
    if Tasker.objects.exists():
        raise CommandError("There are taskers in this database: a simulation never runs among them.")
    month = Month(plan)
    month.play(say)
    return {
        "plan": plan_json(month),
        "policy": month.policy.policy.to_json(),
        "rules": rules_in_force(),
        "months": [Outcome(month).to_json()],
    }


def _write(out: Path, figures: dict[str, Any]) -> None:
    out.with_suffix(".json").write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")


def _numbers(plan: Plan) -> dict[str, int]:
    return {number.name: getattr(plan, number.name) for number in fields(Plan)}


def _command(plan: Plan, options: dict[str, Any]) -> str:
    """The command that writes the same again, without what is usual."""
    named = {"seeds": (options["seeds"], 1)} | {
        number.name: (getattr(plan, number.name), number.default) for number in fields(Plan)
    }
    words = [f"--{name.replace('_', '-')} {value}" for name, (value, usual) in named.items() if value != usual]
    return " ".join(["DEMO=1 python manage.py simulate month", *words])


def _environment(folder: Path) -> dict[str, str]:
    """Settings for a process that can reach neither the contest's database nor its broker."""
    return os.environ | {
        "DATABASE_URL": f"sqlite:///{folder / 'month.sqlite3'}",
        "DATA_DIR": str(folder),
        "SECRET_KEY": secrets.token_hex(32),
        "CELERY_BROKER_URL": "",
        "LOG_FORMAT": "console",
    }


def _manage(environment: dict[str, str], *words: str) -> None:
    done = subprocess.run([sys.executable, "manage.py", *words], cwd=settings.BASE_DIR, env=environment)
    if done.returncode != 0:
        raise CommandError(f"manage.py {words[0]} ended with {done.returncode}; its words are above.")
