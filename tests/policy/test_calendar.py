"""The contest's week (R23), from Saturday 00:00 to the next in the contest's zone, and the countdown to its end."""

from datetime import UTC, datetime, timedelta

import pytest
from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from contest.core.countdown import clock_words, countdown
from policy.calendar import calendar_day, day_span, week_named, week_of, zone_at
from tests.contest.attacks import cast


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
    ("2026-11-20T23:59:59.999", "UTC", "2026-W47", "Friday 23:59:59.999 is in"),
    ("2026-11-20T22:59:59.999", "Europe/Berlin", "2026-W47", "23:59:59.999 there"),
    ("2026-11-20T23:00:00", "Europe/Berlin", "2026-W48", "00:00:00 there, an hour before it is in UTC"),
    ("2026-12-31T23:59:59.999", "UTC", "2026-W53", "the last moment of a year is in the middle of its week"),
]


@pytest.mark.parametrize(("moment", "zone", "name", "why"), WEEKS, ids=[row[3] for row in WEEKS])
def test_week_of(moment: str, zone: str, name: str, why: str) -> None:
    week = week_of(utc(moment), zone)
    assert week.name == name and week.start <= utc(moment) < week.end, why


LENGTHS = [
    ("2026-W13", "Europe/Berlin", 168, "the last ordinary week of winter"),
    ("2026-W14", "Europe/Berlin", 167, "clocks go forward on Sunday 29 March"),
    ("2026-W44", "Europe/Berlin", 169, "clocks go back on Sunday 25 October"),
    ("2026-W44", "UTC", 168, "never in UTC"),
    ("2026-W11", "America/New_York", 167, "clocks go forward on Sunday 8 March"),
    ("2026-W45", "America/New_York", 169, "clocks go back on Sunday 1 November"),
    ("2028-W09", "Europe/Berlin", 168, "a leap day in it"),
    ("2026-W53", "Europe/Berlin", 168, "over the end of the year"),
]


@pytest.mark.parametrize(("name", "zone", "hours", "why"), LENGTHS, ids=[row[3] for row in LENGTHS])
def test_weeks_of_a_clock_change(name: str, zone: str, hours: int, why: str) -> None:
    week = week_named(name, zone)
    assert week.end - week.start == timedelta(hours=hours), why


@pytest.mark.parametrize(
    "name",
    [
        "9999-W52",
        "0001-W01",
        "0001-W02",
        "1999-W52",
        "3000-W01",
        "2026-W54",
        "2026-47",
        "W47",
        "2026-W00",
        "",
        "2025-W53",
        "٢٠٢٦-W٤٧",
        "2०26-W47",
    ],
)
def test_there_is_no_such_week(name: str) -> None:
    with pytest.raises(ValueError, match="is not a week"):
        week_named(name, "UTC")


zones = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Tehran", "Pacific/Apia", "Australia/Lord_Howe"]
)


def test_a_zone_is_told_by_when_it_came_into_force() -> None:
    zones = [(utc("2026-01-01"), "UTC"), (utc("2026-11-18T12:00"), "Asia/Tokyo")]
    moments = ["2025-06-01", "2026-11-18T11:59:59", "2026-11-18T12:00"]
    assert [zone_at(utc(each), zones) for each in moments] == ["UTC", "UTC", "Asia/Tokyo"]


# In force from then on, the zone before and after, and the ends of W47 and W48 in UTC.
CHANGES = [
    ("2026-11-18T12:00", "UTC", "Asia/Tokyo", "2026-11-21T00:00", "2026-11-27T15:00", "eastward, W48 is 9 h shorter"),
    ("2026-11-18T12:00", "UTC", "America/New_York", "2026-11-21T00:00", "2026-11-28T05:00", "westward, 5 h longer"),
    ("2026-11-18T12:00", "Pacific/Kiritimati", "Etc/GMT+12", "2026-11-20T10:00", "2026-11-28T12:00", "the farthest"),
    ("2026-11-18T12:00", "Etc/GMT+12", "Pacific/Kiritimati", "2026-11-21T12:00", "2026-11-27T10:00", "and back"),
    ("2026-11-21T00:00", "UTC", "Asia/Tokyo", "2026-11-21T00:00", "2026-11-27T15:00", "with the boundary: W48 has it"),
    ("2026-11-21T00:00:00.000001", "UTC", "Asia/Tokyo", "2026-11-21T00:00", "2026-11-28T00:00", "just after it"),
    ("2026-11-20T20:00", "Asia/Tokyo", "UTC", "2026-11-20T15:00", "2026-11-27T15:00", "W48 has begun in Tokyo already"),
    ("2026-11-20T10:00", "Asia/Tokyo", "UTC", "2026-11-20T15:00", "2026-11-28T00:00", "and here it has not"),
]


