"""Queries of answers per tasker and per hour, for the forecast."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from django.db.models import Count
from django.db.models.functions import TruncHour

from contest.operations.forecast import DAYS, HOURS, TaskerPace
from labeling.enums import TaskerState
from labeling.models import Image, Response, VoidedResponse

_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
_MIDDLE = timedelta(minutes=30)
# The forecast counts on at most this voided share: beyond it, anything would be a guess.
_MAX_VOIDED_SHARE = 0.5


def people_at_work(now: datetime) -> Iterable[tuple[int, int, str]]:
    """Taskers who may label and answered in the last 24 hours: the tasker, the person behind it, and the public ID."""
    rows = Response.objects.filter(submitted_at__gt=now - _DAY, submitted_at__lte=now)
    qualified = rows.filter(tasker__state=TaskerState.QUALIFIED).order_by()
    found = qualified.values_list("tasker_id", "tasker__person", "tasker__public_id").distinct()
    return [(tasker, person or tasker, public_id) for tasker, person, public_id in found]


def answers_by_hour(now: datetime) -> dict[int, Counter[int]]:
    """The answers that filled places, by tasker and by how many whole hours ago."""
    rows = Response.objects.filter(submitted_at__gt=now - DAYS * _DAY, submitted_at__lte=now, place__isnull=False)
    by_hour = rows.order_by().annotate(hour=TruncHour("submitted_at", tzinfo=UTC)).values_list("tasker_id", "hour")
    found: dict[int, Counter[int]] = {}
    for tasker, hour, count in by_hour.annotate(count=Count("pk")):
        found.setdefault(tasker, Counter())[_hours_ago(hour, now)] += count
    return found


def _hours_ago(hour: datetime, now: datetime) -> int:
    return min(max(int((now - hour - _MIDDLE) / _HOUR), 0), DAYS * HOURS - 1)


def answers_on_pictures_before(moment: datetime, now: datetime) -> Counter[int]:
    """The answers of the last days that fill places of pictures received before `moment`, by how many whole hours ago.

    Pictures are numbered in the order of receipt, so the number of the last one separates them from later ones.
    """
    last = Image.objects.filter(received_at__lt=moment).order_by("-received_at").values_list("pk", flat=True).first()
    rows = Response.objects.filter(submitted_at__gt=now - DAYS * _DAY, submitted_at__lte=now, place__isnull=False)
    counted = rows.filter(image__lte=last or 0, voided__isnull=True).order_by()
    by_hour = counted.annotate(hour=TruncHour("submitted_at", tzinfo=UTC)).values_list("hour")
    found = Counter[int]()
    for hour, count in by_hour.annotate(count=Count("pk")):
        found[_hours_ago(hour, now)] += count
    return found


def answers_by_person(
    hours: Mapping[int, Counter[int]], names: Mapping[int, tuple[int, str]]
) -> dict[int, Counter[int]]:
    """The hourly answers of each person at work; linked taskers count as one person."""
    found: dict[int, Counter[int]] = {}
    for tasker, (person, _) in names.items():
        found.setdefault(person, Counter()).update(hours.get(tasker, {}))
    return found


def worker_of(key: int, hours: Mapping[int, int]) -> TaskerPace:
    """The answers of a person on each of the last days, from the day of their first answer among these."""
    days = max(hours, default=0) // HOURS + 1
    return TaskerPace(
        key, tuple(tuple(hours.get(day * HOURS + at, 0) for at in range(HOURS)[::-1]) for day in range(days))
    )


def voided_share(hours: Mapping[int, Counter[int]], now: datetime) -> float:
    """The share of the last days' answers that was voided, so that their places are open again (R6)."""
    answers = sum(count.total() for count in hours.values())
    voided = VoidedResponse.objects.filter(response__submitted_at__gt=now - DAYS * _DAY).count()
    return min(voided / answers, _MAX_VOIDED_SHARE) if answers else 0.0
