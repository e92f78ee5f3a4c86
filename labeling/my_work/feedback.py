"""Feedback to taskers on known pictures (R6), as far as the policy allows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.db.models import Count, Q
from django.db.models.functions import TruncWeek

from labeling.models import GoldMark, Tasker

SHARES_SHOWN = 12
MAX_RETIRED = 50


@dataclass(frozen=True, slots=True)
class GoldShare:
    """The share of known pictures answered fully right, in whole per cent, over the weeks from `first` to `last`.

    Both are the Monday of a week; they differ where one week had too few known pictures for a share.
    """

    first: datetime
    last: datetime
    percent: int


def weekly_shares(tasker: Tasker, *, minimum: int, zone: ZoneInfo, now: datetime) -> list[GoldShare]:
    """Return the shares of completed weeks, newest first, each over at least `minimum` known pictures.

    `zone` is the contest's, never the tasker's own: a tasker who can move the ends of a week could identify single
    pictures by the change of the share. A week with too few is combined with the following ones.
    """
    local = now.astimezone(zone)
    this_week = (local - timedelta(days=local.weekday())).replace(hour=0, minute=0, second=0, microsecond=0)
    marks = GoldMark.objects.filter(tasker=tasker, marked_at__lt=this_week)
    weeks = marks.annotate(week=TruncWeek("marked_at", tzinfo=zone)).values("week")
    counted = weeks.annotate(many=Count("pk"), right=Count("pk", filter=Q(right=True))).order_by("week")
    return list(_grouped(counted.values_list("week", "many", "right"), minimum))[: -SHARES_SHOWN - 1 : -1]


def _grouped(weeks: Iterable[tuple[datetime, int, int]], minimum: int) -> Iterator[GoldShare]:
    first, many, right = None, 0, 0
    for week, of_week, right_of_week in weeks:
        first, many, right = first or week, many + of_week, right + right_of_week
        if many >= minimum:
            yield GoldShare(first, week, 100 * right // many)
            first, many, right = None, 0, 0


def retired_marks(tasker: Tasker) -> list[GoldMark]:
    """Return the tasker's marks on retired known pictures, newest first.

    Pictures that an organizer kept out because of a report are left out: nobody sees those again.
    """
    marks = GoldMark.objects.filter(tasker=tasker, known__retired_at__isnull=False, known__held_at__isnull=True)
    return list(marks.select_related("known__image", "response").order_by("-marked_at", "-pk")[:MAX_RETIRED])
