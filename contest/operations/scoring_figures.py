"""The data of the scoring queue's page, in a fixed number of queries."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.core.cache import cache
from django.db.models import Count, F, Min, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from contest.core.scoring_words import SILENT_AFTER, StuckScoring, runs_to_retry, stuck
from defense_kit.faults import WORDS, FaultWords
from policy.selectors import policy_in_force
from scoring import reruns
from scoring.enums import NEXT_RERUN_STATE, Fault, RunState
from scoring.models import Rerun, Run, RunItem, Scorer, Trial
from scoring.rules import PLATFORM_FAULTS
from scoring.selectors import dead_runs
from scoring.trials.selectors import dead_trials, trials_to_retry

FRESH_SECONDS = 5
MOST_LISTED = 50
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class WaitingRun:
    """A run that waits: its place in the queue, and whether it rests after a fault."""

    position: int
    run: Run
    pictures: int
    resting: bool


@dataclass(frozen=True, slots=True)
class ActiveRun:
    """A run that a scorer has. `share` is how much of the time expected is over, in percent and never more than 99:
    what is answered is kept only when all of it is."""

    run: Run
    pictures: int
    seconds: float
    expected: float | None

    @property
    def share(self) -> int | None:
        """Return the share of the expected time that is over; None when nothing tells what to expect."""
        return min(int(100 * self.seconds / self.expected), 99) if self.expected else None


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A run that gave up, its fault in words, and whether another try may be asked for."""

    run: Run
    pictures: int
    words: FaultWords
    may_retry: bool


@dataclass(frozen=True, slots=True)
class DeadTrial:
    """A trial that gave up, its fault in words, and whether another try may be asked for."""

    trial: Trial
    words: FaultWords
    may_retry: bool


@dataclass(frozen=True, slots=True)
class OpenRerun:
    """A re-run that is not over; `preparation` is None once its runs are in the queue."""

    rerun: Rerun
    preparation: reruns.RerunPreparation | None


@dataclass(frozen=True, slots=True)
class ScorerLoad:
    """How a scorer spent its time: shares in percent of the last hour and day, and pictures a second while busy."""

    scorer: Scorer
    alive: bool
    hour: int
    day: int
    pictures: int
    per_second: float | None


@dataclass(frozen=True, slots=True)
class Queue:
    """The whole page. Counts are of runs, `pictures` of what those that wait hold."""

    now: datetime
    zone: str
    waiting: tuple[WaitingRun, ...]
    waiting_count: int
    pictures: int
    oldest: datetime | None
    running: tuple[ActiveRun, ...]
    dead: tuple[FailedRun, ...]
    dead_count: int
    retry_count: int
    stuck: StuckScoring | None
    scorers: tuple[ScorerLoad, ...]
    trials: tuple[Trial, ...]
    dead_trials: tuple[DeadTrial, ...]
    retry_trials_count: int
    reruns: tuple[OpenRerun, ...]


class _Spell(NamedTuple):
    """A time in which a scorer had a run or a trial. `pictures` are those that it answered in it."""

    worker: str
    defense: int
    start: datetime
    end: datetime
    pictures: int


def queue_state(*, now: datetime) -> Queue:
    """Return the page as it stands; the same for all who ask within FRESH_SECONDS."""
    found: Queue | None = cache.get("scoring-queue")
    if found is None:
        found = read_queue_state(now=now)
        cache.set("scoring-queue", found, FRESH_SECONDS)
    return found


def read_queue_state(*, now: datetime) -> Queue:
    """Return the page, read afresh at `now`."""
    spells = list(_spells(now))
    queued = Run.objects.filter(state=RunState.QUEUED)
    sums = _sized(queued).aggregate(runs=Count("pk"), pictures=Sum("planned"), oldest=Min("created_at"))
    dead = dead_runs()
    open_trials = Trial.objects.filter(state__in=(RunState.QUEUED, RunState.RUNNING))
    return Queue(
        now=now,
        zone=policy_in_force(now).policy.time_zone,
        waiting=tuple(_waiting(queued, now)),
        waiting_count=sums["runs"],
        pictures=sums["pictures"] or 0,
        oldest=sums["oldest"],
        running=tuple(_running(now, _rates(spells))),
        dead=tuple(_dead(dead)),
        dead_count=dead.count(),
        retry_count=runs_to_retry().count(),
        stuck=stuck(now=now),
        scorers=tuple(_scorers(spells, now)),
        trials=tuple(open_trials.select_related("defense").defer("answers", "log").order_by("id")[:MOST_LISTED]),
        dead_trials=tuple(_dead_trials()),
        retry_trials_count=trials_to_retry().count(),
        reruns=reruns_not_over(),
    )


