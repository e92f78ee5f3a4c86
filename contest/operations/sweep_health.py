"""Whether the background work goes on: each sweep, when it ran, and whether it is late or fails."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from common.queues import Sweep
from common.sweep_runs import SweepAge, sweep_ages
from common.times import distance
from contest.operations.pipeline import QUEUES, SWEEPS
from contest.operations.waiting_items import Waits

# A sweep is late when it has not run for so long, or for three of its periods: a release may take minutes, and holds up
# the others of its queue.
LATE = timedelta(minutes=15)


class SweepState(StrEnum):
    """How a sweep is doing."""

    NEVER_RAN = "has not run yet"
    LATE = "late"
    FAILING = "fails"
    ON_TIME = "on time"


@dataclass(frozen=True, slots=True)
class SweepHealth:
    """A sweep as it was declared, with its state, when it ran, and since when it fails."""

    name: str
    words: str
    queue: str
    every: timedelta
    state: SweepState
    ran_at: datetime | None = None
    failing_since: datetime | None = None

    @property
    def every_words(self) -> str:
        """Return how often it is asked for, for example `5 s`."""
        return distance(self.every)

    @property
    def stands_still(self) -> bool:
        """Say whether nobody runs it."""
        return self.state in (SweepState.NEVER_RAN, SweepState.LATE)


def sweep_health(*, now: datetime) -> tuple[SweepHealth, ...]:
    """Return all sweeps in the order in which a picture meets them."""
    ages = sweep_ages()
    return tuple(_health(each, ages.get(each.name), now) for each in SWEEPS)


def _health(sweep: Sweep, age: SweepAge | None, now: datetime) -> SweepHealth:
    every = timedelta(seconds=sweep.every)
    declared = (sweep.name, sweep.words, sweep.queue, every)
    if age is None:
        return SweepHealth(*declared, SweepState.NEVER_RAN)
    since = now - age.failing if age.failing is not None else None
    late = age.ran > max(LATE, 3 * every)
    state = SweepState.LATE if late else SweepState.FAILING if since else SweepState.ON_TIME
    return SweepHealth(*declared, state, now - age.ran, since)


def sweeps_in_trouble(sweeps: tuple[SweepHealth, ...]) -> Iterator[Waits]:
    """Yield what an organizer has to know: which queue nobody works on, and which sweeps are late or fail."""
    idle = {queue for queue in QUEUES if all(each.stands_still for each in sweeps if _is_often(each, queue))}
    if len(idle) == len(QUEUES):
        yield _waits("no worker runs: start one with ./unanimous work", [each.ran_at for each in sweeps], since=max)
        return
    for queue in sorted(idle):
        words = f"no worker runs the queue {queue}: start one with ./unanimous work --queue {queue}"
        yield _waits(words, [each.ran_at for each in sweeps if each.queue == queue], since=max)
    late = [each for each in sweeps if each.stands_still and each.queue not in idle]
    if late:
        yield _waits(f"late in the background: {_names(late)}", [each.ran_at for each in late])
    failing = [each for each in sweeps if each.state == SweepState.FAILING]
    if failing:
        yield _waits(f"failing in the background: {_names(failing)}", [each.failing_since for each in failing])


def _is_often(sweep: SweepHealth, queue: str) -> bool:
    return sweep.queue == queue and 3 * sweep.every <= LATE


def _waits(words: str, times: Iterable[datetime | None], *, since: Callable[..., datetime | None] = min) -> Waits:
    return Waits("overview", words, since((each for each in times if each is not None), default=None), "sweeps")


def _names(sweeps: list[SweepHealth]) -> str:
    return ", ".join(each.name for each in sweeps)
