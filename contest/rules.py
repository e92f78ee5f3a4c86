"""The contest's calendar, pure (R23)."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_SATURDAY = 5
_NAME = re.compile(r"(\d{4})-W(\d{2})")


@dataclass(frozen=True, slots=True)
class Week:
    """One contest week: from Saturday 00:00 up to and not including the next, in the contest's zone.

    `name` is the ISO year and week of its Friday, for example `2026-W47`. `start` and `end` are UTC; in a week of a
    clock change they are 167 or 169 hours apart.
    """

    name: str
    start: datetime
    end: datetime


def week_of(moment: datetime, zone: str) -> Week:
    """Return the week that contains `moment` (aware), in the IANA zone `zone`."""
    local = moment.astimezone(ZoneInfo(zone)).date()
    return _week_starting(local - timedelta(days=(local.weekday() - _SATURDAY) % 7), zone)


def week_named(name: str, zone: str) -> Week:
    """Return the week called `name` (`2026-W47`); ValueError when there is no such week."""
    try:
        year, number = _NAME.fullmatch(name).groups()  # type: ignore[union-attr]
        friday = date.fromisocalendar(int(year), int(number), 5)
    except (AttributeError, ValueError):
        raise ValueError(f"{name!r} is not a week: write it like 2026-W47") from None
    return _week_starting(friday - timedelta(days=6), zone)


def _week_starting(saturday: date, zone: str) -> Week:
    friday = saturday + timedelta(days=6)
    year, number, _ = friday.isocalendar()
    return Week(f"{year}-W{number:02d}", _midnight(saturday, zone), _midnight(saturday + timedelta(days=7), zone))


def _midnight(day: date, zone: str) -> datetime:
    return datetime.combine(day, time.min, ZoneInfo(zone)).astimezone(UTC)
