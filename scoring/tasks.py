"""Sweeps and the work of scoring."""

import os
import random
import socket
import time

from django.conf import settings
from django.utils import timezone

from common.queues import gpu_task, hint, quick_task
from labeling.selectors import policy_in_force
from scoring import engine, services

# A task ends after a while, so that a worker can be replaced without waiting for the queue to be empty.
WORK_SECONDS = 600


@quick_task
def plan_runs() -> None:
    """Plan the runs that rulings and defenses ask for."""
    now = timezone.now()
    if services.runs_plan(policy=policy_in_force(now).policy, now=now, rng=random.SystemRandom()):
        hint(work_runs)


@quick_task
def reclaim_runs() -> None:
    """Take back the runs of silent workers."""
    services.runs_reclaim(now=timezone.now())


@gpu_task
def work_runs() -> None:
    """Do runs until none waits or the time is over; the sweep asks again."""
    until = time.monotonic() + WORK_SECONDS
    worker = f"{socket.gethostname()}:{os.getpid()}"
    while time.monotonic() < until:
        if not engine.work_one(worker=worker, clock=timezone.now, device=settings.SCORING_DEVICE):
            return
