"""Celery sweeps (periodic jobs) of scoring."""

import random

from common.domain_clock import domain_now
from common.queues import hint, sweep
from policy.selectors import policy_in_force
from scoring import leases, services
from scoring.models import Run, Trial
from scoring.rerun_preparation import reruns_prepare
from scoring.scorers import this_scorer
from scoring.trials import services as trials
from scoring.trials.copies import copies_flag

# A worker can be replaced after so long, without waiting for the queue to be empty.
WORK_SECONDS = 600.0


@sweep("runs scored", queue="gpu", every=15.0, repeats_for=WORK_SECONDS)
def work_runs() -> int:
    """Work off the run or trial that waits longest, and runs that can follow it at once."""
    return this_scorer().work()


@sweep("runs reclaimed", every=15.0)
def reclaim_runs() -> int:
    """Give runs whose worker is gone back to the queue (R30)."""
    return leases.reclaim(Run, now=domain_now())


@sweep("runs planned", every=5.0)
def plan_runs() -> int:
    """Plan the official runs of valid pictures (R29)."""
    now = domain_now()
    planned = services.runs_plan(policy=policy_in_force(now).policy, now=now, rng=random.SystemRandom())
    if planned:
        hint(work_runs.task)
    return planned


@sweep("re-runs prepared", every=5.0)
def prepare_reruns() -> int:
    """Plan the runs of re-runs that were asked for, some seconds' worth at a time."""
    prepared = reruns_prepare(now=domain_now(), rng=random.SystemRandom())
    if prepared:
        hint(prepare_reruns.task)
        hint(work_runs.task)
    return prepared


@sweep("trials reclaimed", every=15.0)
def reclaim_trials() -> int:
    """Give trials whose worker is gone back to the queue (R30)."""
    return leases.reclaim(Trial, now=domain_now())


@sweep("trials planned", every=5.0)
def plan_trials() -> int:
    """Queue the trials that defenses before their publication have come to (R31)."""
    now = domain_now()
    planned = trials.trials_plan(policy=policy_in_force(now).policy, now=now, rng=random.SystemRandom())
    if planned:
        hint(work_runs.task)
    return planned


@sweep("copied defenses", queue="slow", every=600.0)
def look_for_copied_defenses() -> int:
    """Flag the defenses before their publication that look like another one (R31)."""
    return copies_flag(now=domain_now())
