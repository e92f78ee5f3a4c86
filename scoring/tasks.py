"""Sweeps and the work of scoring."""

import random
import time

from common.domain_clock import domain_now
from common.queues import gpu_task, hint, quick_task, slow_task
from policy.selectors import policy_in_force
from scoring import services
from scoring.rerun_preparation import reruns_prepare
from scoring.scorers import this_scorer
from scoring.trials import services as trials
from scoring.trials.copies import copies_flag

# A task ends after a while, so that a worker can be replaced without waiting for the queue to be empty.
WORK_SECONDS = 600


@quick_task
def plan_runs() -> None:
    """Plan the runs that rulings and defenses ask for."""
    now = domain_now()
    if services.runs_plan(policy=policy_in_force(now).policy, now=now, rng=random.SystemRandom()):
        hint(work_runs)


@quick_task
def reclaim_runs() -> None:
    """Take back the runs of silent workers."""
    services.runs_reclaim(now=domain_now())


@quick_task
def prepare_reruns() -> None:
    """Plan the runs of re-runs that were asked for, some seconds' worth at a time."""
    if reruns_prepare(now=domain_now(), rng=random.SystemRandom()):
        hint(prepare_reruns)
        hint(work_runs)


@quick_task
def plan_trials() -> None:
    """Queue the trials that defenses before their publication have come to."""
    now = domain_now()
    if trials.trials_plan(policy=policy_in_force(now).policy, now=now, rng=random.SystemRandom()):
        hint(work_runs)


@quick_task
def reclaim_trials() -> None:
    """Take back the trials of silent workers."""
    trials.trials_reclaim(now=domain_now())


@slow_task
def look_for_copied_defenses() -> None:
    """Flag the defenses before their publication that look like another one."""
    copies_flag(now=domain_now())


@gpu_task
def work_runs() -> None:
    """Do runs and trials until none waits or the time is over; the sweep asks again."""
    until = time.monotonic() + WORK_SECONDS
    scorer = this_scorer()
    while time.monotonic() < until:
        if not scorer.work_one():
            return
