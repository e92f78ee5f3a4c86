"""How times, figures, charts and receipt codes are written, and which typed texts are a number or say enough."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.template import Context, Template
from django.utils import timezone, translation
from django.utils.html import format_html

from common.charts import WIDTH, Chart, ChartValue, bars, columns
from common.errors import InvalidInput
from common.templatetags.record import receipts_whole
from common.times import absolute, compact, file_size, relative, to_the_second
from common.typed import MinimumText, clean_words, validate_text, whole_number

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
    assert (absolute(NOW, zone), to_the_second(NOW, zone)) == (words, words.replace(":59 ", ":59:07 "))


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
    assert clean_words(" It came\r\nback.\x00 ", field="reason", ask="Say why.", max_length=20) == "It came\nback."
    assert clean_words("x" * 20, field="reason", ask="Say why.", max_length=20) == "x" * 20


@pytest.mark.parametrize(
    ("typed", "words"),
    [("", "Say why."), (" \r\n\x00", "Say why."), ("x" * 1001, "Write at most 1,000 characters.")],
)
def test_words_that_are_missing_or_too_many(typed: str, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        clean_words(typed, field="reason", ask="Say why.", max_length=1000)
    assert (refused.value.message, refused.value.field) == (words, "reason")


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
        return validate_text(
            typed, field="reason", ask="Say why.", minimum=MinimumText(characters=12, words=3), max_length=1000
        )

    if not code:
        assert said() == typed.replace("\x00", "").strip(), why
        return
    with pytest.raises(InvalidInput) as refused:
        said()
    assert (refused.value.code, refused.value.field) == (code, "reason"), why
    if typed == "It is wings":
        told = "Say why. Say more: at least 12 characters and 3 different words. There are 11 and 3."
        assert refused.value.message == told


def drawn(draw: Callable[..., Chart], *numbers: int) -> Sequence[Any]:
    return draw("key", "title", [ChartValue(f"day {number}", number) for number in numbers]).bars


def test_columns_stand_on_the_ground_in_proportion() -> None:
    bars = drawn(columns, 0, 25, 50, 100)
    highest = bars[3].height
    assert [bar.height / highest for bar in bars] == pytest.approx([0, 0.25, 0.5, 1]) and highest > 0
    assert len({round(bar.y + bar.height, 2) for bar in bars}) == 1


def test_columns_share_the_width_and_do_not_touch() -> None:
    bars = drawn(columns, *range(14))
    assert bars[0].x >= 0 and bars[-1].x + bars[-1].width <= WIDTH
    assert all(left.x + left.width < right.x for left, right in zip(bars, bars[1:], strict=False))


def test_bars_begin_at_one_line_in_proportion_and_leave_room_for_their_figures() -> None:
    few, many = drawn(bars, 300, 1_234_567)
    assert few.x == many.x and many.width / few.width > 100
    assert many.text == "1,234,567" and many.text_x < WIDTH - 45


@pytest.mark.parametrize("draw", [columns, bars])
def test_little_is_drawn_nothing_is_not_and_no_values_can_be(draw: Callable[..., Chart]) -> None:
    assert [min(bar.width, bar.height) > 0 for bar in drawn(draw, 0, 1, 1_000_000)] == [False, True, True]
    assert [len(drawn(draw, *given)) for given in ([], [0, 0])] == [0, 2]


CODE = "3215-314C-55F4"


@pytest.mark.parametrize(
    ("text", "written", "why"),
    [
        (f"receipt {CODE}.", f'receipt <span class="receipt">{CODE}</span>.', "a code in a sentence"),
        (f"{CODE}, {CODE}", ", ".join([f'<span class="receipt">{CODE}</span>'] * 2), "two codes"),
        ("<b>" + CODE, f'&lt;b&gt;<span class="receipt">{CODE}</span>', "what is around it is escaped"),
        (format_html("<b>{}</b>", "x"), "<b>x</b>", "unless it is safe"),
        ("3215-314C-55F4A and T-00000", "3215-314C-55F4A and T-00000", "no code"),
    ],
)
def test_a_receipt_code_is_kept_whole(text: str, written: str, why: str) -> None:
    assert receipts_whole(text) == written, why


@pytest.mark.parametrize(
    ("language", "zone", "moment", "day"),
    [
        ("en", "UTC", "21 Nov 2026, 03:17 UTC", "21 Nov 2026"),
        ("en", "Europe/Berlin", "21 Nov 2026, 04:17 CET", "21 Nov 2026"),
        ("en", "America/New_York", "20 Nov 2026, 22:17 EST", "20 Nov 2026"),
        ("de", "Europe/Berlin", "21. November 2026, 04:17 CET", "21. November 2026"),
    ],
)
def test_a_time_names_its_zone_in_every_language(language: str, zone: str, moment: str, day: str) -> None:
    page = Template('{{ at|date:"DATETIME_FORMAT" }}/{{ at|date:"DATE_FORMAT" }}')
    with translation.override(language), timezone.override(ZoneInfo(zone)):
        assert page.render(Context({"at": datetime(2026, 11, 21, 3, 17, tzinfo=UTC)})) == f"{moment}/{day}"
