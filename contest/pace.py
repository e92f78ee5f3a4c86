"""How fast the contest goes: answers and rulings per day, and when the backlog would end."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from adjudication.models import Ruling
from contest.stages import Stage
from labeling.models import Response

DAYS = 14
# The newest span with any answer in it gives the rate.
_BASES = ((timedelta(hours=24), "the last 24 hours"), (timedelta(days=7), "the last 7 days"))


@dataclass(frozen=True, slots=True)
class Day:
    """What happened on one calendar day of the contest's zone."""

    start: datetime
    answers: int
    rulings: int

    @property
    def name(self) -> str:
        """Return the day in words, for example `Fri 20 Nov 2026`."""
        return f"{self.start:%a} {self.start.day} {self.start:%b %Y}"


@dataclass(frozen=True, slots=True)
class Backlog:
    """Answers still missing, the rate they come at, and when the last is given if it goes on like that.

    `per_day` and `finish` are empty when no answer came in the last seven days; `basis` says what was counted.
    """

    missing: int
    per_day: int | None = None
    basis: str = ""
    finish: datetime | None = None


def days(*, now: datetime, zone: str) -> tuple[Day, ...]:
    """Return the last DAYS calendar days in `zone`, today last."""
    today = now.astimezone(ZoneInfo(zone)).date()
    dates = [today - timedelta(days=ago) for ago in range(DAYS - 1, -2, -1)]
    starts = [datetime.combine(date, time.min, ZoneInfo(zone)) for date in dates]
    return tuple(
        # One count per day reads the index alone; grouping by a date would compute it for every row.
        Day(
            start,
            Response.objects.filter(submitted_at__gte=start, submitted_at__lt=end).count(),
            Ruling.objects.filter(decided_at__gte=start, decided_at__lt=end).count(),
        )
        for start, end in zip(starts, starts[1:], strict=False)
    )


def answers_missing(waiting: Stage, panels: dict[int, Stage], panel_size: int) -> int:
    """Return how many answers it takes to fill every open panel and those still to be dealt."""
    return waiting.count * panel_size + sum(missing * stage.count for missing, stage in panels.items())


def backlog(missing: int, *, now: datetime) -> Backlog:
    """Return the backlog with its expected finish."""
    for span, basis in _BASES:
        answers = Response.objects.filter(submitted_at__gt=now - span, submitted_at__lte=now).count()
        if answers:
            # The span is whole days, so this is exact but for the last answer of a day.
            return Backlog(missing, round(answers * timedelta(days=1) / span), basis, now + span * missing / answers)
    return Backlog(missing)
