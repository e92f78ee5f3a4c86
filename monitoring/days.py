"""The calendar day of a moment."""

from datetime import date, datetime
from zoneinfo import ZoneInfo


def today_in(now: datetime, zone: str) -> date:
    """Return the calendar day of `now` in the IANA zone."""
    return now.astimezone(ZoneInfo(zone)).date()
