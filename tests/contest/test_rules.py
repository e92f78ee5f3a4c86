"""The contest's week (R23): from Saturday 00:00 to the next, in the contest's zone."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contest.rules import week_named, week_of


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


WEEKS = [
    ("2026-11-20T23:59:59.999999", "UTC", "2026-W47", "the last moment of Friday is in"),
    ("2026-11-21T00:00:00", "UTC", "2026-W48", "Saturday 00:00 is the next week"),
    ("2026-11-14T00:00:00", "UTC", "2026-W47", "the first moment"),
    ("2026-11-21T07:59:59", "America/Los_Angeles", "2026-W47", "still Friday there"),
    ("2026-11-21T08:00:00", "America/Los_Angeles", "2026-W48", "Saturday there"),
    ("2026-11-20T15:00:00", "Asia/Tokyo", "2026-W48", "already Saturday there"),
    ("2027-01-01T12:00:00", "UTC", "2026-W53", "a Friday in ISO week 53 of the year before"),
    ("2027-01-02T12:00:00", "UTC", "2027-W01", "the Saturday after it"),
    ("2028-02-29T12:00:00", "UTC", "2028-W09", "a leap day"),
]


@pytest.mark.parametrize(("moment", "zone", "name", "why"), WEEKS, ids=[row[3] for row in WEEKS])
def test_week_of(moment: str, zone: str, name: str, why: str) -> None:
    week = week_of(utc(moment), zone)
    assert week.name == name, why
    assert week.start <= utc(moment) < week.end


LENGTHS = [
    ("2026-W13", "Europe/Berlin", 168, "the last ordinary week of winter"),
    ("2026-W14", "Europe/Berlin", 167, "clocks go forward on Sunday 29 March"),
    ("2026-W44", "Europe/Berlin", 169, "clocks go back on Sunday 25 October"),
    ("2026-W44", "UTC", 168, "never in UTC"),
]


@pytest.mark.parametrize(("name", "zone", "hours", "why"), LENGTHS, ids=[row[3] for row in LENGTHS])
def test_weeks_of_a_clock_change(name: str, zone: str, hours: int, why: str) -> None:
    week = week_named(name, zone)
    assert week.end - week.start == timedelta(hours=hours), why


@pytest.mark.parametrize("name", ["2026-W54", "2026-47", "W47", "2026-W00", "", "2025-W53"])
def test_there_is_no_such_week(name: str) -> None:
    with pytest.raises(ValueError, match="is not a week"):
        week_named(name, "UTC")


zones = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Tehran", "Pacific/Apia", "Australia/Lord_Howe"]
)


@given(st.datetimes(datetime(2018, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)), zones)  # noqa: DTZ001
def test_weeks_meet_without_gap_and_names_lead_back(moment: datetime, zone: str) -> None:
    week = week_of(moment, zone)
    assert week.start <= moment < week.end
    assert week_named(week.name, zone) == week
    assert week_of(week.end, zone).start == week.end
    assert week_of(week.end, zone).name > week.name
