"""Queries behind the organizers' page of the scoring queue; their number is fixed."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Count, F, Min, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from common.remembered import remembered
from contest.core.scoring_words import SILENT_AFTER, runs_to_retry, stuck
from defense_kit.faults import WORDS
from policy.selectors import policy_in_force
from scoring import reruns
from scoring.enums import NEXT_RERUN_STATE, Fault, RunState
from scoring.models import Rerun, Run, RunItem, Scorer, Trial
from scoring.rules import PLATFORM_FAULTS
from scoring.selectors import dead_runs
from scoring.trials.selectors import dead_trials, trials_to_retry

FRESH_SECONDS = 5
MAX_LISTED = 50
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)


class _Spell(NamedTuple):
    """A period in which a scorer had a run or a trial. `pictures` is how many a finished run answered,
    otherwise 0."""

    worker: str
    defense: int
    start: datetime
    end: datetime
    pictures: int


def queue_state(*, now: datetime) -> dict[str, Any]:
    """Return the page's data, cached for FRESH_SECONDS."""
    return remembered("scoring-queue", FRESH_SECONDS, lambda: read_queue_state(now=now))


def read_queue_state(*, now: datetime) -> dict[str, Any]:
    """Return the page's data at `now`, uncached. Counts are of runs; `pictures` counts the pictures of waiting runs."""
    spells = list(_spells(now))
    queued, dead = _sized(Run.objects.filter(state=RunState.QUEUED)), dead_runs()
    sums = queued.aggregate(runs=Count("pk"), pictures=Sum("planned"), oldest=Min("created_at"))
    open_trials = Trial.objects.filter(state__in=(RunState.QUEUED, RunState.RUNNING))
    return {
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
        "waiting": list(queued.select_related("defense").order_by("pk")[:MAX_LISTED]),
        "waiting_count": sums["runs"],
        "pictures": sums["pictures"] or 0,
        "oldest": sums["oldest"],
        "running": list(_running(now, _rates(spells))),
        "dead": list(_dead(dead)),
        "dead_count": dead.count(),
        "retry_count": runs_to_retry().count(),
        "stuck": stuck(now=now),
        "scorers": list(_scorers(spells, now)),
        "trials": list(open_trials.select_related("defense").defer("answers", "log").order_by("id")[:MAX_LISTED]),
        "dead_trials": list(_dead_trials()),
        "retry_trials_count": trials_to_retry().count(),
        "reruns": reruns_not_over(),
    }


def reruns_not_over() -> list[dict[str, Any]]:
    """Return the re-runs that are being prepared or are running, oldest first; `preparation` is None once its runs are
    in the queue."""
    found = Rerun.objects.filter(state__in=[state for state, after in NEXT_RERUN_STATE.items() if after])
    rows = list(found.select_related("defense").order_by("pk"))
    preparations = reruns.preparations(rows)
    return [{"rerun": rerun, "preparation": preparations.get(rerun.pk)} for rerun in rows]


def _sized(runs: QuerySet[Run]) -> QuerySet[Any]:
    """Add `planned`, how many pictures a run has: the last position, counted from 0, plus 1."""
    last = RunItem.objects.filter(run=OuterRef("pk")).order_by("-position").values("position")[:1]
    return runs.annotate(planned=Coalesce(Subquery(last) + 1, 0))


def _running(now: datetime, rates: dict[int, float]) -> Iterator[dict[str, Any]]:
    """Yield the runs that a scorer has. `share` is the part of the expected time that is over, in percent, at most 99,
    because answers are stored only at the end of a run. Both are None when the expected time is unknown."""
    runs = _sized(Run.objects.filter(state=RunState.RUNNING)).select_related("defense")
    for run in runs.order_by("started_at", "pk"):
        rate, seconds = rates.get(run.defense_id), (now - (run.started_at or now)).total_seconds()
        expected = run.planned / rate if rate else None
        share = min(int(100 * seconds / expected), 99) if expected else None
        yield {"run": run, "seconds": seconds, "expected": expected, "share": share}


def _dead(dead: QuerySet[Run]) -> Iterator[dict[str, Any]]:
    """Yield the dead runs, each with its fault in words and whether a retry may be requested."""
    for run in _sized(dead).select_related("defense").order_by("-finished_at", "-pk")[:MAX_LISTED]:
        fault = Fault(run.fault)
        may_retry = fault in PLATFORM_FAULTS and run.defense.retired_at is None
        yield {"run": run, "words": WORDS[fault], "may_retry": may_retry}


def _dead_trials() -> Iterator[dict[str, Any]]:
    """Yield the dead trials, as `_dead` does runs."""
    rows = list(dead_trials()[:MAX_LISTED])
    may_retry = set(trials_to_retry().filter(pk__in=[trial.pk for trial in rows]).values_list("pk", flat=True))
    for trial in rows:
        yield {"trial": trial, "words": WORDS[Fault(trial.fault)], "may_retry": trial.pk in may_retry}


# Scorers -------------------------------------------------------------------------------------------------------------


def _spells(now: datetime) -> Iterator[_Spell]:
    """Yield the periods in which scorers were busy in the last day; too few, as a run records only its last try."""
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
    pictures, seconds = Counter[int](), defaultdict[int, float](float)
    for spell in spells:
        if spell.pictures:
            pictures[spell.defense] += spell.pictures
            seconds[spell.defense] += (spell.end - spell.start).total_seconds()
    return {defense: pictures[defense] / spent for defense, spent in seconds.items() if spent > 0}


def _scorers(spells: Sequence[_Spell], now: datetime) -> Iterator[dict[str, Any]]:
    """Yield how each scorer spent its time: shares in percent of the last hour and day, and pictures a second while
    busy."""
    for scorer in Scorer.objects.order_by("name"):
        own = [spell for spell in spells if spell.worker == scorer.name]
        answered = [spell for spell in own if spell.pictures]
        pictures, seconds = sum(spell.pictures for spell in answered), _seconds(answered, now - _DAY)
        yield {
            "scorer": scorer,
            "alive": now - scorer.seen_at <= SILENT_AFTER,
            "hour": _share(own, now, _HOUR),
            "day": _share(own, now, _DAY),
            "pictures": pictures,
            "per_second": pictures / seconds if seconds else None,
        }


def _share(spells: Iterable[_Spell], now: datetime, span: timedelta) -> int:
    return min(round(100 * _seconds(spells, now - span) / span.total_seconds()), 100)


def _seconds(spells: Iterable[_Spell], since: datetime) -> float:
    return sum(max((spell.end - max(spell.start, since)).total_seconds(), 0.0) for spell in spells)
