"""The time that the contest goes by: weeks, leases, appeals, stakes and everything else that people see as a date.

Sessions, lockouts, links, tokens and rate limits keep the machine's time, `django.utils.timezone.now`.
"""

from datetime import datetime

from django.utils import timezone


def domain_now() -> datetime:
    """Return the time of the contest, which is the machine's."""
    return timezone.now()
