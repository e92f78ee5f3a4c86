"""Which typed texts are a whole number."""

import pytest

from common.typed import whole_number


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("0", 0),
        ("12", 12),
        ("007", 7),
        ("9" * 18, 10**18 - 1),
        ("9" * 19, None),  # more than a row's number can be
        ("9" * 5000, None),  # more than Python reads
        ("", None),
        ("-1", None),
        ("+1", None),
        (" 1", None),
        ("1.0", None),
        ("1_000", None),
        ("٣", None),  # a digit, and none that was meant
        ("²", None),
    ],
)
def test_a_whole_number(typed: str, number: int | None) -> None:
    assert whole_number(typed) == number


def test_fewer_digits_where_only_fewer_make_sense() -> None:
    assert [whole_number(typed, digits=3) for typed in ("100", "1000")] == [100, None]
