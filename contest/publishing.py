"""The weekly publication as a sweep: ended weeks, in order, as soon as nothing of them is open (R39)."""

from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.db.models import Min

from contest.exports.tables import images_of
from contest.models import Release
from contest.releases import release_week, waiting
from contest.rules import Week, week_of
from labeling.models import Image
from labeling.selectors import policy_in_force


def due_weeks_release(*, now: datetime) -> int:
    """Release every ended week that is due, oldest first; returns how many.

    The chain of manifests follows the calendar, so a week that still waits holds back the ones after it; an
    organizer may publish it as it stands with `release_week --incomplete`.
    """
    released = 0
    for week in unreleased_weeks(now):
        if any(waiting(week).values()):
            break
        release_week(week, out=settings.RELEASE_DIR, now=now)
        released += 1
    return released


def unreleased_weeks(now: datetime) -> Iterator[Week]:
    """Yield the ended weeks with pictures and without a release, oldest first."""
    zone = policy_in_force(now).policy.time_zone
    first = Image.objects.filter(label_from__isnull=False).aggregate(at=Min("received_at"))["at"]
    released = set(Release.objects.values_list("week", flat=True))
    week = week_of(first or now, zone)
    while week.end <= now:
        if week.name not in released and images_of(week).exists():
            yield week
        week = week_of(week.end, zone)
