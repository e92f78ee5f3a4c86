"""Forecasts whether taskers finish the pictures of each week that is being labeled by its Friday deadline.

The pictures of a week are labeled in the week after it (R24), so that is when they should be finished: its last second
in the contest's zone (R23). The queue is one for all weeks; so is the forecast of it (contest.operations.forecast).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

from django.db.models import Count, Q, QuerySet

from common import charts
from common.database.grouping import grouped
from common.remembered import remembered
from contest.core.enums import RELEASED_ORIGINS
from contest.core.stuck_panels import StuckGroup, stuck_groups
from contest.core.weeks import week_at, week_called, zone_of_week
from contest.operations.burn_down import BurnDown, week_burn_down
from contest.operations.forecast import (
    DAYS,
    HOURS,
    Task,
    TaskerPace,
    chance_of_all,
    forecast,
    like_the_middle_one,
    usual_hours,
)
from contest.operations.work_rates import (
    answers_by_hour,
    answers_by_person,
    people_at_work,
    voided_share,
    worker_of,
)
from labeling.enums import AssignmentState, PanelState
from labeling.models import Assignment, Image, Panel
from policy.calendar import Week
from policy.selectors import policy_in_force

FRESH_SECONDS = 60
# A picture is at risk if its chance to be finished in time is below this.
MIN_PICTURE_CHANCE = 0.99
# If a week's chance is below this, the page says how many more taskers would raise it to this.
MIN_WEEK_CHANCE = 0.95
MORE_TASKERS = (1, 2, 3, 5, 10)
MAX_PICTURES = 5_000
MIN_ANSWERS = 20
_HOUR = timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class UnfinishedPicture:
    """An unfinished picture: how many answers it misses, since when it waits, and its chance to be in time.

    `week` is empty for a picture that has a ruling and is asked about again by the board.
    """

    image_id: int
    public_id: str
    missing: int
    since: datetime
    week: str
    chance: float | None = None

    @property
    def at_risk(self) -> bool:
        """Say whether it may not be finished in time; False without a forecast."""
        return self.chance is not None and self.chance < MIN_PICTURE_CHANCE

    @property
    def chance_words(self) -> str:
        """Return the chance as pages write it, empty for none."""
        return deadline_words(self.chance)


@dataclass(frozen=True, slots=True)
class Deadline:
    """A week that is being labeled. Counts: `pictures` all, `left` those that miss answers, `held` those held by a
    report, `stuck` those that no remaining tasker may finish.

    `answers` is what these miss, `ahead` what the whole queue misses up to its last picture. Without a forecast
    `chance` is None, after the deadline too. `given` are the answers that a tenth, half, and nine tenths of the trials
    stay below until then. `finish` is when the last answer comes if every day is a usual one. `more` taskers like the
    middle one would make it likely. `burn_down` draws what the queue up to its last picture misses.
    """

    week: str
    at: datetime
    zone: str
    pictures: int
    left: int
    held: int
    answers: int
    ahead: int
    stuck: int = 0
    chance: float | None = None
    at_risk: int = 0
    given: tuple[int, int, int] | None = None
    finish: datetime | None = None
    more: int | None = None
    burn_down: BurnDown | None = None

    @property
    def last_second(self) -> datetime:
        """Return the deadline as pages show it: the last second before it (R23)."""
        return self.at - timedelta(seconds=1)

    @property
    def chance_words(self) -> str:
        """Return the chance as pages write it, empty for none."""
        return deadline_words(self.chance)

    @property
    def unlikely(self) -> bool:
        """Say whether the week is so unlikely to be in time that somebody should act."""
        return self.chance is not None and self.chance < MIN_WEEK_CHANCE


@dataclass(frozen=True, slots=True)
class ExpectedTasker:
    """A tasker whom the forecast counts on: public ID, answers of a usual day, and over how many days that is."""

    public_id: str
    per_day: float
    days: int


@dataclass(frozen=True, slots=True)
class DeadlineForecast:
    """The weeks, oldest first, and the facts behind the forecast.

    `why_not` says in words why there is none; of too many pictures not even the weeks are told. `again` is how many the
    board has asked taskers about again, `stuck` are the causes for which nobody left may finish a picture.
    """

    now: datetime
    zone: str
    again: int
    at_work: tuple[ExpectedTasker, ...]
    lost: float
    why_not: str
    hours: charts.Chart
    weeks: tuple[Deadline, ...] = ()
    waiting: tuple[UnfinishedPicture, ...] = ()
    stuck: tuple[StuckGroup, ...] = ()

    @property
    def per_day(self) -> float:
        """Return the answers of a usual day."""
        return sum(each.per_day for each in self.at_work)


def deadline_words(chance: float | None) -> str:
    """Return a chance in whole percent; a thousand trials cannot show 0 or 100 %."""
    if chance is None:
        return ""
    if chance < 0.01:
        return "under 1 %"
    return "over 99 %" if chance > 0.99 else f"{100 * chance:.0f} %"


def deadlines(*, now: datetime) -> DeadlineForecast:
    """Return the weeks being labeled with their forecast, cached for FRESH_SECONDS."""
    return remembered("deadlines", FRESH_SECONDS, lambda: read_deadlines(now=now))


def read_deadlines(*, now: datetime) -> DeadlineForecast:
    """Return the weeks being labeled with their forecast, uncached."""
    policy = policy_in_force(now).policy
    waiting = [*_in_panels(), *_without_panel(now, policy.panel_size)]
    names = {tasker: (key, name) for tasker, key, name in people_at_work(now)}
    answered = answers_by_hour(now)
    hours = answers_by_person(answered, names)
    workers = [worker_of(key, hours[key]) for key in sorted(hours)]
    again = sum(not each.week for each in waiting)
    found = DeadlineForecast(
        now=now,
        zone=policy.time_zone,
        again=again,
        stuck=stuck_groups(now=now),
        at_work=_expected_by_person(workers, names),
        lost=voided_share(answered, now),
        why_not=_why_not(hours, workers, len(waiting)) if waiting else "",
        hours=_hour_chart(workers, now, policy.time_zone),
    )
    if len(waiting) > MAX_PICTURES:
        return found
    return _with_weeks(found, waiting, workers, names)


def _with_weeks(
    found: DeadlineForecast,
    waiting: list[UnfinishedPicture],
    workers: Sequence[TaskerPace],
    names: Mapping[int, tuple[int, str]],
) -> DeadlineForecast:
    stuck = {each.panel.image_id for group in found.stuck for each in group.panels}
    weeks = list(_weeks(waiting, stuck))
    if not weeks:
        return replace(found, waiting=tuple(waiting))
    tasks, known = _pictures_as_tasks(waiting, names), () if found.why_not else workers
    last = {each.week: at for at, each in enumerate(waiting)}
    if known:
        weeks, waiting = _forecast(weeks, waiting, tasks, known, found.lost, found.now)
    draw = partial(week_burn_down, workers=known, lost=found.lost, now=found.now)
    drawn = []
    for week in weeks:
        queue = tasks[: last[week.week] + 1]
        chart = draw(week.week, missing=week.ahead, queue=queue, deadline=week.at, zone=week.zone)
        drawn.append(replace(week, burn_down=chart))
    return replace(found, weeks=tuple(drawn), waiting=tuple(waiting))


# Unfinished pictures --------------------------------------------------------------------------------------------------


def _in_panels() -> Iterator[UnfinishedPicture]:
    """The pictures in open panels in the order of the queue: urgent ones (R19), fewest missing answers, oldest."""
    panels = Panel.objects.filter(state=PanelState.OPEN).order_by("-urgent", "missing", "waiting_since", "pk")
    columns = ("image_id", "image__public_id", "missing", "waiting_since", "image__received_at", "urgent")
    rows = panels.values_list(*columns)[: MAX_PICTURES + 1]
    named = _Names()
    for image, public_id, missing, since, received, again in rows:
        yield UnfinishedPicture(image, public_id, missing, since, "" if again else named.of(received))


def _without_panel(now: datetime, panel_size: int) -> Iterator[UnfinishedPicture]:
    due = Image.objects.filter(dealt_at__isnull=True, label_from__lte=now).order_by("label_from", "pk")
    rows = due.values_list("pk", "public_id", "label_from", "received_at")[: MAX_PICTURES + 1]
    named = _Names()
    for image, public_id, since, received in rows:
        yield UnfinishedPicture(image, public_id, panel_size, since or now, named.of(received))


class _Names:
    """Names of weeks, looked up once per week."""

    def __init__(self) -> None:
        self._weeks: list[Week] = []

    def of(self, moment: datetime) -> str:
        """Return the name of the week that contains `moment`."""
        for week in self._weeks:
            if week.start <= moment < week.end:
                return week.name
        self._weeks.append(week_at(moment))
        return self._weeks[-1].name


def _weeks(waiting: Sequence[UnfinishedPicture], stuck: Collection[int]) -> Iterator[Deadline]:
    """The weeks with waiting pictures, oldest first, without a forecast yet."""
    left, missing, ahead, hopeless = Counter[str](), Counter[str](), dict[str, int](), Counter[str]()
    before = 0
    for each in waiting:
        before += each.missing
        left[each.week] += 1
        missing[each.week] += each.missing
        hopeless[each.week] += each.image_id in stuck
        ahead[each.week] = before
    weeks = sorted((week_called(name) for name in left if name), key=lambda week: week.start)
    released = Image.objects.filter(origin__in=RELEASED_ORIGINS, label_from__isnull=False)
    pictures = _count_by_week(released, weeks, "received_at")
    held = _count_by_week(Panel.objects.filter(state=PanelState.HELD), weeks, "image__received_at")
    for week in weeks:
        due = week_at(week.end)
        name = week.name
        numbers = (pictures[name], left[name], held[name], missing[name], ahead[name], hopeless[name])
        yield Deadline(name, due.end, zone_of_week(due), *numbers)


def _count_by_week(
    rows: "QuerySet[Image] | QuerySet[Panel]", weeks: Sequence[Week], received: str
) -> Mapping[str, int]:
    """Count rows by the week of their column `received` in one statement."""
    if not weeks:
        return {}
    since, before = f"{received}__gte", f"{received}__lt"
    spans = {f"week_{number}": week for number, week in enumerate(weeks)}
    counts = {key: Count("pk", filter=Q(**{since: week.start, before: week.end})) for key, week in spans.items()}
    found = rows.filter(**{since: weeks[0].start, before: weeks[-1].end}).aggregate(**counts)
    return {week.name: found[key] for key, week in spans.items()}


# Taskers at work ------------------------------------------------------------------------------------------------------


def _why_not(hours: Mapping[int, Counter[int]], workers: Sequence[TaskerPace], pictures: int) -> str:
    """Why there is no forecast, in words; empty where there is one."""
    answers = sum(count.total() for count in hours.values())
    oldest = max((max(count, default=0) for count in hours.values()), default=0)
    if not workers:
        return "No answer in the last 24 hours: no forecast."
    if pictures > MAX_PICTURES:
        return f"More than {MAX_PICTURES:,} pictures wait: too many for a forecast of each."
    if answers < MIN_ANSWERS:
        return f"Only {answers} answers by those at work in the last {DAYS} days: too few for a forecast."
    if oldest < HOURS - 1:
        return f"Those at work began {oldest + 1} h ago: a forecast needs what they do in a whole day."
    return ""


def _pictures_as_tasks(waiting: Sequence[UnfinishedPicture], names: Mapping[int, tuple[int, str]]) -> list[Task]:
    """For each picture the missing answers, and the taskers at work who answered it or returned it for good (R8)."""
    images = Panel.objects.filter(state=PanelState.OPEN).values("image")
    over = Q(state=AssignmentState.ANSWERED) | ~Q(problem="")
    rows = Assignment.objects.filter(over, image__in=images, tasker__in=names)
    seen = defaultdict[int, set[int]](set)
    for image, tasker in rows.values_list("image_id", "tasker_id"):
        seen[image].add(names[tasker][0])
    return [Task(each.missing, frozenset(seen[each.image_id])) for each in waiting]


# Forecast -------------------------------------------------------------------------------------------------------------


def _forecast(
    weeks: Sequence[Deadline],
    waiting: Sequence[UnfinishedPicture],
    tasks: Sequence[Task],
    workers: Sequence[TaskerPace],
    lost: float,
    now: datetime,
) -> tuple[list[Deadline], list[UnfinishedPicture]]:
    judged = list(waiting)
    found = []
    for week in weeks:
        places = [at for at, each in enumerate(waiting) if each.week == week.week]
        found.append(_of_week(week, places, tasks[: places[-1] + 1], judged, workers, lost, now))
    return found, judged


def _of_week(
    week: Deadline,
    places: Sequence[int],
    queue: Sequence[Task],
    judged: list[UnfinishedPicture],
    workers: Sequence[TaskerPace],
    lost: float,
    now: datetime,
) -> Deadline:
    usual = usual_hours(queue, workers, lost=lost)
    week = replace(week, finish=None if usual is None else _to_the_hour(now + usual * _HOUR))
    if week.at <= now:
        return week
    hours = (week.at - now) / _HOUR
    result = forecast(queue, workers, hours=hours, lost=lost)
    for at in places:
        judged[at] = replace(judged[at], chance=result.chances[at])
    chance = result.of_all(places)
    risk = sum(judged[at].at_risk for at in places)
    more = _more(queue, workers, hours, lost) if chance < MIN_WEEK_CHANCE else None
    return replace(week, chance=chance, at_risk=risk, given=result.answers, more=more)


def _to_the_hour(moment: datetime) -> datetime:
    """Round a time up to the full hour, which is the precision of the forecast."""
    return -(-(moment - _EPOCH) // _HOUR) * _HOUR + _EPOCH


def _more(queue: Sequence[Task], workers: Sequence[TaskerPace], hours: float, lost: float) -> int | None:
    """How many more taskers like the middle one would make it likely; None where ten would not."""
    for more in MORE_TASKERS:
        everybody = [*workers, *like_the_middle_one(workers, more)]
        if chance_of_all(queue, everybody, hours=hours, lost=lost) >= MIN_WEEK_CHANCE:
            return more
    return None


def _expected_by_person(
    workers: Sequence[TaskerPace], names: Mapping[int, tuple[int, str]]
) -> tuple[ExpectedTasker, ...]:
    """One line for each person, by the public IDs they have."""
    ids = grouped(names.values())
    rows = [ExpectedTasker(", ".join(sorted(ids[each.key])), each.per_day, len(each.days)) for each in workers]
    return tuple(sorted(rows, key=lambda row: (-row.per_day, row.public_id)))


def _hour_chart(workers: Sequence[TaskerPace], now: datetime, zone: str) -> charts.Chart:
    """A usual day of those at work, hour by hour from now on."""
    values = []
    for at in range(HOURS):
        usual = sum(sum(day[at] for day in each.days) / len(each.days) for each in workers)
        hour = f"{now.astimezone(ZoneInfo(zone)) + at * _HOUR:%H}"
        values.append(charts.ChartValue(f"from {hour}:00", round(usual), short=hour))
    return charts.columns("usual-hours", f"Answers in each hour of a usual day, {zone}", values)
