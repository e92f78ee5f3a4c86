"""Statistics per tasker and day, and agreement per question (R6).

Gold answers are counted by themselves: they are no part of agreement, nor of the number of answers.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import TypeVar
from zoneinfo import ZoneInfo

from django.db.models import QuerySet

from labeling.enums import Answer
from labeling.models import Image, Panel, Response
from monitoring.answer_rows import (
    COMPLETE,
    AnswerRow,
    PanelComparison,
    answer_rows,
    by_panel,
    company_of,
    counted_on_complete_panels,
    counted_responses,
)
from monitoring.rules import FAST_MILLISECONDS, QUESTIONS
from monitoring.statistics import Pattern, alpha_of_patterns, mean, median, pattern_of, wilson

Key = TypeVar("Key", bound=Hashable)
# From the least to the most: this order makes alpha of questions 1 and 2 ordinal.
_ORDER = (Answer.DEFINITELY_NO, Answer.UNSURE_NO, Answer.UNSURE_YES, Answer.DEFINITELY_YES)
_STATEMENTS = QUESTIONS[2:]
# A page looks at the newest of a period, so that it takes no longer the more there are.
MAX_ANSWERS = MAX_PANELS = 5_000


def today_in(now: datetime, zone: str) -> date:
    """Return the calendar day of `now` in the IANA zone."""
    return now.astimezone(ZoneInfo(zone)).date()


@dataclass(frozen=True, slots=True)
class Period:
    """A span of time, its end not included."""

    begin: datetime
    end: datetime

    @classmethod
    def of_days(cls, first: date, last: date, zone: str) -> "Period":
        """Return whole calendar days in the IANA zone, both included."""
        there = ZoneInfo(zone)
        return cls(datetime.combine(first, time.min, there), datetime.combine(last + timedelta(1), time.min, there))

    def responses(self) -> QuerySet[Response]:
        """Return what was answered in the period."""
        return Response.objects.filter(submitted_at__gte=self.begin, submitted_at__lt=self.end)


@dataclass(slots=True)
class Proportion:
    """A proportion: a count out of a total."""

    part: int = 0
    whole: int = 0

    def add(self, hit: bool) -> None:
        """Count one."""
        self.part += hit
        self.whole += 1

    def include(self, other: "Proportion") -> None:
        """Count what another one counted."""
        self.part += other.part
        self.whole += other.whole

    @property
    def value(self) -> float | None:
        """Return the share, 0 to 1; None of nothing."""
        return self.part / self.whole if self.whole else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return Wilson's 95 % interval."""
        return wilson(self.part, self.whole)


@dataclass(slots=True)
class PeriodStatistics:
    """A tasker's answers in a span. `answers` are all but gold; `agreement` is by question with each other member."""

    answers: int = 0
    surplus: int = 0
    voided: int = 0
    gold: Proportion = field(default_factory=Proportion)
    fast: Proportion = field(default_factory=Proportion)
    agreement: dict[str, Proportion] = field(default_factory=lambda: {question: Proportion() for question in QUESTIONS})
    said: dict[str, Counter[str]] = field(default_factory=lambda: {question: Counter() for question in QUESTIONS[:2]})
    milliseconds: list[int] = field(default_factory=list)
    overlaps: list[float] = field(default_factory=list)
    last: datetime | None = None

    def add(self, row: AnswerRow, company: PanelComparison) -> None:
        """Count one answer."""
        self.milliseconds.append(row.milliseconds)
        self.fast.add(row.milliseconds < FAST_MILLISECONDS)
        self.last = max(self.last or row.at, row.at)
        if row.is_gold:
            if row.gold is not None:
                self.gold.add(row.gold)
            return
        self.answers += 1
        self.surplus += row.surplus
        self.voided += row.voided
        for question, said in zip(QUESTIONS[:2], row.form[:2], strict=True):
            self.said[question][said] += 1
        self._compare(row, company)

    def _compare(self, row: AnswerRow, company: PanelComparison) -> None:
        for other in company.others(row):
            for question, mine, theirs in zip(QUESTIONS, row.form, other.form, strict=True):
                if mine is not None and theirs is not None:
                    self.agreement[question].add(mine == theirs)
        overlap = company.overlaps.get(row.pk) if row.counts else None
        if overlap is not None:
            self.overlaps.append(overlap)

    def include(self, other: "PeriodStatistics") -> None:
        """Count what another span counted."""
        self.answers += other.answers
        self.surplus += other.surplus
        self.voided += other.voided
        self.gold.include(other.gold)
        self.fast.include(other.fast)
        for question, share in other.agreement.items():
            self.agreement[question].include(share)
        for question, said in other.said.items():
            self.said[question].update(said)
        self.milliseconds.extend(other.milliseconds)
        self.overlaps.extend(other.overlaps)
        self.last = max((last for last in (self.last, other.last) if last is not None), default=None)

    @property
    def median_seconds(self) -> float | None:
        """Return the middle time per answer."""
        middle = median(self.milliseconds)
        return None if middle is None else middle / 1000

    @property
    def mean_iou(self) -> float | None:
        """Return the mean overlap with the other members' outlines, in percent."""
        return mean(self.overlaps)

    @property
    def agreed(self) -> Proportion:
        """Return agreement over all questions."""
        shares = self.agreement.values()
        return Proportion(sum(share.part for share in shares), sum(share.whole for share in shares))


def statistics_by_tasker(period: Period) -> dict[int, PeriodStatistics]:
    """Return the figures of everybody who answered in the period, by tasker id."""
    return _figures(period, period.responses(), lambda row: row.tasker_id)


