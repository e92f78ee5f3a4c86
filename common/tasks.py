"""Celery sweeps (periodic jobs) of the audit trail."""

from common.audit.seals import chain_check_periodically, seal_entries
from common.domain_clock import domain_now
from common.queues import sweep


@sweep("audit trail sealed", every=5.0)
def seal_audit_trail() -> int:
    """Seal what was added to the audit trail."""
    return seal_entries()


@sweep("audit trail checked", queue="slow", every=600.0)
def check_audit_trail() -> int:
    """Check once a day that nothing in the audit trail was changed."""
    return chain_check_periodically(now=domain_now())
