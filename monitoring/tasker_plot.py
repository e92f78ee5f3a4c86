"""Computes the plot of taskers by speed and agreement, in the units of the drawing's own box. Pure: no database."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.formats import number_format

from common.charts import Tick
from monitoring.tasker_rows import TaskerRow

WIDTH, HEIGHT = 400, 236
_LEFT, _RIGHT, _TOP, _GROUND = 40, 20, 14, 200
_LOWEST = 50  # percent: where the drawing begins unless somebody agrees less
_TICKS, _HALF_MARK = 5, 5
# The names of so many of those who agree least are written beside their points, and of all whom a rule names.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class PlotPoint:
    """One tasker: where they stand, and whether their name is written beside the point, to its left or right."""

    row: TaskerRow
    x: float
    y: float
    named: bool

    @property
    def agreement(self) -> int:
        """Return the agreement in whole percent."""
        return round(100 * (self.row.week.agreed.value or 0))

    @property
    def words(self) -> str:
        """Return what the point says."""
        week = self.row.week
        return (
            f"{self.row.tasker.public_id}: {self.agreement} % agreement, {week.median_seconds:.1f} s, "
            f"{number_format(week.answers)} answers"
        )

    @property
    def is_at_edge(self) -> bool:
        """Say whether the name has no room at the right."""
        return self.x > WIDTH - 80

    @property
    def left(self) -> float:
        """Return the left edge of the mark of a tasker whom a rule names."""
        return round(self.x - _HALF_MARK, 1)

    @property
    def top(self) -> float:
        """Return the upper edge of that mark."""
        return round(self.y - _HALF_MARK, 1)


@dataclass(frozen=True, slots=True)
class TaskerPlot:
    """Median seconds to the right, agreement upwards."""

    points: tuple[PlotPoint, ...]
    seconds: tuple[Tick, ...]
    percents: tuple[Tick, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    ground: int = _GROUND


def tasker_plot(rows: Sequence[TaskerRow]) -> TaskerPlot | None:
    """Return the plot of the taskers who have both figures; None for fewer than two of them."""
    known = [
        (row, row.week.median_seconds, 100 * row.week.agreed.value)
        for row in rows
        if row.week.median_seconds is not None and row.week.agreed.value is not None
    ]
    if len(known) < 2:
        return None
    slowest = _rounded(max(seconds for _, seconds, _ in known))
    lowest = max(min(_LOWEST, int(min(percent for _, _, percent in known) - 1) // 10 * 10), 0)
    least = sorted(percent for _, _, percent in known)[min(_NAMED, len(known)) - 1]

    def x(seconds: float) -> float:
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * seconds / slowest, 1)

    def y(percent: float) -> float:
        return round(_GROUND - (_GROUND - _TOP) * (percent - lowest) / (100 - lowest), 1)

    points = [PlotPoint(row, x(took), y(agreed), bool(row.events) or agreed <= least) for row, took, agreed in known]
    steps = [step / _TICKS for step in range(_TICKS + 1)]
    return TaskerPlot(
        points=tuple(points),
        seconds=tuple(Tick(x(slowest * step), f"{slowest * step:g}") for step in steps),
        percents=tuple(Tick(y(percent), f"{percent:.0f} %") for percent in (lowest, (lowest + 100) / 2, 100)),
    )


def _rounded(seconds: float) -> int:
    """Round up to seconds that the ticks divide into round numbers."""
    steps = (step * 10**power for power in range(6) for step in (1, 2, 5))
    return int(_TICKS * next(step for step in steps if step * _TICKS >= seconds))