@pytest.mark.parametrize(
    ("since", "before", "after", "first", "second", "why"), CHANGES, ids=[row[5] for row in CHANGES]
)
def test_a_change_of_the_zone_waits_for_the_end_of_the_week(
    since: str, before: str, after: str, first: str, second: str, why: str
) -> None:
    zones = [(utc("2026-01-01"), before), (utc(since), after)]
    weeks = [week_named(f"2026-W{number}", zones) for number in (46, 47, 48, 49)]
    assert [week.end for week in weeks[1:3]] == [utc(first), utc(second)], why
    assert [week.end for week in weeks[:3]] == [week.start for week in weeks[1:]], "neither a gap nor an overlap"
    # Nobody's picture moves: what was received before the change keeps its week.
    assert weeks[1] == week_of(utc(first) - timedelta(microseconds=1), zones)
    assert weeks[2] == week_of(utc(first), zones) == week_of(utc(second) - timedelta(microseconds=1), zones)
    assert weeks[3] == week_of(utc(second), zones)


moments = st.datetimes(datetime(2018, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
histories = st.lists(st.tuples(moments, zones), min_size=1, max_size=5).map(sorted)


@given(moments, histories)
def test_weeks_meet_without_gap_whatever_zones_held_and_names_lead_back(
    moment: datetime, history: list[tuple[datetime, str]]
) -> None:
    week = week_of(moment, history)
    assert week.start <= moment < week.end and week_named(week.name, history) == week
    following = week_of(week.end, history)
    assert following.start == week.end and following.name > week.name
    assert timedelta(days=5) < week.end - week.start < timedelta(days=9)


@given(moments, zones)
def test_one_zone_is_the_same_as_a_history_of_one(moment: datetime, zone: str) -> None:
    assert week_of(moment, zone) == week_of(moment, [(utc("2026-06-01"), zone)])


@given(moments, zones)
def test_days_meet_without_gap(moment: datetime, zone: str) -> None:
    begins, ends = day_span(calendar_day(moment, zone), zone)
    assert begins <= moment < ends == day_span(calendar_day(moment, zone) + timedelta(days=1), zone)[0]


@pytest.mark.parametrize("name", ["2000-W01", "2999-W52"])
def test_the_first_week_and_the_last(name: str) -> None:
    week = week_named(name, zone := "Pacific/Kiritimati")
    assert (week_of(week.start, zone), week_of(week.end, zone).start) == (week, week.end)


# The countdown to the end of the week ---------------------------------------------------------------------------------

WORDS = [
    (0, "00:00:00"),
    (1, "00:00:01"),
    (3_661, "01:01:01"),
    (86_399, "23:59:59"),
    (86_400, "1 d 00:00:00"),
    (7 * 86_400 + 3_600, "7 d 01:00:00"),
    (-5, "00:00:00"),
]


@pytest.mark.parametrize(("seconds", "words"), WORDS)
def test_a_clock(seconds: int, words: str) -> None:
    assert clock_words(seconds) == words


ENDS = [
    ("UTC", datetime(2026, 11, 18, 12, tzinfo=UTC), "2026-W47", "2 d 12:00:00", "Sat 21 Nov 2026 00:00:00 UTC"),
    ("UTC", cast.BOUNDARY - timedelta(milliseconds=1), "2026-W47", "00:00:01", "Sat 21 Nov 2026 00:00:00 UTC"),
    ("UTC", cast.BOUNDARY, "2026-W48", "7 d 00:00:00", "Sat 28 Nov 2026 00:00:00 UTC"),
    (
        "Europe/Berlin",
        datetime(2026, 10, 23, 22, tzinfo=UTC),
        "2026-W44",
        "7 d 01:00:00",
        "Sat 31 Oct 2026 00:00:00 CET",
    ),
    (
        "America/New_York",
        datetime(2026, 3, 7, 5, tzinfo=UTC),
        "2026-W11",
        "6 d 23:00:00",
        "Sat 14 Mar 2026 00:00:00 EDT",
    ),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("zone", "now", "week", "words", "ends"), ENDS)
def test_the_end_of_the_week_is_told_with_its_zone(zone: str, now: datetime, week: str, words: str, ends: str) -> None:
    cast.policy(time_zone=zone)
    found = countdown(now=now)
    assert (found.week, found.words, found.zone) == (week, words, zone)
    shown = render_to_string("contest/_countdown.html", {"countdown": found})
    assert all(part in shown for part in (f"Week {week} ends on", ends, f"in <span data-clock>{words}"))
    # Where the time does not name the zone whole, its IANA name stands beside it.
    assert (f"({zone})" in shown) == (zone != "UTC")


@pytest.mark.django_db
def test_a_change_of_the_zone_in_the_week_does_not_move_its_end() -> None:
    cast.policy(time_zone="UTC")
    cast.next_policy(datetime(2026, 11, 19, tzinfo=UTC), time_zone="Asia/Tokyo")
    found = [countdown(now=now) for now in (datetime(2026, 11, 20, 20, tzinfo=UTC), cast.BOUNDARY)]
    ends = [("UTC", cast.BOUNDARY), ("Asia/Tokyo", datetime(2026, 11, 27, 15, tzinfo=UTC))]
    assert [(each.zone, each.ends_at) for each in found] == ends
