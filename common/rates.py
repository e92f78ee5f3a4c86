"""Counters per clock hour in the database, shared by all web processes.

The caller chooses the key and the limit. Rows of past hours are removed.
"""

from datetime import datetime, timedelta
from math import ceil

from django.db import connection, transaction

from common.models import HourCount

_HOUR = timedelta(hours=1)
_MAX_REMOVED = 1_000
# One statement: between two, another caller may remove the row.
_COUNT = """
    INSERT INTO common_hourcount (key, hour, count) VALUES (%s, %s, 1)
    ON CONFLICT (key) DO UPDATE SET
        count = CASE WHEN common_hourcount.hour < excluded.hour THEN 1 ELSE common_hourcount.count + 1 END,
        hour = CASE WHEN common_hourcount.hour < excluded.hour THEN excluded.hour ELSE common_hourcount.hour END
    RETURNING count"""


def read_count(key: str, *, now: datetime) -> int:
    """Return how often `key` was counted in the hour of `now`."""
    return HourCount.objects.filter(key=key, hour=_hour_of(now)).values_list("count", flat=True).first() or 0


def increment(key: str, *, now: datetime) -> int:
    """Count `key` once more, and return how often it was counted in this hour."""
    hour = _hour_of(now)
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [key, connection.ops.adapt_datetimefield_value(hour)])
        (found,) = cursor.fetchone()
    if found == 1:
        _remove_over(hour)
    return int(found)


@transaction.atomic
def _remove_over(hour: datetime) -> None:
    """Remove rows of hours that are over; those that another caller is counting in or removing stay."""
    over = HourCount.objects.filter(hour__lt=hour)
    free = over.select_for_update(skip_locked=True).values_list("pk", flat=True)[:_MAX_REMOVED]
    over.filter(pk__in=list(free)).delete()


def hour_ends(now: datetime) -> datetime:
    """Return when the present hour ends and counts restart at 0."""
    return _hour_of(now) + _HOUR


def seconds_left(now: datetime) -> int:
    """Return in how many seconds the hour of `now` ends, at least 1."""
    return max(1, ceil((hour_ends(now) - now).total_seconds()))


def _hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)
