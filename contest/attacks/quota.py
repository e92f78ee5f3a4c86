"""The daily quota of pictures per team (R25), by calendar day in the contest's zone.

Merged teams count together. Every change locks the row of the team that they became part of, so that of two uploads
at nine of ten only one can be the tenth.
"""

from datetime import date, datetime
from math import ceil

from django.db.models import Sum

from common.errors import TooMany
from common.times import to_the_second
from contest.attacks.models import QuotaDay
from contest.core.models import Team
from contest.core.teams import final_team, teams_counted_together
from policy.calendar import calendar_day, day_span
from policy.numbers import Policy


def quota_used(team: Team, day: date) -> int:
    """Return how many pictures the team and those counted with it sent on `day`; withdrawn ones count."""
    rows = QuotaDay.objects.filter(team__in=teams_counted_together(team), day=day)
    total: int | None = rows.aggregate(total=Sum("used"))["total"]
    return total or 0


def quota_left(team: Team, *, policy: Policy, now: datetime) -> int:
    """Return how many pictures the team may still send on the day of `now`."""
    return max(policy.attacks_per_day - quota_used(team, calendar_day(now, policy.time_zone)), 0)


def day_ends(policy: Policy, now: datetime) -> datetime:
    """Return when the day of `now` ends, and with it the quota of that day."""
    return day_span(calendar_day(now, policy.time_zone), policy.time_zone)[1]


def check_quota(team: Team, *, policy: Policy, now: datetime) -> None:
    """Raise TooMany (`quota_used`) when nothing is left: before a picture is stored, and without a lock."""
    if not quota_left(team, policy=policy, now=now):
        raise _used_up(policy, now)


def take_quota(whole: Team, *, policy: Policy, now: datetime) -> int:
    """Count one more picture, inside the transaction that records it; return its number on that day, from 1 on.

    `whole` is what `lock_team_quota` returned. Raises TooMany (`quota_used`).
    """
    day = calendar_day(now, policy.time_zone)
    number = quota_used(whole, day) + 1
    if number > policy.attacks_per_day:
        raise _used_up(policy, now)
    row, _ = QuotaDay.objects.get_or_create(team=whole, day=day)
    row.used += 1
    row.save(update_fields=["used"])
    return number


def lock_team_quota(team: Team) -> Team:
    """Lock and return the team that `team` is part of now; repeated, as it may be merged while waiting for the lock."""
    while True:
        held = Team.objects.select_for_update(no_key=True).get(pk=final_team(team).pk)
        if held.merged_into_id is None:
            return held
        team = held


def _used_up(policy: Policy, now: datetime) -> TooMany:
    most, zone = policy.attacks_per_day, policy.time_zone
    begins = to_the_second(day_ends(policy, now), zone)
    words = (
        f"Your team has sent its {most} pictures of today. The next day begins on {begins}; "
        "nothing of this one was kept."
    )
    return TooMany(words, "quota_used", retry_after=ceil((day_ends(policy, now) - now).total_seconds()))
