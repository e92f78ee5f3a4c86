"""Sends hints (requests to run a task soon) to the broker from a background thread; no request waits for it.

A request that publishes by itself is slower than the others, which tells a tasker that theirs was the last answer on
a panel (R8), and a broker that hangs would hold the request's thread.
"""

import atexit
import os
import time
from contextlib import suppress
from functools import cache
from queue import Full, Queue
from threading import Thread
from typing import Any

import structlog
from celery import Task

MAX_WAITING = 100
FAREWELL_SECONDS = 1.0
SECONDS_BETWEEN_COMPLAINTS = 60.0
Hint = tuple[Task, dict[str, Any]]
log = structlog.get_logger(__name__)


def send_soon(task: Task, arguments: dict[str, Any]) -> None:
    """Ask for `task` without waiting; dropped when too many wait, because the sweep finds the work too."""
    with suppress(Full):
        _waiting(os.getpid()).put_nowait((task, arguments))


@cache
def _waiting(process: int) -> "Queue[Hint | None]":
    """Return the process's queue and start its thread. A fork has neither its parent's thread nor its queue."""
    waiting: Queue[Hint | None] = Queue(MAX_WAITING)
    thread = Thread(target=_send_all, args=(waiting,), name="hints", daemon=True)
    thread.start()
    atexit.register(_finish, process, waiting, thread)
    return waiting


def _send_all(waiting: "Queue[Hint | None]") -> None:
    quiet_until = 0.0
    for task, arguments in iter(waiting.get, None):
        try:
            task.apply_async(kwargs=arguments, ignore_result=True, retry=False)
        except Exception as error:
            # After any error of the broker the thread continues, and an outage does not log a line for every hint.
            if time.monotonic() >= quiet_until:
                log.warning("hint lost", task=task.name, error=f"{type(error).__name__}: {error}")
                quiet_until = time.monotonic() + SECONDS_BETWEEN_COMPLAINTS


def _finish(process: int, waiting: "Queue[Hint | None]", thread: Thread) -> None:
    """Give an ending process a moment to send waiting hints."""
    if os.getpid() == process:
        with suppress(Full):
            waiting.put_nowait(None)
        thread.join(FAREWELL_SECONDS)
