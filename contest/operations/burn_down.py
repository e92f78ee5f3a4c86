"""Burn-down chart of the answers that a week misses: the past, and what the forecast expects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from common.charts import Tick
from contest.core.weeks import week_called
from contest.operations.forecast import DAYS, HOURS, Task, TaskerPace, left_by_day
from contest.operations.work_rates import answers_on_pictures_before

WIDTH, HEIGHT = 380, 150
_LEFT, _RIGHT, _TOP, _GROUND = 40, 4, 18, 124
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
# Hours between two points of the past: finer ones would not be visible.
_STEP = 4
_MAX_TICKS = 6

Spread = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class BurnDown:
    """A chart of missing answers over time, in the units of its own box, which the page scales.

    `past`, `expected` and `band` are points of lines and of an area as SVG has them; the last two are empty without a
    forecast. `deadline_x` is None for a deadline before all that is drawn. `left` are the answers that are still
    missing at the deadline, in the best and the worst of eight trials of ten. `figures` has days until now and from now
    on: the moment, and what was missing, or is in the best and the worst of those trials.
    """

    past: str
    expected: str
    band: str
    now_x: float
    deadline_x: float | None
    most: int
    ticks: tuple[Tick, ...]
    left: tuple[int, int] | None
    figures: tuple[tuple[datetime, int, int], ...]
    width: int = WIDTH
    height: int = HEIGHT
    top: int = _TOP
    ground: int = _GROUND


def week_burn_down(
    week: str,
    *,
    missing: int,
    queue: Sequence[Task],
    workers: Sequence[TaskerPace],
    lost: float,
    deadline: datetime,
    now: datetime,
    zone: str,
) -> BurnDown:
    """Draw the `missing` answers of the queue up to the week's last picture; without `workers` the past alone. `lost`
    is as in the forecast."""
    hours, end = max((deadline - now) / _HOUR, 0.0), week_called(week).end
    return burn_down(
        missing=missing,
        answered=answers_on_pictures_before(end, now),
        expected=left_by_day(queue, workers, hours=hours, lost=lost) if workers and hours else [],
        since=end,
        deadline=deadline,
        now=now,
        zone=zone,
    )


def burn_down(
    *,
    missing: int,
    answered: Mapping[int, int],
    expected: Sequence[tuple[float, Spread]],
    since: datetime,
    deadline: datetime,
    now: datetime,
    zone: str,
) -> BurnDown:
    """Draw the `missing` answers of a queue that stands since `since`.

    `answered` are answers by how many whole hours ago, of the last DAYS days. `expected` are hours from now on and how
    many answers are missing then: at most so many in a tenth of the trials, in half of them, and in nine tenths.
    """
    first = max(since, now - DAYS * _DAY)
    hours = max(int((now - first) / _HOUR), 0)
    before = [(now - ago * _HOUR, missing + sum(answered.get(at, 0) for at in range(ago))) for ago in _back(hours)]
    after = [(now + ahead * _HOUR, left) for ahead, left in expected]
    scale = _Scale(
        min(first, now),
        max(deadline, now + _HOUR),
        max([number for _, number in before] + [left[2] for _, left in after]),
    )
    start = scale.point(now, missing)
    best = [scale.point(at, left[0]) for at, left in after]
    worst = [scale.point(at, left[2]) for at, left in after]
    return BurnDown(
        past=" ".join(scale.point(at, number) for at, number in before),
        expected=" ".join([start, *(scale.point(at, left[1]) for at, left in after)]) if after else "",
        band=" ".join([start, *worst, *best[::-1]]) if after else "",
        now_x=scale.x(now),
        deadline_x=scale.x(deadline) if deadline >= scale.first else None,
        most=scale.most,
        ticks=tuple(_ticks(scale, zone)),
        left=(after[-1][1][0], after[-1][1][2]) if after else None,
        figures=(
            *((at, number, number) for at, number in before if (now - at) % _DAY == timedelta(0)),
            *((at, left[0], left[2]) for at, left in after),
        ),
    )


def _back(hours: int) -> list[int]:
    """Hours ago of the points of the past, the oldest first; the present is one of them."""
    return sorted({*range(0, min(hours, DAYS * HOURS), _STEP), hours}, reverse=True)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where a moment and a number stand in the drawing."""

    first: datetime
    last: datetime
    most: int

    def x(self, moment: datetime) -> float:
        share = (moment - self.first) / (self.last - self.first)
        return round(_LEFT + share * (WIDTH - _LEFT - _RIGHT), 1)

    def point(self, moment: datetime, number: int) -> str:
        return f"{self.x(moment)},{round(_GROUND - (_GROUND - _TOP) * number / max(self.most, 1), 1)}"


def _ticks(scale: _Scale, zone: str) -> list[Tick]:
    """Return midnights in `zone`, by the day that begins: every one, or of many as few as there is room to name."""
    day = scale.first.astimezone(ZoneInfo(zone)).replace(hour=0, minute=0, second=0, microsecond=0) + _DAY
    found = []
    while day < scale.last:
        found.append(Tick(scale.x(day), f"{day:%a} {day.day}"))
        day += _DAY
    return found[:: -(-len(found) // _MAX_TICKS) or 1]
