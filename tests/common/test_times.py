"""How times and figures are written."""

from datetime import UTC, datetime, timedelta

import pytest

from common.times import absolute, compact, file_size, relative, to_the_second

NOW = datetime(2026, 11, 20, 23, 59, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (timedelta(seconds=-3), "3 s ago"),
        (timedelta(seconds=-119), "119 s ago"),  # below two minutes, seconds say more
        (timedelta(minutes=-2), "2 min ago"),
        (timedelta(hours=-2), "2 h ago"),
        (timedelta(hours=-47), "47 h ago"),
        (timedelta(days=-3000), "3,000 days ago"),
        (timedelta(0), "0 s ago"),
        (timedelta(hours=3), "in 3 h"),
    ],
)
def test_a_distance_is_told_in_its_largest_sensible_unit(span: timedelta, words: str) -> None:
    assert relative(NOW + span, NOW) == words


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        ("UTC", "Fri 20 Nov 2026 23:59 UTC"),
        ("Europe/Berlin", "Sat 21 Nov 2026 00:59 CET"),
        ("America/New_York", "Fri 20 Nov 2026 18:59 EST"),
    ],
)
def test_an_absolute_time_names_its_zone(zone: str, words: str) -> None:
    assert absolute(NOW, zone) == words
    assert to_the_second(NOW, zone) == words.replace(":59 ", ":59:07 ")


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (1299, "1.2k"), (9999, "9.9k"), (12_345, "12k"), (3_400_000, "3.4M")],
)
def test_a_chart_figure_has_at_most_four_characters(number: int, words: str) -> None:
    assert compact(number) == words


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1_000, "1.0 kB"),
        (9_840_221, "9.8 MB"),
        (2_500_000_000, "2.5 GB"),
        (7_200_000_000_000, "7,200.0 GB"),
    ],
)
def test_a_file_size_is_readable(size: int, words: str) -> None:
    assert file_size(size) == words
