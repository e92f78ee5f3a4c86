"""Parses calendar days in forms and addresses."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

_EARLIEST, _LATEST = date(2000, 1, 1), date(2999, 12, 31)


def day_of(text: str) -> date | None:
    """Return the day written as 2026-11-20; None for anything else, also for one beyond all records."""
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        return None
    return day if _EARLIEST <= day <= _LATEST else None


def today_in(now: datetime, zone: str) -> date:
    """Return the calendar day of `now` in the IANA zone."""
    return now.astimezone(ZoneInfo(zone)).date()
