"""Which typed texts are a whole number."""

import pytest

from common.errors import InvalidInput
from common.typed import whole_number, words_said


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


def test_words_are_kept_as_they_were_meant() -> None:
    said = words_said(" It came\r\nback.\x00 ", field="reason", ask="Say why.", most=20)
    assert said == "It came\nback."
    assert words_said("x" * 20, field="reason", ask="Say why.", most=20) == "x" * 20


@pytest.mark.parametrize(
    ("typed", "words"),
    [("", "Say why."), (" \r\n\x00", "Say why."), ("x" * 1001, "Write at most 1,000 characters.")],
)
def test_words_that_are_missing_or_too_many(typed: str, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        words_said(typed, field="reason", ask="Say why.", most=1000)
    assert (refused.value.message, refused.value.field) == (words, "reason")
