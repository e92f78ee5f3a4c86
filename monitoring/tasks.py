"""Periodic jobs (sweeps) of monitoring: checking taskers and gold, and finding taskers who copy."""

from common.domain_clock import domain_now
from common.queues import sweep
from monitoring.check_taskers import check_taskers_periodically
from monitoring.links import find_copies_periodically
from policy.selectors import policy_in_force


@sweep("taskers watched", every=5.0)
def watch_taskers() -> int:
    """Check taskers by the rules of monitoring, then gold pictures for leaks, once a minute at most (R6)."""
    now = domain_now()
    return check_taskers_periodically(policy=policy_in_force(now).policy, now=now)


@sweep("copies found", queue="slow", every=600.0)
def look_for_copies() -> int:
    """Link the taskers whose answers are too much alike (R6)."""
    return find_copies_periodically(now=domain_now())
