"""Queries for a tasker's own answers and totals. Every query filters by the tasker."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from uuid import UUID

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from common.errors import NotFound
from labeling.models import Response, Tasker

ANSWERS_ON_A_PAGE = 25
DAYS_SHOWN = 14
WEEKS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Page:
    """One page of own answers, newest first. `older` is the assignment after which the next page begins, if any."""

    answers: tuple[Response, ...]
    older: UUID | None


@dataclass(frozen=True, slots=True)
class PeriodTotals:
    """The answers of a day, of the week that begins with it, or of all time, and the time they took."""

    first: date
    answers: int
    milliseconds: int


@dataclass(frozen=True, slots=True)
class WorkTotals:
    """Everything, and the latest days and weeks in which there were answers, newest first."""

    answers: int
    milliseconds: int
    days: tuple[PeriodTotals, ...]
    weeks: tuple[PeriodTotals, ...]


def own_answers(tasker: Tasker) -> QuerySet[Response]:
    """Return the tasker's answers with all that telling of them needs."""
    return Response.objects.filter(tasker=tasker).select_related("image", "assignment", "voided__voiding")


def answers_page(tasker: Tasker, *, day: date | None, before: UUID | None, zone: tzinfo) -> Page:
    """Return a page of own answers: of one day of the zone, or of all; NotFound for a `before` that is not theirs.

    Pages go from key to key, and the key is the assignment's random id: a row number would count what others sent.
    """
    rows = own_answers(tasker).filter(_on(day, zone), _older_than(tasker, before))
    found = list(rows.order_by("-submitted_at", "-pk")[: ANSWERS_ON_A_PAGE + 1])
    more, shown = len(found) > ANSWERS_ON_A_PAGE, tuple(found[:ANSWERS_ON_A_PAGE])
    return Page(shown, shown[-1].assignment.public_id if more else None)


def _on(day: date | None, zone: tzinfo) -> Q:
    if day is None:
        return Q()
    following = day + timedelta(days=1)
    return Q(submitted_at__gte=_midnight(day, zone), submitted_at__lt=_midnight(following, zone))


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time.min, zone)


def _older_than(tasker: Tasker, before: UUID | None) -> Q:
    if before is None:
        return Q()
    last = own_answer(tasker, before)
    return Q(submitted_at__lt=last.submitted_at) | Q(submitted_at=last.submitted_at, pk__lt=last.pk)


def own_answer(tasker: Tasker, assignment_id: UUID) -> Response:
    """Return the tasker's own answer to an assignment; NotFound for anybody else's."""
    found = own_answers(tasker).filter(assignment__public_id=assignment_id).first()
    if found is None:
        raise NotFound("There is no such answer of yours.", "not_found")
    return found


def sums_of(tasker: Tasker, *, zone: tzinfo, now: datetime) -> WorkTotals:
    """Return how many answers there are and how long they took: in all, by day and by ISO week of the zone."""
    rows = Response.objects.filter(tasker=tasker)
    total = rows.aggregate(answers=Count("pk"), milliseconds=Sum("milliseconds", default=0))
    today = now.astimezone(zone).date()
    monday = today - timedelta(days=today.weekday(), weeks=WEEKS_SHOWN - 1)
    recent = rows.filter(submitted_at__gte=_midnight(monday, zone)).annotate(day=TruncDate("submitted_at", tzinfo=zone))
    grouped = recent.values("day").annotate(answers=Count("pk"), spent=Sum("milliseconds")).order_by("-day")
    days = [PeriodTotals(*row) for row in grouped.values_list("day", "answers", "spent")]
    shown = tuple(span for span in days if span.first > today - timedelta(days=DAYS_SHOWN))
    return WorkTotals(**total, days=shown, weeks=_weeks(days))


def _weeks(days: list[PeriodTotals]) -> tuple[PeriodTotals, ...]:
    weeks: dict[date, PeriodTotals] = {}
    for day in days:
        monday = day.first - timedelta(days=day.first.weekday())
        sofar = weeks.get(monday, PeriodTotals(monday, 0, 0))
        weeks[monday] = PeriodTotals(monday, sofar.answers + day.answers, sofar.milliseconds + day.milliseconds)
    return tuple(weeks.values())
