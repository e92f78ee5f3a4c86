"""Celery jobs: the periodic sweep that rules on full panels, and a task that rules on one full panel at once."""

from adjudication import services
from common.domain_clock import domain_now
from common.queues import quick_task, sweep
from policy.selectors import policy_in_force


@sweep("rulings", every=1.0)
def settle_panels() -> int:
    """Rule on full panels (R13-R16)."""
    return services.panels_settle(policy_at=policy_in_force, now=domain_now())


@quick_task
def settle_panel(*, panel_id: int) -> None:
    """Rule on one panel that has just become full."""
    services.panel_settle(panel_id=panel_id, policy_at=policy_in_force, now=domain_now())
