"""Sweeps of accounts."""

from django.utils import timezone

from accounts.credentials import credentials_purge
from common.queues import quick_task


@quick_task
def purge_credentials() -> None:
    """Delete the sessions and tokens that are over, and the record of sign-ins of long ago."""
    credentials_purge(now=timezone.now())
