"""The countdown to the end of the week: server-side words, and the zone of the week (R23)."""

from datetime import UTC, datetime, timedelta

import pytest
from django.template.loader import render_to_string

from contest.countdown import clock_words, countdown
from tests.contest.attacks import cast

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
    found = countdown(now=datetime(2026, 11, 20, 20, tzinfo=UTC))
    assert (found.zone, found.ends_at) == ("UTC", cast.BOUNDARY)
    following = countdown(now=cast.BOUNDARY)
    assert (following.zone, following.ends_at) == ("Asia/Tokyo", datetime(2026, 11, 27, 15, tzinfo=UTC))
