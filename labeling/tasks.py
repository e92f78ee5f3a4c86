"""Periodic jobs (sweeps) of labeling: ending expired leases, opening panels, removing old drafts."""

from common.domain_clock import domain_now
from common.queues import sweep
from labeling import leases
from labeling.dealing import panels_deal
from labeling.my_work.drafts import drafts_remove
from policy.selectors import policy_in_force


@sweep("leases lapsed", every=5.0)
def lapse_leases() -> int:
    """End the leases that ran out (R8)."""
    return leases.leases_lapse(now=domain_now())


@sweep("panels dealt", every=2.0)
def deal_panels() -> int:
    """Deal panels to the pictures that are due (R7)."""
    now = domain_now()
    return panels_deal(policy=policy_in_force(now).policy, now=now)


@sweep("drafts removed", every=600.0)
def remove_drafts() -> int:
    """Remove the drafts of pictures that are answered, and old ones."""
    return drafts_remove(now=domain_now())
