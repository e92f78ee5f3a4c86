"""Finds contest weeks by moment or name, in the time zones of the policy versions (R23)."""

from datetime import datetime

from common.errors import NotFound
from policy.calendar import Week, week_named, week_of, zone_at
from policy.selectors import time_zones


def week_at(moment: datetime) -> Week:
    """Return the week that contains `moment`."""
    return week_of(moment, time_zones())


def week_called(name: str) -> Week:
    """Return the week called `name` (`2026-W47`); ValueError when there is no such week."""
    return week_named(name, time_zones())


def existing_week(name: str) -> Week:
    """Return the week called `name`; NotFound (`unknown_week`) when there is no such week."""
    try:
        return week_called(name)
    except ValueError as error:
        raise NotFound(f"{error}.", "unknown_week") from None


def zone_of_week(week: Week) -> str:
    """Return the IANA zone of a week: the one that held when it began."""
    return zone_at(week.start, time_zones())
