"""Counts answers and rulings per day, and missing answers."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from adjudication.models import Ruling
from contest.operations.stages import PipelineStage
from labeling.models import Response

DAYS = 14


@dataclass(frozen=True, slots=True)
class DayThroughput:
    """What happened on one calendar day of the contest's zone."""

    start: datetime
    answers: int
    rulings: int

    @property
    def name(self) -> str:
        """Return the day in words, for example `Fri 20 Nov 2026`."""
        return f"{self.start:%a} {self.start.day} {self.start:%b %Y}"


def throughput_by_day(*, now: datetime, zone: str) -> tuple[DayThroughput, ...]:
    """Return the last DAYS calendar days in `zone`, today last."""
    today = now.astimezone(ZoneInfo(zone)).date()
    dates = [today - timedelta(days=ago) for ago in range(DAYS - 1, -2, -1)]
    starts = [datetime.combine(date, time.min, ZoneInfo(zone)) for date in dates]
    return tuple(
        # One count per day reads the index alone; grouping by a date would compute it for every row.
        DayThroughput(
            start,
            Response.objects.filter(submitted_at__gte=start, submitted_at__lt=end).count(),
            Ruling.objects.filter(decided_at__gte=start, decided_at__lt=end).count(),
        )
        for start, end in zip(starts, starts[1:], strict=False)
    )


def answers_missing(waiting: PipelineStage, panels: dict[int, PipelineStage], panel_size: int) -> int:
    """Return how many answers are needed to fill all open panels and all panels still to be created."""
    return waiting.count * panel_size + sum(missing * stage.count for missing, stage in panels.items())
