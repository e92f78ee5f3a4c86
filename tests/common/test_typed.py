"""Which typed texts are a whole number."""

import pytest

from common.errors import InvalidInput
from common.typed import Least, whole_number, words_enough, words_said


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
    assert whole_number(typed, digits=3) == (number if len(typed) <= 3 else None), "where only fewer make sense"


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


LEAST = Least(characters=12, words=3)


@pytest.mark.parametrize(
    ("typed", "code", "why"),
    [
        ("It is a wing", "", "as many characters as are asked for"),
        (" It is a wing\r\n\x00", "", "what is around it does not count, and is not kept"),
        ("It is wings", "says_too_little", "one character too few"),
        ("    It is wings    ", "says_too_little", "blanks around it are none"),
        ("wing wing wing", "says_too_little", "the same word again"),
        ("Wing wing, WING and", "says_too_little", "however it is written"),
        ("x" * 100, "says_too_little", "one long word"),
        (". . . , , , ; ; ;", "says_too_little", "no word at all"),
        ("この鳥は完全に写っている。枝は", "", "a script without blanks: each character is a word"),
        ("ปีกอยู่หลังกิ่งไม้", "", "Thai has none either"),
        ("ああああああああああああ", "says_too_little", "the same character again"),
        ("12 of 14 pixels", "", "numbers are words"),
        (" ", "invalid", "nothing at all is asked for"),
        ("It is a wing " * 90, "invalid", "too much"),
    ],
)
def test_words_that_have_to_say_something(typed: str, code: str, why: str) -> None:
    def said() -> str:
        return words_enough(typed, field="reason", ask="Say why.", least=LEAST, most=1000)

    if not code:
        assert said() == typed.replace("\x00", "").strip(), why
        return
    with pytest.raises(InvalidInput) as refused:
        said()
    assert (refused.value.code, refused.value.field) == (code, "reason"), why
    if typed == "It is wings":
        told = "Say why. Say more: at least 12 characters and 3 different words. There are 11 and 3."
        assert refused.value.message == told
