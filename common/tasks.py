"""Sweeps of what belongs to no app."""

from common.audit.seals import chain_check_now_and_then, entries_seal
from common.domain_clock import domain_now
from common.queues import quick_task, slow_task


@quick_task
def seal_audit_trail() -> None:
    """Seal what was added to the audit trail."""
    entries_seal()


@slow_task
def check_audit_trail() -> None:
    """Check the whole audit trail, once a day."""
    chain_check_now_and_then(now=domain_now())
