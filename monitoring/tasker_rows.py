"""Rows of the organizers' pages of taskers: the list, and one tasker's history."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import chain
from zoneinfo import ZoneInfo

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db.models import Count, Max, Q, QuerySet
from django.utils.formats import number_format

from common import charts
from common.charts import Chart, ChartValue
from labeling.enums import TaskerState
from labeling.learning.services import QUALIFIED
from labeling.models import MonitoringEvent, Notice, QualificationAttempt, StateChange, Tasker, Voiding
from monitoring.models import TaskerLink
from monitoring.tasker_figures import Period, PeriodStatistics, statistics_by_tasker, statistics_of_periods

DAYS = 7
MIN_ANSWERS = 5  # fewer say nothing of somebody
# Reading the answers of a busy day takes a second or two. The list may be this old, what it says of past days older: of
# them only a panel that fills up late changes anything, and a voiding, which is seen at once.
FRESH_SECONDS = 60
PAST_SECONDS = 3_600


@dataclass(frozen=True, slots=True)
class TaskerRow:
    """One line of the list: today's and the week's figures, rules that fired in the week, linked taskers, and a small
    drawing of the answers of each day."""

    tasker: Tasker
    today: PeriodStatistics
    week: PeriodStatistics
    events: int
    links: int
    days: tuple["DayBar", ...] = ()


@dataclass(frozen=True, slots=True)
class DayBar:
    """A day of the small drawing: its place and height in a box of DAYS * BAR_PITCH by BAR_ROOM, and what it says."""

    x: int
    y: float
    height: float
    words: str


BAR_PITCH, BAR_ROOM = 8, 20


Sorting = Callable[[TaskerRow], float | str | None]
SORTINGS: dict[str, Sorting] = {
    "tasker": lambda row: row.tasker.public_id,
    "state": lambda row: row.tasker.state,
    "today": lambda row: row.today.answers,
    "answers": lambda row: row.week.answers,
    "seconds": lambda row: row.week.median_seconds,
    "gold": lambda row: row.week.gold.value,
    "agreement": lambda row: row.week.agreed.value,
    "iou": lambda row: row.week.mean_iou,
    "fast": lambda row: row.week.fast.value,
    "surplus": lambda row: row.week.surplus,
    "rules": lambda row: row.events,
}
DEFAULT_SORTING = "-rules"


def present_taskers() -> QuerySet[Tasker]:
    """Return everybody who has not left."""
    return Tasker.objects.filter(left_at__isnull=True).order_by("public_id")


def tasker_rows(taskers: QuerySet[Tasker], *, today: date, zone: str, sort: str) -> list[TaskerRow]:
    """Return the rows of taskers, sorted by a name of SORTINGS, the other way with a minus before it.

    Rows without a figure come last in both directions.
    """
    week = Period.of_days(today - timedelta(DAYS - 1), today, zone)
    voiding = Voiding.objects.aggregate(last=Max("pk"))["last"]
    of_today = _remembered(Period.of_days(today, today, zone), voiding, FRESH_SECONDS)
    past = (Period.of_days(day, day, zone) for day in (today - timedelta(back) for back in range(1, DAYS)))
    days = [of_today, *(_remembered(each, voiding, PAST_SECONDS) for each in past)]
    of_week, nothing = statistics_of_periods(days), PeriodStatistics()
    fired = MonitoringEvent.objects.filter(fired_at__gte=week.begin).values_list("tasker").annotate(n=Count("pk"))
    events = dict(fired.order_by())
    links = [*chain(*TaskerLink.objects.filter(ended_at__isnull=True).values_list("first_id", "second_id"))]
    oldest_first = [(today - timedelta(back), days[back]) for back in range(DAYS - 1, -1, -1)]
    most = max((each.answers for _, day in oldest_first for each in day.values()), default=0)
    rows = [
        TaskerRow(
            tasker,
            of_today.get(tasker.pk, nothing),
            of_week.get(tasker.pk, nothing),
            events.get(tasker.pk, 0),
            links.count(tasker.pk),
            tuple(_bar(at, day, each.get(tasker.pk, nothing), most) for at, (day, each) in enumerate(oldest_first)),
        )
        for tasker in taskers
    ]
    return _sorted(rows, sort)


def _bar(at: int, day: date, figures: PeriodStatistics, most: int) -> DayBar:
    height = round(BAR_ROOM * figures.answers / most, 1) if most else 0.0
    agreed = figures.agreed.value
    words = f"{day:%a} {day.day} {day:%b}: {number_format(figures.answers)} answers"
    return DayBar(
        at * BAR_PITCH,
        BAR_ROOM - height,
        height,
        words if agreed is None else f"{words}, {round(100 * agreed)} % agreement",
    )


def _remembered(period: Period, voiding: int | None, seconds: int) -> Mapping[int, PeriodStatistics]:
    key = f"watching-figures:{period.begin.timestamp():.0f}:{period.end.timestamp():.0f}:{voiding}"
    found: Mapping[int, PeriodStatistics] | None = cache.get(key)
    if found is None:
        found = statistics_by_tasker(period)
        cache.set(key, found, seconds)
    return found


def _sorted(rows: Sequence[TaskerRow], sort: str) -> list[TaskerRow]:
    if sort == DEFAULT_SORTING:
        # Where no rule has fired, the taskers who agree least with the others come first.
        rows = _sorted(rows, "agreement")
    value_of = SORTINGS[sort.removeprefix("-")]
    known = [row for row in rows if value_of(row) is not None]
    unknown = [row for row in rows if value_of(row) is None]
    return sorted(known, key=lambda row: value_of(row), reverse=sort.startswith("-")) + unknown  # type: ignore[arg-type, return-value]


def least_agreeing(*, now: datetime, zone: str) -> TaskerRow | None:
    """Return who agreed least with the others in the last DAYS days, of those with MIN_ANSWERS at least."""
    rows = tasker_rows(present_taskers(), today=now.astimezone(ZoneInfo(zone)).date(), zone=zone, sort="agreement")
    known = (row for row in rows if row.week.answers >= MIN_ANSWERS and row.week.agreed.value is not None)
    return next(known, None)


COLUMNS = (
    "tasker",
    "state",
    "answers_today",
    "answers",
    "median_seconds",
    "gold_right",
    "gold_asked",
    "gold_low",
    "gold_high",
    "agreement",
    "mean_iou_percent",
    "fast_share",
    "surplus",
    "rules_fired",
)


def tasker_columns(row: TaskerRow) -> list[str]:
    """Return a line of the list for a file, numbers with a point and empty where there is none."""
    week, interval = row.week, row.week.gold.interval or (None, None)
    return [
        row.tasker.public_id,
        row.tasker.state,
        *_numbers(row.today.answers, week.answers, week.median_seconds, week.gold.part, week.gold.whole, *interval),
        *_numbers(week.agreed.value, week.mean_iou, week.fast.value, week.surplus, row.events),
    ]


def _numbers(*values: float | None) -> list[str]:
    return ["" if value is None else f"{value:.4f}".rstrip("0").rstrip(".") for value in values]


@dataclass(frozen=True, slots=True)
class TaskerEvent:
    """One line of a tasker's story. `by` is an organizer's name, empty where a rule or the tasker acted."""

    at: datetime
    what: str
    words: str
    by: str = ""
    figures: Mapping[str, object] = field(default_factory=dict)


def timeline(tasker: Tasker) -> list[TaskerEvent]:
    """Return the events of a tasker's history, oldest first: states, qualifications, rules that fired, notices,
    voidings, links, and the leaving."""
    return sorted((*_states(tasker), *_monitoring(tasker), *_links(tasker)), key=lambda entry: entry.at)


def _name(user: User | None) -> str:
    return user.get_username() if user else ""


def _states(tasker: Tasker) -> Iterator[TaskerEvent]:
    """The changes of state, the qualifications that changed none (for new instructions, or while paused), the end."""
    changes = StateChange.objects.filter(tasker=tasker).select_related("by")
    for change in changes:
        qualified = change.code == QUALIFIED
        what = QUALIFIED if qualified else f"{TaskerState(change.before)} to {TaskerState(change.after)}"
        yield TaskerEvent(change.changed_at, what, change.reason, by=_name(change.by))
    told = [change.changed_at for change in changes if change.code == QUALIFIED]
    passed = QualificationAttempt.objects.filter(tasker=tasker, passed=True).exclude(finished_at__in=told)
    for finished_at, version in passed.values_list("finished_at", "instructions"):
        assert finished_at is not None, "who passed a try has finished it"
        yield TaskerEvent(finished_at, "qualified again", f"For version {version} of the instructions.")
    if tasker.left_at:
        yield TaskerEvent(tasker.left_at, "left", "The account was deleted; the public ID and the answers stay.")


def _monitoring(tasker: Tasker) -> Iterator[TaskerEvent]:
    """The rules that fired, what the tasker was told, and the answers that were voided."""
    for event in MonitoringEvent.objects.filter(tasker=tasker).select_related("rule"):
        yield TaskerEvent(event.fired_at, f"rule fired, to {event.action}", event.rule.name, figures=event.figures)
    for notice in Notice.objects.filter(tasker=tasker):
        yield TaskerEvent(notice.told_at, f"told{'' if notice.seen_at else ', not read yet'}", notice.text)
    voidings = Voiding.objects.filter(tasker=tasker).select_related("voided_by").annotate(n=Count("responses"))
    for voiding in voidings:
        what = f"{number_format(voiding.n)} answer{'' if voiding.n == 1 else 's'} voided"
        yield TaskerEvent(voiding.voided_at, what, voiding.reason, by=_name(voiding.voided_by))


def _links(tasker: Tasker) -> Iterator[TaskerEvent]:
    for link in links_of(tasker):
        other = _other(link, tasker)
        yield TaskerEvent(link.linked_at, f"linked with {other}, {link.kind}", link.reason)
        if link.ended_at:
            yield TaskerEvent(link.ended_at, f"link with {other} ended", link.ended_because)


def _other(link: TaskerLink, tasker: Tasker) -> str:
    return (link.second if link.first_id == tasker.pk else link.first).public_id


def links_of(tasker: Tasker) -> list[TaskerLink]:
    """Return the tasker's links, also those that ended, oldest first."""
    links = TaskerLink.objects.filter(Q(first=tasker) | Q(second=tasker))
    return list(links.select_related("first", "second").order_by("linked_at"))


def drawings(days: Mapping[date, PeriodStatistics]) -> list[Chart]:
    """Return a tasker's days as charts; shares in whole percent, days without one left out."""
    return [
        _drawing("answers", "Answers per day", days, lambda figures: figures.answers),
        _drawing("gold", "Gold right per day, percent", days, lambda figures: _percent(figures.gold.value)),
        _drawing("agreement", "Agreement per day, percent", days, lambda figures: _percent(figures.agreed.value)),
        _drawing("iou", "Outline overlap per day, percent", days, lambda figures: figures.mean_iou),
    ]


def _drawing(
    key: str, title: str, days: Mapping[date, PeriodStatistics], number_of: Callable[[PeriodStatistics], float | None]
) -> Chart:
    numbers = {day: number_of(figures) for day, figures in days.items()}
    values = [
        ChartValue(f"{day:%a} {day.day} {day:%b}", round(number), short=str(day.day))
        for day, number in numbers.items()
        if number is not None
    ]
    return charts.columns(key, title, values)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
