"""The weekly publication as a sweep: ended weeks, in order, as soon as nothing of them is open (R39)."""

from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.db.models import Max

from contest.models import Release
from contest.releases import release_week, waiting
from contest.rules import Week, week_named, week_of
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
    this_week = week_of(now, zone)
    newest = Release.objects.aggregate(week=Max("week"))["week"]
    after = week_named(newest, zone).end if newest else None
    pictures = Image.objects.filter(received_at__lt=this_week.start, label_from__isnull=False).order_by("received_at")
    while (first := (pictures.filter(received_at__gte=after) if after else pictures).first()) is not None:
        week = week_of(first.received_at, zone)
        yield week
        after = week.end
