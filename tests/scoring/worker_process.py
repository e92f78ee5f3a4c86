"""A scoring worker that kills itself with SIGKILL: `python -m tests.scoring.worker_process NOW WHERE`.

WHERE is `claimed`, `batch` (the second one), or `writing` (answers written, not committed).
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


def work(now: datetime, where: str) -> None:
    """Work until the place comes."""
    from scoring import persistence, services
    from scoring.models import Defense
    from scoring.runner import BatchAnswers, ReferenceRunner
    from tests.scoring import cast

    asked: list[int] = []

    def after_batch(answers: BatchAnswers) -> BatchAnswers:
        asked.append(1)
        if where == "batch" and len(asked) == 2:
            kill_self()
        return answers

    def find_runner(defense: Defense) -> ReferenceRunner:
        if where == "claimed":
            kill_self()
        return cast.Answering([defense.name], after_batch)

    def insert(*rows: Any) -> None:
        persistence.insert(*rows)
        if where == "writing":
            kill_self()

    services.insert = insert
    cast.work_all(now, name=str(os.getpid()), find_runner=find_runner)


if __name__ == "__main__":
    django.setup()
    work(datetime.fromisoformat(sys.argv[1]), sys.argv[2])
