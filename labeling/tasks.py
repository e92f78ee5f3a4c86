"""Sweeps of labeling."""

from common.domain_clock import domain_now
from common.queues import quick_task
from labeling import leases
from labeling.dealing import panels_deal
from policy.selectors import policy_in_force


@quick_task
def lapse_leases() -> None:
    """End the leases that ran out."""
    leases.leases_lapse(now=domain_now())


@quick_task
def deal_panels() -> None:
    """Deal panels to the pictures that are due."""
    now = domain_now()
    panels_deal(policy=policy_in_force(now).policy, now=now)
