"""Parses and formats a moment typed in a form, in a time zone. Pure."""

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from common.errors import InvalidInput

_TYPED = re.compile(r"(2\d{3}-\d\d-\d\d)[T ](\d\d:\d\d)(:00)?", re.ASCII)


def moment_text(moment: datetime, zone: str) -> str:
    """Return a moment for a field of a form, for example `2026-11-28T00:00`."""
    return f"{moment.astimezone(ZoneInfo(zone)):%Y-%m-%dT%H:%M}"


def moment_of(typed: str, zone: str, *, field: str) -> datetime:
    """Return the moment (UTC) that clocks in `zone` show as typed; InvalidInput at `field` for none, or for two."""
    found = _TYPED.fullmatch(typed.strip())
    try:
        local = datetime.fromisoformat(f"{found[1]}T{found[2]}") if found else None
    except ValueError:
        local = None
    if local is None:
        raise InvalidInput("Give a day and a time, as 2026-11-28 00:00.", "invalid", field=field)
    first, second = (local.replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC) for fold in (0, 1))
    if first != second:
        there = first < second
        words = "shown twice" if there else "never shown"
        raise InvalidInput(
            f"This time is {words} by the clocks in {zone} on that day. Choose one an hour earlier or later.",
            "invalid",
            field=field,
        )
    return first