def reruns_not_over() -> tuple[OpenRerun, ...]:
    """Return the re-runs that are being prepared or under way, oldest first."""
    found = Rerun.objects.filter(state__in=[state for state, after in NEXT_RERUN_STATE.items() if after])
    rows = list(found.select_related("defense").order_by("pk"))
    preparations = reruns.preparations(rows)
    return tuple(OpenRerun(rerun, preparations.get(rerun.pk)) for rerun in rows)


def _sized(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Add `planned`, how many pictures a run has: positions begin at 0, so the last tells."""
    last = RunItem.objects.filter(run=OuterRef("pk")).order_by("-position").values("position")[:1]
    return runs.annotate(planned=Coalesce(Subquery(last) + 1, 0))


def _waiting(queued: QuerySet[Run], now: datetime) -> Iterator[WaitingRun]:
    rows = _sized(queued).select_related("defense").order_by("pk")[:MOST_LISTED]
    for position, run in enumerate(rows, start=1):
        yield WaitingRun(position, run, _planned(run), run.not_before is not None and run.not_before > now)


def _planned(run: Run) -> int:
    planned: int = run.planned  # type: ignore[attr-defined]
    return planned


def _running(now: datetime, rates: dict[int, float]) -> Iterator[ActiveRun]:
    rows = _sized(Run.objects.filter(state=RunState.RUNNING)).select_related("defense").order_by("started_at", "pk")
    for run in rows:
        rate = rates.get(run.defense_id)
        expected = _planned(run) / rate if rate else None
        yield ActiveRun(run, _planned(run), (now - (run.started_at or now)).total_seconds(), expected)


def _dead(dead: QuerySet[Run]) -> Iterator[FailedRun]:
    rows = _sized(dead).select_related("defense").order_by("-finished_at", "-pk")[:MOST_LISTED]
    for run in rows:
        fault = Fault(run.fault)
        may_retry = fault in PLATFORM_FAULTS and run.defense.retired_at is None
        yield FailedRun(run, _planned(run), WORDS[fault], may_retry)


def _dead_trials() -> Iterator[DeadTrial]:
    rows = list(dead_trials()[:MOST_LISTED])
    may_retry = set(trials_to_retry().filter(pk__in=[trial.pk for trial in rows]).values_list("pk", flat=True))
    return (DeadTrial(trial, WORDS[Fault(trial.fault)], trial.pk in may_retry) for trial in rows)


# Scorers -------------------------------------------------------------------------------------------------------------


def _spells(now: datetime) -> Iterator[_Spell]:
    """Yield when scorers were busy in the last day. A run tells its last try alone, so this is the least."""
    done = (RunState.FINISHED, RunState.ASSESSED)
    runs = _sized(_of_last_day(Run.objects.all(), now))
    columns = ("worker", "defense", "started_at", "finished_at", "state")
    for worker, defense, start, end, state, planned in runs.values_list(*columns, "planned"):
        yield _Spell(worker, defense, start, end or now, planned if state in done else 0)
    for worker, defense, start, end, _ in _of_last_day(Trial.objects.all(), now).values_list(*columns):
        yield _Spell(worker, defense, start, end or now, 0)


def _of_last_day(work: QuerySet[Any], now: datetime) -> QuerySet[Any]:
    ended = Q(finished_at__gt=now - _DAY, finished_at__gte=F("started_at"))
    return work.filter(ended | Q(state=RunState.RUNNING), started_at__isnull=False).exclude(worker="").order_by()


def _rates(spells: Sequence[_Spell]) -> dict[int, float]:
    """Return defense -> pictures a second over the runs of the last day."""
    pictures: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for spell in spells:
        if spell.pictures:
            pictures[spell.defense] = pictures.get(spell.defense, 0) + spell.pictures
            seconds[spell.defense] = seconds.get(spell.defense, 0.0) + (spell.end - spell.start).total_seconds()
    return {defense: pictures[defense] / spent for defense, spent in seconds.items() if spent > 0}


def _scorers(spells: Sequence[_Spell], now: datetime) -> Iterator[ScorerLoad]:
    by_worker: dict[str, list[_Spell]] = {}
    for spell in spells:
        by_worker.setdefault(spell.worker, []).append(spell)
    for scorer in Scorer.objects.order_by("name"):
        own = by_worker.get(scorer.name, [])
        answered = [spell for spell in own if spell.pictures]
        pictures, seconds = sum(spell.pictures for spell in answered), _seconds(answered, now - _DAY)
        yield ScorerLoad(
            scorer,
            now - scorer.seen_at <= SILENT_AFTER,
            _share(own, now, _HOUR),
            _share(own, now, _DAY),
            pictures,
            pictures / seconds if seconds else None,
        )


def _share(spells: Iterable[_Spell], now: datetime, span: timedelta) -> int:
    return min(round(100 * _seconds(spells, now - span) / span.total_seconds()), 100)


def _seconds(spells: Iterable[_Spell], since: datetime) -> float:
    return sum(max((spell.end - max(spell.start, since)).total_seconds(), 0.0) for spell in spells)
