"""Queries for a tasker's own answers and totals. Every query filters by the tasker."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from uuid import UUID

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from common.errors import NotFound
from labeling.models import Response, Tasker

ANSWERS_PER_PAGE = 25
DAYS_SHOWN = 14
WEEKS_SHOWN = 8


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
    """Return the tasker's answers with all related rows that pages and files need."""
    return Response.objects.filter(tasker=tasker).select_related("image", "assignment", "voided__voiding")


def answers_of_day(rows: QuerySet[Response], day: date, zone: tzinfo) -> QuerySet[Response]:
    """Return the answers that were sent on a calendar day in the time zone."""
    following = day + timedelta(days=1)
    return rows.filter(submitted_at__gte=_midnight(day, zone), submitted_at__lt=_midnight(following, zone))


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time.min, zone)


def answers_page(rows: QuerySet[Response], last: Response | None) -> tuple[list[Response], UUID | None]:
    """Return a page of the answers, newest first, and the assignment after which the next page begins, if any.

    `last` is the last answer of the page before. The key of a page is the assignment's random id: a row number would
    reveal how many answers others sent.
    """
    if last is not None:
        rows = rows.filter(Q(submitted_at__lt=last.submitted_at) | Q(submitted_at=last.submitted_at, pk__lt=last.pk))
    found = list(rows.order_by("-submitted_at", "-pk")[: ANSWERS_PER_PAGE + 1])
    shown = found[:ANSWERS_PER_PAGE]
    return shown, shown[-1].assignment.public_id if len(found) > len(shown) else None


def answer_to(rows: QuerySet[Response], assignment_id: UUID) -> Response:
    """Return the one of the answers that was given to an assignment; NotFound for any other."""
    found = rows.filter(assignment__public_id=assignment_id).first()
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
