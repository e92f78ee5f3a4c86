"""Geometry of bar charts. Pure. Bars begin at zero and carry their own labels, so that no legend is needed.

Lengths are in the units of the drawing's own box (`width` x `height`), which the page scales to its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from common.times import compact

WIDTH = 364
_COLUMN_TOP, _COLUMN_GROUND, _COLUMN_HEIGHT = 16, 112, 134
_BAR_PITCH, _BAR_THICKNESS, _BAR_LEFT, _BAR_ROOM = 22, 14, 122, 52


@dataclass(frozen=True, slots=True)
class ChartValue:
    """One number to draw: its name, its value, the state it means, and a short name for a narrow column."""

    name: str
    number: int
    state: str = "accent"
    short: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis: its place and its text."""

    at: float
    text: str

    @property
    def text_at(self) -> float:
        """Return the baseline of its text beside a vertical axis."""
        return self.at + 4


@dataclass(frozen=True, slots=True)
class Bar:
    """A drawn value: its rectangle, and its texts with their places."""

    value: ChartValue
    x: float
    y: float
    width: float
    height: float
    text_x: float
    text_y: float
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing of bars with its title, which names the unit."""

    key: str
    title: str
    width: int
    height: int
    bars: tuple[Bar, ...]


def columns(key: str, title: str, values: Sequence[ChartValue]) -> Chart:
    """Draw upright bars side by side, for example one per day; the highest fills the height."""
    pitch = WIDTH / max(len(values), 1)
    most = max((value.number for value in values), default=0)
    return Chart(
        key,
        title,
        WIDTH,
        _COLUMN_HEIGHT,
        tuple(_column(value, i * pitch, pitch, most) for i, value in enumerate(values)),
    )


def _column(value: ChartValue, left: float, pitch: float, most: int) -> Bar:
    height = _scaled(value.number, most, _COLUMN_GROUND - _COLUMN_TOP)
    top = round(_COLUMN_GROUND - height, 2)
    middle = round(left + pitch / 2, 2)
    return Bar(
        value, round(left + pitch * 0.15, 2), top, round(pitch * 0.7, 2), height, middle, top - 4, compact(value.number)
    )


def bars(key: str, title: str, values: Sequence[ChartValue]) -> Chart:
    """Draw horizontal bars under each other, their names at the left; the largest fills the width."""
    most = max((value.number for value in values), default=0)
    drawn = tuple(_bar(value, i * _BAR_PITCH, most) for i, value in enumerate(values))
    return Chart(key, title, WIDTH, max(len(values), 1) * _BAR_PITCH, drawn)


def _bar(value: ChartValue, top: float, most: int) -> Bar:
    length = _scaled(value.number, most, WIDTH - _BAR_LEFT - _BAR_ROOM)
    y = top + (_BAR_PITCH - _BAR_THICKNESS) / 2
    text_y = top + _BAR_PITCH / 2 + 4
    return Bar(
        value, _BAR_LEFT, y, length, _BAR_THICKNESS, round(_BAR_LEFT + length + 5, 2), text_y, f"{value.number:,}"
    )


def _scaled(number: int, most: int, room: float) -> float:
    """Return the length of a bar: in proportion, with a minimum so that a small value is visible."""
    if number == 0:
        return 0.0
    return round(max(room * number / most, 1.0), 2)
