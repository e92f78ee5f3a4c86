"""Until when a ruling may be appealed (R18): of the days that the policy gave when it was made."""

from datetime import datetime, timedelta

from adjudication.models import Ruling
from contest.models import Release
from contest.weeks import week_at
from labeling.selectors import policy_at


def closes_at(ruling: Ruling) -> datetime:
    """Return from when on a ruling cannot be appealed any more."""
    return ruling.decided_at + _days(ruling)


def copies_close_at(ruling: Ruling) -> datetime | None:
    """Return the same for who sent a copy of the picture: they know of the ruling since the release of its week, and
    their days count from then (R24). None while it is not released."""
    week = week_at(ruling.image.received_at).name
    release = Release.objects.filter(week=week, part=0).first()
    return None if release is None else max(ruling.decided_at, release.released_at) + _days(ruling)


def _days(ruling: Ruling) -> timedelta:
    return timedelta(days=policy_at(ruling.decided_at).appeal_days)
