"""Formats times, durations and numbers for people. Pure."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

# (seconds of the unit, its name); the largest unit of which there are two or more tells the distance.
_UNITS = ((86_400, "days"), (3_600, "h"), (60, "min"), (1, "s"))


def distance(span: timedelta) -> str:
    """Return a span in its largest sensible unit, for example `2 h`, `90 min` or `12 days`."""
    seconds = round(abs(span).total_seconds())
    for size, name in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds // size:,} {name}"
    return f"{seconds} s"


def relative(moment: datetime, now: datetime) -> str:
    """Return how far `moment` is from `now`, for example `2 h ago` or `in 3 days`."""
    span = distance(moment - now)
    return f"in {span}" if moment > now else f"{span} ago"


def absolute(moment: datetime, zone: str) -> str:
    """Return `moment` in the IANA zone, for example `Fri 20 Nov 2026 23:59 UTC`."""
    local = moment.astimezone(ZoneInfo(zone))
    return f"{local:%a} {local.day} {local:%b %Y %H:%M %Z}"


def to_the_second(moment: datetime, zone: str) -> str:
    """Return `moment` in the IANA zone with its seconds, for example `Fri 20 Nov 2026 23:59:07 UTC`."""
    local = moment.astimezone(ZoneInfo(zone))
    return f"{local:%a} {local.day} {local:%b %Y %H:%M:%S %Z}"


def compact(number: int) -> str:
    """Return at most four characters for a chart: 950, 1.2k, 12k, 3.4M."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            tenths = number * 10 // size
            return f"{tenths // 10}.{tenths % 10}{letter}" if tenths < 100 else f"{tenths // 10}{letter}"
    return str(number)


def file_size(size: int) -> str:
    """Return bytes in decimal units, for example `1.4 MB`."""
    if size < 1_000:
        return f"{size} bytes"
    power = min((len(str(size)) - 1) // 3, 3)
    return f"{size / 1_000**power:,.1f} {('kB', 'MB', 'GB')[power - 1]}"


def hours_span(hours: int) -> str:
    """Return hours of time as people say them: `90 × 24 h` where they are whole days."""
    return f"{hours // 24} × 24 h" if hours % 24 == 0 else f"{hours} h"
