"""Sweeps of labeling."""

from django.utils import timezone

from common.queues import quick_task
from labeling import selectors, services


@quick_task
def lapse_leases() -> None:
    """End the leases that ran out."""
    services.leases_lapse(now=timezone.now())


@quick_task
def deal_panels() -> None:
    """Deal panels to the pictures that are due."""
    now = timezone.now()
    services.panels_deal(policy=selectors.policy_in_force(now).policy, now=now)
