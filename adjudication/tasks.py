"""The sweep that rules, and the hint that makes it run at once."""

from adjudication import services
from common.domain_clock import domain_now
from common.queues import quick_task
from policy.selectors import policy_in_force


@quick_task
def settle_panels() -> None:
    """Rule on every full panel."""
    services.panels_settle(policy_at=policy_in_force, now=domain_now())


@quick_task
def settle_panel(*, panel_id: int) -> None:
    """Rule on one panel that has just become full."""
    services.panel_settle(panel_id=panel_id, policy_at=policy_in_force, now=domain_now())
