"""Decorators that declare Celery tasks and sweeps (periodic jobs) by the queue they need.

The database holds the truth and every task is a sweep or a hint: running one twice, late or never changes nothing
but the delay. Without a broker (one machine, nothing installed) the worker process sweeps by itself, and a hint has
no recipient: `hint` then does nothing.
"""

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from celery import Task, shared_task  # noqa: TID251 - the one place that may
from django.conf import settings
from django.db import transaction

from common import hints
from common.audit.origin import audit_origin
from common.outages import outages


def _with_audit_origin(function: Callable[..., Any]) -> Callable[..., Any]:
    """Record a task's own actions in the audit trail under its name."""

    @wraps(function)
    def run(*args: Any, **arguments: Any) -> Any:
        try:
            with audit_origin(f"task {function.__name__}"):
                done = function(*args, **arguments)
        except Exception as error:
            # The next sweep finds the work again; until then an outage logs one line, not a traceback for every task.
            if not outages.failed(function.__name__, error):
                raise
            return None
        outages.succeeded(function.__name__)
        return done

    return run


@dataclass(frozen=True, slots=True)
class Sweep:
    """A periodic job, declared once: workers, Celery's beat, `settle`, the overview and the metrics read it here.

    `run` does what is due, notes that it ran, and returns how many things it did. With a broker, `task` runs it every
    `every` seconds, and `hint(sweep.task)` asks for it at once. `words` say what it does.
    """

    name: str
    words: str
    queue: str
    every: float
    run: Callable[[], int]
    task: Task


def sweep(
    name: str, *, every: float, queue: str = "quick", repeats_for: float = 0.0
) -> Callable[[Callable[[], int]], Sweep]:
    """Declare an idempotent sweep; the docstring of the function says what it does.

    Queues: `quick` ends in seconds, `slow` may take minutes (releases), `gpu` may hold the scoring device for long. A
    task repeats the function for at most `repeats_for` seconds while it finds work.
    """

    def declare(function: Callable[[], int]) -> Sweep:
        @wraps(function)
        def run() -> int:
            # Celery's configuration imports this module before there are models.
            from common.sweep_runs import sweep_log

            with sweep_log.running(name):
                return function()

        @wraps(function)
        def task() -> None:
            until = time.monotonic() + repeats_for
            while run() and time.monotonic() < until:
                continue

        return Sweep(name, inspect.cleandoc(function.__doc__ or ""), queue, every, run, _task(task, queue))

    return declare


def quick_task(function: Callable[..., Any]) -> Task:
    """Make a task that ends in seconds, is idempotent, and runs on the `quick` queue."""
    return _task(function, "quick")


def _task(function: Callable[..., Any], queue: str) -> Task:
    return shared_task(_with_audit_origin(function), runs_on=queue, acks_late=True, ignore_result=True)


def route(name: str, args: Any, kwargs: Any, options: Any, task: Task | None = None, **_: Any) -> dict[str, str]:
    """Return the queue that a task's decorator declared (Celery's `task_routes`)."""
    return {"queue": getattr(task, "runs_on", "quick")}


def hint(task: Task, **arguments: Any) -> None:
    """Ask for `task` as soon as this transaction is committed. Losing a hint costs one sweep's delay (R16).

    A separate thread sends it: a request with a hint is not slower than others, and never waits for the broker (R8).
    """
    if settings.CELERY_BROKER_URL:
        transaction.on_commit(lambda: hints.send_soon(task, arguments), robust=True)