def statistics_of_periods(spans: Iterable[Mapping[int, PeriodStatistics]]) -> dict[int, PeriodStatistics]:
    """Return the figures of several spans taken together, by tasker id."""
    found: dict[int, PeriodStatistics] = defaultdict(PeriodStatistics)
    for span in spans:
        for tasker, figures in span.items():
            found[tasker].include(figures)
    return dict(found)


def statistics_by_day(period: Period, tasker_id: int, zone: str) -> dict[date, PeriodStatistics]:
    """Return one tasker's figures for each calendar day in the IANA zone with an answer, oldest first, from the newest
    MAX_ANSWERS."""
    there = ZoneInfo(zone)
    mine = period.responses().filter(tasker=tasker_id).order_by("-submitted_at", "-pk")[:MAX_ANSWERS]
    return dict(sorted(_figures(period, mine, lambda row: row.at.astimezone(there).date()).items()))


def statistics_of_latest(tasker_id: int, *, but: Image, limit: int) -> PeriodStatistics:
    """Return the figures of a tasker's newest answers, `limit` of them, without those to the picture `but`; how their
    outlines overlap is not looked at, as that takes the time."""
    mine = Response.objects.filter(tasker=tasker_id).exclude(image=but)
    latest = mine.order_by("-submitted_at", "-pk").values_list("pk", flat=True)[:limit]
    rows = list(answer_rows(Response.objects.filter(pk__in=list(latest))))
    members = counted_on_complete_panels().filter(panel__in={each.panel_id for each in rows})
    found, company = PeriodStatistics(), PanelComparison(by_panel(answer_rows(members)), {})
    for row in rows:
        found.add(row, company)
    return found


def _figures(
    period: Period, responses: QuerySet[Response], key_of: Callable[[AnswerRow], Key]
) -> dict[Key, PeriodStatistics]:
    members = counted_on_complete_panels().filter(panel__in=responses.values("panel"))
    company = company_of(answer_rows(members))
    found: dict[Key, PeriodStatistics] = defaultdict(PeriodStatistics)
    for row in answer_rows(responses):
        found[key_of(row)].add(row, company)
    return dict(found)


@dataclass(frozen=True, slots=True)
class TaskerInfluence:
    """What alpha would be without one tasker, and how much they raise (or lower) it."""

    tasker_id: int
    without: float
    change: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """Krippendorff's alpha for one question: over how many pictures and values, and who moves it most.

    None where it is not defined: no picture with two values, or never but one value.
    """

    question: str
    alpha: float | None
    units: int
    values: int
    influences: tuple[TaskerInfluence, ...]


def agreement_of_period(period: Period) -> tuple[Agreement, ...]:
    """Return alpha per question over the panels completed in the period, the newest MAX_PANELS of them; ordinal for
    questions 1 and 2."""
    rows = counted_responses().filter(panel__in=_newest_panels(period))
    panels = defaultdict(list)
    for panel, tasker, *said in rows.values_list("panel_id", "tasker_id", *QUESTIONS):
        panels[panel].append((tasker, said))
    return tuple(
        _agreement(question, ([(tasker, said[at]) for tasker, said in members] for members in panels.values()))
        for at, question in enumerate(QUESTIONS)
    )


def _newest_panels(period: Period) -> list[int]:
    """Return the newest panels that were completed in the period."""
    within = Panel.objects.filter(full_at__gte=period.begin, full_at__lt=period.end)
    # State by state: each has an index by that time.
    found = [
        row
        for state in COMPLETE
        for row in within.filter(state=state).order_by("-full_at", "-pk").values_list("full_at", "pk")[:MAX_PANELS]
    ]
    return [pk for _, pk in sorted(found, reverse=True)[:MAX_PANELS]]


def _agreement(question: str, units: Iterable[list[tuple[int, object]]]) -> Agreement:
    domain: tuple[object, ...] = (False, True) if question in _STATEMENTS else _ORDER
    position = {value: number for number, value in enumerate(domain)}
    patterns: Counter[Pattern] = Counter()
    changes: dict[int, Counter[Pattern]] = defaultdict(Counter)
    for unit in units:
        said = {tasker: position[value] for tasker, value in unit if value is not None}
        counts = Counter(said.values())
        whole = pattern_of(counts)
        patterns[whole] += 1
        for tasker, value in said.items():
            changes[tasker][whole] -= 1
            changes[tasker][pattern_of(counts - Counter([value]))] += 1
    return _summed_up(question, patterns, changes, len(domain))


def _summed_up(
    question: str, patterns: Counter[Pattern], changes: Mapping[int, Counter[Pattern]], size: int
) -> Agreement:
    ordinal = question not in _STATEMENTS
    paired = {pattern: times for pattern, times in patterns.items() if sum(count for _, count in pattern) > 1}
    alpha = alpha_of_patterns(patterns, size, ordinal=ordinal)
    return Agreement(
        question,
        alpha,
        units=sum(paired.values()),
        values=sum(times * sum(count for _, count in pattern) for pattern, times in paired.items()),
        influences=() if alpha is None else _influences(alpha, patterns, changes, size, ordinal),
    )


def _influences(
    alpha: float, patterns: Counter[Pattern], changes: Mapping[int, Counter[Pattern]], size: int, ordinal: bool
) -> tuple[TaskerInfluence, ...]:
    """Alpha without each tasker in turn: only the pictures they were asked about change their pattern."""
    found = []
    for tasker, change in changes.items():
        without = Counter(patterns)
        without.update(change)
        other = alpha_of_patterns(without, size, ordinal=ordinal)
        if other is not None:
            found.append(TaskerInfluence(tasker, other, alpha - other))
    return tuple(sorted(found, key=lambda influence: influence.change))
