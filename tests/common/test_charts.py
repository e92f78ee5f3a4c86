"""Numbers to shapes: zero-based, in proportion, each with its own label."""

from collections.abc import Callable

import pytest

from common.charts import WIDTH, Chart, Value, bars, columns


def values(*numbers: int) -> list[Value]:
    return [Value(f"day {number}", number) for number in numbers]


def test_columns_stand_on_the_ground_in_proportion() -> None:
    drawn = columns("answers", "Answers per day", values(0, 25, 50, 100)).bars
    heights = [bar.height for bar in drawn]
    assert heights[3] > 0
    assert [height / heights[3] for height in heights] == pytest.approx([0, 0.25, 0.5, 1])
    assert len({round(bar.y + bar.height, 2) for bar in drawn}) == 1


def test_columns_share_the_width_and_do_not_touch() -> None:
    drawn = columns("answers", "Answers per day", values(*range(14))).bars
    assert drawn[0].x >= 0
    assert drawn[-1].x + drawn[-1].width <= WIDTH
    assert all(left.x + left.width < right.x for left, right in zip(drawn, drawn[1:], strict=False))


def test_bars_begin_at_one_line_in_proportion_and_leave_room_for_their_figures() -> None:
    drawn = bars("reasons", "Reasons", values(300, 1_234_567)).bars
    assert drawn[0].x == drawn[1].x
    assert drawn[1].width / drawn[0].width > 100
    assert drawn[1].text == "1,234,567"
    assert drawn[1].text_x < WIDTH - 45


@pytest.mark.parametrize("draw", [columns, bars])
def test_little_is_drawn_nothing_is_not_and_no_values_can_be(draw: Callable[..., Chart]) -> None:
    drawn = draw("key", "title", values(0, 1, 1_000_000)).bars
    assert [min(bar.width, bar.height) > 0 for bar in drawn] == [False, True, True]
    assert [len(draw("key", "title", given).bars) for given in ([], values(0, 0))] == [0, 2]
