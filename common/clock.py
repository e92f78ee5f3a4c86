"""Compares this machine's clock with the database's, because receipts, weeks and leases use both."""

from datetime import datetime, timedelta

from django.db import connection
from django.utils import timezone

MAX_DIFFERENCE = timedelta(seconds=5)


def clock_difference() -> timedelta:
    """Return how far this machine's clock is ahead of the database's; negative when it is behind.

    Half of the query's duration is subtracted. SQLite has no clock of its own.
    """
    if connection.vendor != "postgresql":
        return timedelta(0)
    asked = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        theirs: datetime = cursor.fetchone()[0]
    answered = timezone.now()
    return asked + (answered - asked) / 2 - theirs


def is_apart(by: timedelta) -> bool:
    """Say whether clocks that far apart are a fault of the installation."""
    return abs(by) > MAX_DIFFERENCE


def clock_difference_words(by: timedelta) -> str:
    """Return in words what to do about clocks that are `by` apart."""
    side = "ahead of" if by > timedelta(0) else "behind"
    seconds = abs(by).total_seconds()
    return f"this machine's clock is {seconds:.0f} seconds {side} the database's: set both by one time service"
