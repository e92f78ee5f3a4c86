"""Words about runs and trials of defenses that wait because no scorer, or no container engine, is there.

Nothing else says so: work that no scorer can take looks like work that is still queued.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import Count, QuerySet

from scoring.enums import RerunState, RunState
from scoring.models import Defense, Rerun, Run, Scorer, Trial
from scoring.reruns import progress
from scoring.rules import PLATFORM_FAULTS
from scoring.selectors import dead_runs
from scoring.trials.selectors import trials_to_retry
from scoring.trusted_programs import needs_engine

# A scorer reports every 15 seconds that it is alive; one that runs only in sweeps does so less often.
SILENT_AFTER = timedelta(minutes=2)
ENGINE = "docker"
_OPEN = (RunState.QUEUED, RunState.RUNNING)


class MissingCapacity(StrEnum):
    """What is missing, so that runs and trials wait."""

    SCORER = "scorer"
    ENGINE = "engine"


@dataclass(frozen=True, slots=True)
class StuckScoring:
    """How many runs and trials no scorer can work on now, because `missing` is not available."""

    missing: MissingCapacity
    runs: int
    trials: int

    @property
    def count(self) -> str:
        """Return what waits, in words."""
        runs = f"{self.runs:,} run{'' if self.runs == 1 else 's'}"
        trials = f"{self.trials:,} trial{'' if self.trials == 1 else 's'}"
        return " and ".join(words for words, number in ((runs, self.runs), (trials, self.trials)) if number)

    @property
    def words(self) -> str:
        """Return what is missing and what waits for it, in one line."""
        verb = "waits" if self.runs + self.trials == 1 else "wait"
        if self.missing is MissingCapacity.SCORER:
            return f"No scorer is at work: {self.count} {verb}"
        return f"No scorer has a container engine: {self.count} {verb} for one"


def missing(*, now: datetime) -> MissingCapacity | None:
    """Return what is missing now; None if a scorer that is alive has a container engine, so that everything can run."""
    runtimes = set(Scorer.objects.filter(seen_at__gte=now - SILENT_AFTER).values_list("runtime", flat=True))
    if not runtimes:
        return MissingCapacity.SCORER
    return None if ENGINE in runtimes else MissingCapacity.ENGINE


def stuck(*, now: datetime) -> StuckScoring | None:
    """Return the work that waits for something missing; None if nothing does."""
    what = missing(now=now)
    if what is None:
        return None
    # Work that failed for lack of an engine waits as well: somebody will try it again.
    runs = _by_defense(Run.objects.filter(state__in=_OPEN), runs_to_retry())
    trials = _by_defense(Trial.objects.filter(state__in=_OPEN), trials_to_retry())
    if what is MissingCapacity.ENGINE:
        sealed = {each.pk for each in Defense.objects.filter(pk__in=runs | trials) if needs_engine(each)}
        runs, trials = (Counter({pk: n for pk, n in each.items() if pk in sealed}) for each in (runs, trials))
    return StuckScoring(what, runs.total(), trials.total()) if runs or trials else None


def _by_defense(*work: "QuerySet[Run] | QuerySet[Trial]") -> Counter[int]:
    """Count work by its defense."""
    found: Counter[int] = Counter()
    for rows in work:
        found.update(dict(rows.order_by().values_list("defense").annotate(count=Count("pk"))))
    return found


def why_stuck(defense: Defense, *, now: datetime) -> str:
    """Return why the work of one defense cannot proceed now and who can help; empty if it only waits for its turn."""
    waits = _has_open_work(defense)
    gave_up = trials_to_retry().filter(defense=defense).exists() or runs_to_retry().filter(defense=defense).exists()
    if not waits and not gave_up:
        return ""
    what = missing(now=now)
    if what is MissingCapacity.SCORER:
        return (
            "No scorer is at work now: what was asked of this defense waits until an organizer starts one. Nothing of "
            "it is lost, and nothing of it is held against the defense."
        )
    if what is MissingCapacity.ENGINE and needs_engine(defense):
        return (
            "This defense runs in a container, and no scorer at work has a container engine: what was asked of it "
            "waits until an organizer starts one. Nothing of this is held against the defense."
        )
    if gave_up:
        return (
            "Work on this defense gave up for a reason that lies with the contest's machines and is not held against "
            "the defense: an organizer has to try it again."
        )
    return ""


def runs_to_retry() -> QuerySet[Run]:
    """Return the dead runs that failed by a fault of the platform, of defenses that are not retired."""
    return dead_runs().filter(fault__in=PLATFORM_FAULTS, defense__retired_at__isnull=True)


def reruns_to_apply() -> QuerySet[Rerun]:
    """Return the re-runs whose runs are all over: an organizer applies or cancels them next."""
    return Rerun.objects.filter(state=RerunState.RUNNING).exclude(runs__state__in=_OPEN)


def _has_open_work(defense: Defense) -> bool:
    rows = (kind._default_manager.filter(defense=defense, state__in=_OPEN) for kind in (Trial, Run))
    return any(each.exists() for each in rows)


FINISHED = "finished, not applied"


def rerun_words(rerun: Rerun, *, now: datetime) -> str:
    """Return the progress of a re-run, in the same words on every page."""
    if rerun.state != RerunState.RUNNING:
        return "being prepared" if rerun.state == RerunState.PREPARING else rerun.state
    found = progress(rerun, now=now)
    if found.stopped:
        return "stopped"
    return FINISHED if found.done == found.answers else "under way"
