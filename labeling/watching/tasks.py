"""Sweeps of monitoring."""

from django.utils import timezone

from common.queues import quick_task
from labeling import selectors
from labeling.watching.watch import watch_now_and_then


@quick_task
def watch_taskers() -> None:
    """Let the rules look at who labels, then at the gold pictures (R6)."""
    now = timezone.now()
    watch_now_and_then(policy=selectors.policy_in_force(now).policy, now=now)
