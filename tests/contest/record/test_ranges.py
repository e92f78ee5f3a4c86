"""Which bytes a Range header asks for (RFC 9110, section 14)."""

import pytest

from contest.record.ranges import Span, Unsatisfiable, span_of


@pytest.mark.parametrize(
    ("header", "asked", "why"),
    [
        ("", None, "no header asks for all"),
        ("bytes=0-", (0, 100), "from the beginning"),
        ("bytes=0-0", (0, 1), "both ends are meant"),
        ("bytes=40-59", (40, 60), "a part in the middle"),
        ("bytes=40-", (40, 100), "what a broken download is missing"),
        ("bytes=99-", (99, 100), "the last byte"),
        ("bytes=90-200", (90, 100), "an end beyond the end is the end"),
        ("bytes=-10", (90, 100), "the last ten"),
        ("bytes=-500", (0, 100), "more than there are: all of them"),
        ("bytes= 40 - 59", (40, 60), "blanks are allowed"),
        ("bytes=0-9,20-29", None, "several ranges: the whole may be sent"),
        ("lines=0-9", None, "another unit is passed over"),
        ("bytes=9-3", None, "backwards is no range"),
        ("bytes=-", None, "neither is nothing"),
        ("bytes=a-b", None, "nor words"),
        ("bytes=" + "9" * 40 + "-", None, "nor a number that no file has"),
    ],
)
def test_what_is_asked_for(header: str, asked: tuple[int, int] | None, why: str) -> None:
    assert span_of(header, 100) == (Span(*asked) if asked else None), why


@pytest.mark.parametrize("header", ["bytes=100-", "bytes=100-200", "bytes=-0"])
def test_bytes_that_are_not_there(header: str) -> None:
    with pytest.raises(Unsatisfiable):
        span_of(header, 100)


def test_an_empty_file_has_no_part() -> None:
    assert span_of("", 0) is None
    with pytest.raises(Unsatisfiable):
        span_of("bytes=0-", 0)
