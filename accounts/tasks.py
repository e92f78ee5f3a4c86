"""Periodic jobs (sweeps) of accounts: deleting expired sessions, tokens and records of sign-ins."""

from django.utils import timezone

from accounts.credentials import credentials_purge
from common.queues import sweep


@sweep("credentials deleted", queue="slow", every=3600.0)
def purge_credentials() -> int:
    """Delete the sessions and tokens that are over, and the record of sign-ins of long ago."""
    return credentials_purge(now=timezone.now())
