"""Counts per clock hour that are kept in the database, so that they hold for all web processes together.

The caller decides what is counted under a key and how much is too much. Rows of hours that are over are removed.
"""

from datetime import datetime, timedelta
from math import ceil

from django.db import transaction

from common.models import HourCount

_HOUR = timedelta(hours=1)


def counted(key: str, *, now: datetime) -> int:
    """Return how often `key` was counted in the hour of `now`."""
    return HourCount.objects.filter(key=key, hour=_begins(now)).values_list("count", flat=True).first() or 0


@transaction.atomic
def count(key: str, *, now: datetime) -> int:
    """Count `key` once more, and return how often it was counted in this hour."""
    hour = _begins(now)
    row, new = HourCount.objects.get_or_create(key=key, defaults={"hour": hour})
    row = HourCount.objects.select_for_update(no_key=True).get(pk=row.pk)
    if row.hour < hour:
        row.hour, row.count = hour, 0
    row.count += 1
    row.save(update_fields=["hour", "count"])
    if new:
        HourCount.objects.filter(hour__lt=hour).delete()
    return row.count


def hour_ends(now: datetime) -> datetime:
    """Return when the counts of `now` begin at nothing again."""
    return _begins(now) + _HOUR


def seconds_left(now: datetime) -> int:
    """Return in how many seconds the hour of `now` ends, at least 1."""
    return max(1, ceil((hour_ends(now) - now).total_seconds()))


def _begins(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)
