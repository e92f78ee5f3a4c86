"""Sweeps of monitoring."""

from common.domain_clock import domain_now
from common.queues import quick_task, slow_task
from monitoring.check_taskers import watch_now_and_then
from monitoring.links import copies_look_now_and_then
from policy.selectors import policy_in_force


@quick_task
def watch_taskers() -> None:
    """Let the rules of monitoring look at who labels, then at the gold pictures (R6)."""
    now = domain_now()
    watch_now_and_then(policy=policy_in_force(now).policy, now=now)


@slow_task
def look_for_copies() -> None:
    """Link the taskers whose answers are too much alike (R6)."""
    copies_look_now_and_then(now=domain_now())
