"""Computes the time left in the current contest week, for pages (R23)."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from contest.core.weeks import week_at, zone_of_week


@dataclass(frozen=True, slots=True)
class Countdown:
    """The week at `now`: its name, when it ends, and the IANA zone its last second is told in."""

    week: str
    ends_at: datetime
    zone: str
    now: datetime

    @property
    def left(self) -> timedelta:
        """Return how long it still lasts."""
        return self.ends_at - self.now

    @property
    def for_script(self) -> str:
        """Return how long it still lasts as the page's script reads it: seconds, written alike in every language."""
        return script_seconds(self.left)

    @property
    def words(self) -> str:
        """Return how long it still lasts as days and a clock, for example `2 d 03:25:07`; seconds rounded up."""
        return clock_words(-(-self.left // timedelta(seconds=1)))


def clock_words(seconds: int) -> str:
    """Return whole seconds as `2 d 03:25:07`, without the days on the last one; the page's script writes the same."""
    days, rest = divmod(max(seconds, 0), 86_400)
    hours, rest = divmod(rest, 3_600)
    clock = f"{hours:02d}:{rest // 60:02d}:{rest % 60:02d}"
    return f"{days} d {clock}" if days else clock


def script_seconds(left: timedelta) -> str:
    """Return a time as seconds that a script can read: a template would write a decimal comma for German readers."""
    return f"{left.total_seconds():.3f}"


def countdown(*, now: datetime) -> Countdown:
    """Return the countdown to the end of the week that contains `now`."""
    week = week_at(now)
    return Countdown(week.name, week.end, zone_of_week(week), now)
