"""Finds sweeps (periodic jobs) that are late or fail."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.conf import settings

from common.queues import Sweep
from common.sweep_runs import SweepAge, seconds_since_sweeps
from common.times import distance
from contest.operations.pipeline import QUEUES, SWEEPS
from contest.operations.waiting_items import WaitingItem

# A sweep is late when it has not run for this long or for three of its periods, whichever is longer. A release and a
# scoring run take long and delay the others of their queue; without a broker one worker runs both queues.
LATE = {"quick": timedelta(minutes=15), "slow": timedelta(hours=1), "gpu": timedelta(hours=1)}


class SweepState(StrEnum):
    """The state of a sweep."""

    NEVER_RAN = "has not run yet"
    LATE = "late"
    FAILING = "fails"
    ON_TIME = "on time"


@dataclass(frozen=True, slots=True)
class SweepHealth:
    """A declared sweep with its state, its last run, and since when it fails."""

    name: str
    words: str
    queue: str
    every: timedelta
    state: SweepState
    ran_at: datetime | None = None
    failing_since: datetime | None = None

    @property
    def every_words(self) -> str:
        """Return how often it runs, for example `5 s`."""
        return distance(self.every)


def sweep_health(*, now: datetime) -> tuple[SweepHealth, ...]:
    """Return all sweeps in pipeline order."""
    ages = seconds_since_sweeps()
    begun = max((each.first for each in ages.values()), default=None)
    return tuple(_health(each, ages.get(each.name), begun, now) for each in SWEEPS)


def _health(sweep: Sweep, age: SweepAge | None, begun: timedelta | None, now: datetime) -> SweepHealth:
    every = timedelta(seconds=sweep.every)
    most = max(LATE[sweep.queue], 3 * every)
    declared = (sweep.name, sweep.words, sweep.queue, every)
    if age is None:
        return SweepHealth(*declared, SweepState.LATE if begun is None or begun > most else SweepState.NEVER_RAN)
    since = now - age.failing if age.failing is not None else None
    state = SweepState.LATE if age.last > most else SweepState.FAILING if since else SweepState.ON_TIME
    return SweepHealth(*declared, state, now - age.last, since)


def sweeps_in_trouble(sweeps: tuple[SweepHealth, ...]) -> Iterator[WaitingItem]:
    """Yield the problems that an organizer has to know: queues without a worker, sweeps that are late or fail."""
    idle = {queue for queue in QUEUES if all(each.state == SweepState.LATE for each in sweeps if each.queue == queue)}
    if len(idle) == len(QUEUES):
        yield _late_sweeps_item(_nobody("no sweep runs", ""), [each.ran_at for each in sweeps], since=max)
        return
    for queue in sorted(idle):
        words = _nobody(f"no sweep of the queue {queue} runs", f" --queue {queue}")
        yield _late_sweeps_item(words, [each.ran_at for each in sweeps if each.queue == queue], since=max)
    late = [each for each in sweeps if each.state == SweepState.LATE and each.queue not in idle]
    if late:
        yield _late_sweeps_item(f"late in the background: {_names(late)}", [each.ran_at for each in late])
    failing = [each for each in sweeps if each.state == SweepState.FAILING]
    if failing:
        yield _late_sweeps_item(
            f"failing in the background: {_names(failing)}", [each.failing_since for each in failing]
        )


def _nobody(what: str, options: str) -> str:
    if settings.CELERY_BROKER_URL:
        return f"{what}: look at the beat, and at the workers"
    return f"{what}: start a worker with ./unanimous work{options}"


def _late_sweeps_item(
    words: str, times: Iterable[datetime | None], *, since: Callable[..., datetime | None] = min
) -> WaitingItem:
    return WaitingItem("overview", words, since((each for each in times if each is not None), default=None), "sweeps")


def _names(sweeps: list[SweepHealth]) -> str:
    return ", ".join(each.name for each in sweeps)
