"""Forecasts when pictures are finished, from the taskers' recent pace. Pure, NumPy.

A thousand trials play the time until the deadline. For each day to come a trial takes one of the last DAYS days, the
same for everybody, because what keeps people from work (a Sunday, a holiday) keeps many of them; each tasker then
answers as they did on that day, at the same hours, give or take chance (a Poisson spread). In a trial some days count
more than in another (Rubin's Bayesian bootstrap): seven days say only so much.

A trial finishes the first n pictures of the queue when the taskers' answers are enough for them. Nobody answers a
picture twice, so that of one tasker no more answers help than there are pictures among these new to them; and a picture
that misses more answers than there are taskers at work to whom it is new is never finished by them; they give it those
answers all the same, and what stands behind it goes on.

The draws of a tasker are their own, and those of the days are everybody's: one more tasker takes nothing from any
trial, so that the chance to finish the queue up to a picture never falls by it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

DAYS = 7
HOURS = 24
TRIALS = 1_000
# The forecast ends after this time.
MAX_DAYS = 60
_SEED = 2_026
_Draws: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class TaskerPace:
    """A tasker at work: answers in each hour of the last days, the newest day first and in it the oldest hour.

    A day ends at the moment of the forecast. There are as many days, up to DAYS, as the tasker has been here.
    """

    key: int
    days: tuple[tuple[int, ...], ...]

    @property
    def per_day(self) -> float:
        """Return the answers of a usual day."""
        return sum(map(sum, self.days)) / len(self.days)


@dataclass(frozen=True, slots=True)
class Task:
    """A picture that misses `needs` answers, and the workers who answered it or gave it back."""

    needs: int
    seen_by: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Forecast:
    """The forecast of a queue until a deadline.

    `chances` are of each picture to be finished; being finished one after the other, the least is that of all of them.
    `answers` are how many answers a tenth of the trials stays below, half of them, and nine tenths.
    """

    chances: tuple[float, ...]
    answers: tuple[int, int, int]

    def of_all(self, positions: Iterable[int]) -> float:
        """Return the chance that all the pictures at these positions of the queue are finished; 1 for none."""
        return min((self.chances[at] for at in positions), default=1.0)


def forecast(tasks: Sequence[Task], workers: Sequence[TaskerPace], *, hours: float, lost: float = 0.0) -> Forecast:
    """Return the chances of pictures, in the order of the queue, to be finished within `hours`.

    `lost` is the share of answers that is voided afterwards, so that their places are filled once more (R6).
    """
    given = _answers_within(workers, hours)
    return Forecast(tuple(_chances(tasks, workers, given, lost)), _spread(sum(given, np.zeros(TRIALS))))


def chance_of_all(tasks: Sequence[Task], workers: Sequence[TaskerPace], *, hours: float, lost: float = 0.0) -> float:
    """Return only the chance that all of these are finished: quicker than `forecast`, for trying several cases."""
    if not tasks:
        return 1.0
    if not all(_possible(task, workers) for task in tasks):
        return 0.0
    supply = np.zeros(TRIALS, dtype=np.float32)
    for worker, answers in zip(workers, _answers_within(workers, hours), strict=True):
        supply += np.minimum(answers.astype(np.float32), _new_to(worker, tasks)[-1])
    return float((supply >= _demand(tasks, workers, lost)[-1]).mean())


def left_by_day(
    tasks: Sequence[Task], workers: Sequence[TaskerPace], *, hours: float, lost: float = 0.0
) -> list[tuple[float, tuple[int, int, int]]]:
    """Return after how many hours, day by day until `hours`, how many answers the pictures still miss: at most so many
    in a tenth of the trials, in half of them, and in nine tenths."""
    if not tasks:
        return []
    ends: list[float] = [*range(HOURS, int(min(hours, MAX_DAYS * HOURS)) + 1, HOURS)]
    ends += [hours] if hours > (ends[-1] if ends else 0) else []
    demand, useful = _demand(tasks, workers, lost)[-1], [_new_to(worker, tasks)[-1] for worker in workers]
    never = sum(max(task.needs - _able(task, workers), 0) for task in tasks)
    found = []
    for end in ends:
        given = _answers_within(workers, end)
        supply = sum((np.minimum(*each) for each in zip(given, useful, strict=True)), np.zeros(TRIALS))
        found.append((end, _spread(np.ceil(np.maximum(demand - supply, 0) * (1 - lost)) + never)))
    return found


def _spread(given: _Draws) -> tuple[int, int, int]:
    low, middle, high = (int(np.percentile(given, share)) for share in (10, 50, 90))
    return low, middle, high


def _chances(
    tasks: Sequence[Task], workers: Sequence[TaskerPace], given: Sequence[_Draws], lost: float
) -> Iterable[float]:
    if not tasks:
        return
    enough = _supply(tasks, workers, given) >= _demand(tasks, workers, lost)
    # Finishing more pictures includes finishing these.
    finished = np.logical_or.accumulate(enough[:, ::-1], axis=1)[:, ::-1].mean(axis=0)
    for task, chance in zip(tasks, finished.tolist(), strict=True):
        yield chance if _possible(task, workers) else 0.0


def _supply(tasks: Sequence[Task], workers: Sequence[TaskerPace], given: Sequence[_Draws]) -> _Draws:
    """The answers that help with the first n pictures: a row for each trial, a column for each n."""
    supply = np.zeros((TRIALS, len(tasks)), dtype=np.float32)
    for worker, answers in zip(workers, given, strict=True):
        supply += np.minimum(answers.astype(np.float32)[:, None], _new_to(worker, tasks)[None, :])
    return supply


def _new_to(worker: TaskerPace, tasks: Sequence[Task]) -> _Draws:
    """How many of the first n pictures are new to a tasker, for each n."""
    return np.cumsum([worker.key not in task.seen_by for task in tasks], dtype=np.float32)


def _demand(tasks: Sequence[Task], workers: Sequence[TaskerPace], lost: float) -> _Draws:
    """The answers that the first n pictures take of these taskers, for each n."""
    return np.cumsum([min(task.needs, _able(task, workers)) for task in tasks], dtype=np.float32) / (1 - lost)


def _possible(task: Task, workers: Sequence[TaskerPace]) -> bool:
    return _able(task, workers) >= task.needs


def _able(task: Task, workers: Sequence[TaskerPace]) -> int:
    """To how many of the taskers a picture is new."""
    return len(workers) - sum(worker.key in task.seen_by for worker in workers)


def _answers_within(workers: Sequence[TaskerPace], hours: float) -> list[_Draws]:
    """The answers of each tasker within `hours`, one number for each trial."""
    whole, rest = divmod(min(max(hours, 0.0), MAX_DAYS * HOURS), HOURS)
    spans = [float(HOURS)] * int(whole) + ([rest] if rest else [])
    days = _days_taken(len(spans))
    return [_given_by(worker, spans, days) for worker in workers]


def _days_taken(count: int) -> _Draws:
    """Which of the last days each day to come is taken from: a row for each day, a column for each trial."""
    chance = np.random.default_rng(_SEED)
    bounds = np.cumsum(chance.dirichlet(np.ones(DAYS), TRIALS), axis=1)
    days: _Draws = (chance.random((count, TRIALS))[:, :, None] > bounds[None, :, :-1]).sum(axis=2)
    return days


def _given_by(worker: TaskerPace, spans: Sequence[float], days: _Draws) -> _Draws:
    # A day's row of these comes before those of later ones: a later deadline changes nothing of the days before it.
    spread = np.random.default_rng([_SEED, worker.key]).standard_normal((len(spans), TRIALS))
    given = np.zeros(TRIALS)
    for span, taken, off in zip(spans, days, spread, strict=True):
        usual = _within(worker, span)[taken * len(worker.days) // DAYS]
        given += np.floor(np.maximum(usual + np.sqrt(usual) * off, 0) + 0.5)
    return given


def _within(worker: TaskerPace, hours: float) -> _Draws:
    """What the tasker answered in the first `hours` of each of their days."""
    till = np.concatenate([np.zeros((len(worker.days), 1)), np.cumsum(worker.days, axis=1)], axis=1)
    whole = int(hours)
    following: _Draws = till[:, min(whole + 1, HOURS)]
    begun: _Draws = till[:, whole]
    return begun + (hours - whole) * (following - begun)


def usual_hours(tasks: Sequence[Task], workers: Sequence[TaskerPace], *, lost: float = 0.0) -> float | None:
    """Return after how many hours the last picture is finished if every day is a usual one; None where it is not
    within MAX_DAYS."""
    if not tasks:
        return 0.0
    if not all(_possible(task, workers) for task in tasks):
        return None
    hours = np.zeros(MAX_DAYS * HOURS)
    for worker in workers:
        usual = np.cumsum(np.tile(np.mean(worker.days, axis=0), MAX_DAYS))
        hours += np.minimum(usual, _new_to(worker, tasks)[-1])
    found = np.nonzero(hours >= _demand(tasks, workers, lost)[-1] - 1e-6)[0]
    return float(found[0] + 1) if len(found) else None


def like_the_middle_one(workers: Sequence[TaskerPace], count: int) -> list[TaskerPace]:
    """Return `count` more taskers with the pace of the median tasker at work."""
    middle = sorted(workers, key=lambda worker: (worker.per_day, worker.key))[len(workers) // 2]
    highest = max(worker.key for worker in workers)
    return [TaskerPace(highest + number, middle.days) for number in range(1, count + 1)]
