"""Answers per tasker and per hour."""

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
# With more than half voided lately, what is to come of the other half is anybody's guess.
_MOST_LOST = 0.5


def people_at_work(now: datetime) -> Iterable[tuple[int, int, str]]:
    """Whoever may label and answered in the last 24 hours: the tasker, the person they are, and the public ID."""
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

    Pictures are in the order of their receipt, so that the last of them tells all from the later ones.
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
    """The hours of the persons at work; of linked taskers both are one."""
    found: dict[int, Counter[int]] = {}
    for tasker, (person, _) in names.items():
        found.setdefault(person, Counter()).update(hours.get(tasker, {}))
    return found


def worker_of(key: int, hours: Mapping[int, int]) -> TaskerPace:
    """What a person did on each of the last days since their first answer among these."""
    days = max(hours, default=0) // HOURS + 1
    return TaskerPace(
        key, tuple(tuple(hours.get(day * HOURS + at, 0) for at in range(HOURS)[::-1]) for day in range(days))
    )


def voided_share(hours: Mapping[int, Counter[int]], now: datetime) -> float:
    """The share of the last days' answers that was voided, whose places were opened again (R6)."""
    answers = sum(count.total() for count in hours.values())
    voided = VoidedResponse.objects.filter(response__submitted_at__gt=now - DAYS * _DAY).count()
    return min(voided / answers, _MOST_LOST) if answers else 0.0
