"""Moments as they are typed, by the clocks of a zone."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import InvalidInput
from contest.policy.moments import moment_of, moment_text
from labeling.accounts.locale import zone_names

BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("typed", "zone", "moment"),
    [
        ("2026-11-28T00:00", "UTC", datetime(2026, 11, 28, tzinfo=UTC)),
        (" 2026-11-28 00:00 ", BERLIN, datetime(2026, 11, 27, 23, tzinfo=UTC)),
        ("2026-07-01T12:30:00", BERLIN, datetime(2026, 7, 1, 10, 30, tzinfo=UTC)),
        ("", BERLIN, "Give a day and a time"),
        ("tomorrow", BERLIN, "Give a day and a time"),
        ("2026-11-28", BERLIN, "Give a day and a time"),  # no time
        ("2026-02-30T00:00", BERLIN, "Give a day and a time"),  # no such day
        ("2026-11-28T24:00", BERLIN, "Give a day and a time"),
        ("9999-12-31T23:59", BERLIN, "Give a day and a time"),  # in another zone there is no such year
        ("0001-01-01T00:00", BERLIN, "Give a day and a time"),
        ("2026-11-28T00:00Z", BERLIN, "Give a day and a time"),  # a zone of its own
        ("2026-03-29T02:30", BERLIN, "never shown by the clocks in Europe/Berlin"),
        ("2026-10-25T02:30", BERLIN, "shown twice by the clocks in Europe/Berlin"),
    ],
)
def test_a_moment_is_read_or_refused_in_words(typed: str, zone: str, moment: datetime | str) -> None:
    if isinstance(moment, datetime):
        assert moment_of(typed, zone, field="since") == moment
        return
    with pytest.raises(InvalidInput, match=moment) as refused:
        moment_of(typed, zone, field="since")
    assert refused.value.field == "since"


@given(minutes=st.integers(0, 60 * 24 * 366 * 40), zone=st.sampled_from(zone_names()))
def test_a_moment_in_words_is_the_moment_or_one_of_two(minutes: int, zone: str) -> None:
    moment = datetime.fromtimestamp(1_700_000_000 - 1_700_000_000 % 60 + 60 * minutes, UTC)
    try:
        read = moment_of(moment_text(moment, zone), zone, field="since")
    except InvalidInput as refused:
        assert "shown twice" in refused.message
    else:
        assert read == moment
