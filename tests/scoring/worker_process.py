"""A scoring worker in a process of its own, to be killed: `python -m tests.scoring.worker_process STEP NOW ... [KILL]`.

STEP is `prepare` (pictures, rulings, a defense, the plan), `work` (until nothing waits) or `reclaim`; one can follow
another. KILL is where the process kills itself with SIGKILL: `claimed`, `batch` (the second one), or `writing` (answers
written, not committed).
"""

import os
import signal
import sys
from datetime import datetime
from typing import Any

import django


def kill_self() -> None:
    """End without any chance to tidy up."""
    os.kill(os.getpid(), signal.SIGKILL)


def prepare(now: datetime) -> None:
    from tests.scoring import cast

    cast.publish(now, "numpy-statistics")
    cast.valid_pictures(10)
    cast.plan(now)


def work(now: datetime, kill: str) -> None:
    from django.db import connection

    from scoring.models import Defense
    from scoring.runner import Answers, ReferenceRunner
    from tests.scoring import cast

    asked: list[int] = []

    def after_batch(answers: Answers) -> Answers:
        asked.append(1)
        if kill == "batch" and len(asked) == 2:
            kill_self()
        return answers

    def find_runner(defense: Defense) -> ReferenceRunner:
        if kill == "claimed":
            kill_self()
        return cast.Answering([defense.name], after_batch)

    def after_insert(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if kill == "writing" and sql.startswith('INSERT INTO "scoring_prediction"'):
            kill_self()
        return result

    with connection.execute_wrapper(after_insert):
        cast.work_all(now, name=str(os.getpid()), find_runner=find_runner)


def take(step: str, now: datetime, kill: str) -> None:
    from scoring.services import runs_reclaim

    if step == "prepare":
        prepare(now)
    elif step == "reclaim":
        runs_reclaim(now=now)
    else:
        work(now, kill)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    arguments = sys.argv[1:]
    kill = arguments.pop() if len(arguments) % 2 else ""
    for step, moment in zip(arguments[::2], arguments[1::2], strict=True):
        take(step, datetime.fromisoformat(moment), kill)
