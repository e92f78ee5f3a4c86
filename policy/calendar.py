"""Computes weeks and days of the contest in its time zone (R23, R25). Pure: no database.

A zone is an IANA name, or a sequence of zones in force one after the other (`Zones`) where the policy changed it. A
week keeps the zone it began in; the next one begins when it ends, so weeks neither overlap nor leave a gap, and the
first week after a change is shorter or longer by the difference.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

_SATURDAY = 5
# The limits of years: every week within them has neighbours that a date can hold.
_YEARS = range(2000, 3000)
_NAME = re.compile(r"(\d{4})-W(\d{2})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Week:
    """One contest week: from Saturday 00:00 up to and not including the next, in the contest's zone.

    `name` is the ISO year and week of its Friday, for example `2026-W47`. `start` and `end` are UTC; in a week of a
    clock change they are 167 or 169 hours apart.
    """

    name: str
    start: datetime
    end: datetime


Zones = Sequence[tuple[datetime, str]]
"""From when on which zone held, oldest first; the first one held before its time too."""

# The largest offset of a zone from UTC: local midnight is at most this far from midnight in UTC.
_MAX_UTC_OFFSET = timedelta(hours=15)
_WEEK = timedelta(days=7)


def week_of(moment: datetime, zone: str | Zones) -> Week:
    """Return the week that contains `moment` (aware)."""
    day = moment.astimezone(UTC).date()
    saturday = day - timedelta(days=(day.weekday() - _SATURDAY) % 7)
    # In UTC it is this week; in another zone it may be the week before or after.
    if moment < _start(saturday, zone):
        saturday -= _WEEK
    elif moment >= _start(saturday + _WEEK, zone):
        saturday += _WEEK
    return _week_starting(saturday, zone)


def week_named(name: str, zone: str | Zones) -> Week:
    """Return the week called `name` (`2026-W47`); ValueError when there is no such week, or in another
    year than 2000 to 2999."""
    try:
        year, number = map(int, _NAME.fullmatch(name).groups())  # type: ignore[union-attr]
        friday = date.fromisocalendar(year, number, 5)
    except (AttributeError, ValueError):
        raise ValueError(f"{name!r} is not a week: write it like 2026-W47") from None
    if year not in _YEARS:
        raise ValueError(f"{name!r} is not a week: its year is from {_YEARS[0]} to {_YEARS[-1]}")
    return _week_starting(friday - timedelta(days=6), zone)


def zone_info(name: str) -> tzinfo:
    """Return a time zone; UTC is there also where Python has no database of zones. Raises KeyError or ValueError."""
    return UTC if name == "UTC" else ZoneInfo(name)


def calendar_day(moment: datetime, zone: str) -> date:
    """Return the calendar day of `moment` in the zone: what a quota is counted by (R25)."""
    return moment.astimezone(zone_info(zone)).date()


def day_span(day: date, zone: str) -> tuple[datetime, datetime]:
    """Return when a calendar day begins and ends, in UTC; 23 or 25 hours apart on the day of a clock change."""
    return _midnight(day, zone), _midnight(day + timedelta(days=1), zone)


def _week_starting(saturday: date, zone: str | Zones) -> Week:
    friday = saturday + timedelta(days=6)
    year, number, _ = friday.isocalendar()
    return Week(f"{year}-W{number:02d}", _start(saturday, zone), _start(saturday + _WEEK, zone))


def _start(saturday: date, zone: str | Zones) -> datetime:
    """Return when the week beginning on this day begins, which is when the week before ends, in that week's zone."""
    if isinstance(zone, str):
        return _midnight(saturday, zone)
    return _midnight(saturday, _zone_of_week(saturday - _WEEK, zone))


def _zone_of_week(saturday: date, zones: Zones) -> str:
    """Return the zone in force when the week beginning on this day began."""
    about = _midnight(saturday, "UTC")
    if not any(about - _MAX_UTC_OFFSET < since <= about + _MAX_UTC_OFFSET for since, _ in zones):
        return zone_at(about, zones)
    return zone_at(_start(saturday, zones), zones)


def zone_at(moment: datetime, zones: Zones) -> str:
    """Return the zone in force at `moment`."""
    held = [zone for since, zone in zones if since <= moment]
    return held[-1] if held else zones[0][1]


def _midnight(day: date, zone: str) -> datetime:
    return datetime.combine(day, time.min, zone_info(zone)).astimezone(UTC)
