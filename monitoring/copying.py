"""Statistics that find pairs of taskers who may copy from each other or be one person (R6). Pure.

Every number here bounds what two independent people do, so that an honest pair is accused less than once in a million
checks of all taskers:

- Outlines. Two people click corners where they like. Even on a shape with obvious corners, hands that miss by one
  pixel lie 1.8 px from each other on average, and five corners all within 0.75 px are rarer than 2 %; we allow 5 %.
- Sides. Where a panel of three is split, the odd one out is anybody: we expect the third as often as their own record
  of being odd says, and never less than half the time.
- Rhythm. Sending one after the other at a steady distance, or taking long over the same pictures beyond what the
  pictures explain. People who start work at the same hour do this too: rhythm only ever confirms.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from statistics import median
from typing import Any, TypeAlias

Corner: TypeAlias = tuple[float, float]
Pair: TypeAlias = tuple[int, int]

ALIKE_PX = 0.75  # mean distance between corners up to which two outlines are alike
MIN_CORNERS = 5  # off the picture's frame; with fewer, an outline says little about who drew it
ALIKE_BY_CHANCE = 0.05  # of outlines by two people on their own; at most
SIDED_BY_CHANCE = 0.5  # of splits in which the two agree; at least assumed
NEAR_SECONDS = 30.0  # a lag this near to the usual one counts as the same
NEAR_BY_CHANCE = 0.5  # of lags of two people on their own; at most
MIN_SHARED_PICTURES = 30  # least number of shared pictures for comparing times taken
MAX_FALSE_ALARM_CHANCE = 1e-6  # chance that one look at all pairs accuses anybody wrongly
SEVERAL_OTHERS = 0  # key in place of a third tasker where several others agree, so that no single record explains them
_MIN_CHANCE = 1e-300


@dataclass(frozen=True, slots=True)
class ComparedAnswer:
    """One answer to a picture, as input of the search for copies.

    `said` is every answer except the outline; `corners` those of the outline in pixels that are not on the
    picture's frame; `at` is when it was sent, in seconds.
    """

    tasker: int
    said: tuple[Any, ...]
    corners: Sequence[Corner]
    seconds: float
    at: float


@dataclass(slots=True)
class PairTally:
    """What was counted of one pair so far."""

    shared: int = 0
    outlines: int = 0
    alike: int = 0
    sided: int = 0
    against: Counter[int] = field(default_factory=Counter)
    lags: list[float] = field(default_factory=list)
    seconds: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PairEvidence:
    """The evidence about one pair: counts, and for each kind the chance that two independent people reach them."""

    shared: int
    outlines: int
    alike: int
    outlines_chance: float
    splits: int
    sided: int
    sides_chance: float
    usual_lag_seconds: float
    lags_near: int
    lags_chance: float
    seconds_correlation: float | None
    seconds_chance: float
    limit: float

    @property
    def suspected(self) -> bool:
        """Outlines are enough; sides need a rhythm beside them; a rhythm alone never accuses."""
        rhythm = min(self.lags_chance, self.seconds_chance) <= self.limit
        return self.outlines_chance <= self.limit or (rhythm and self.sides_chance <= self.limit)

    def to_json(self) -> dict[str, Any]:
        """Return plain values for the record."""
        return asdict(self)


class CopyingSearch:
    """One search among all taskers: add each picture's answers once, then read the pairs that stand out."""

    def __init__(self) -> None:
        self.tallies: dict[Pair, PairTally] = {}
        self.taskers: set[int] = set()
        self._odd: Counter[int] = Counter()
        self._judged: Counter[int] = Counter()

    def add(self, answers: Sequence[ComparedAnswer], apart: Iterable[Pair] = ()) -> None:
        """Count one picture's answers, one for each tasker. `apart` are pairs that are not to be compared."""
        self.taskers.update(seen.tasker for seen in answers)
        ordered = sorted(answers, key=lambda seen: seen.tasker)
        votes = Counter(seen.said for seen in ordered)
        if len(ordered) == 3:
            self._judged.update(seen.tasker for seen in ordered)
            self._odd.update(seen.tasker for seen in ordered if len(votes) == 2 and votes[seen.said] == 1)
        skip = frozenset(apart)
        for one, other in combinations(ordered, 2):
            if (one.tasker, other.tasker) not in skip:
                tally = self.tallies.setdefault((one.tasker, other.tasker), PairTally())
                _count(tally, one, other)
                _count_sides(tally, one, other, votes, _third(ordered, one, other))

    def figures(self) -> dict[Pair, PairEvidence]:
        """Return the figures of every pair that shared a picture."""
        limit = MAX_FALSE_ALARM_CHANCE / max(1, math.comb(len(self.taskers), 2))
        usual = self._usual_correlation()
        return {pair: self._figures(pair, tally, limit, usual) for pair, tally in self.tallies.items()}

    def _figures(self, pair: Pair, tally: PairTally, limit: float, usual: float) -> PairEvidence:
        splits = tally.against.total()
        lag = median(tally.lags)
        near = sum(abs(each - lag) <= NEAR_SECONDS for each in tally.lags)
        correlation = correlation_of_logs(tally.seconds)
        return PairEvidence(
            shared=tally.shared,
            outlines=tally.outlines,
            alike=tally.alike,
            outlines_chance=chance_of_at_least(tally.alike, tally.outlines, ALIKE_BY_CHANCE),
            splits=splits,
            sided=tally.sided,
            sides_chance=chance_of_at_least(tally.sided, splits, self._expected_sides(pair, tally.against)),
            usual_lag_seconds=round(lag, 1),
            lags_near=near,
            # The usual lag is one of the lags: that one is near to itself whatever they do.
            lags_chance=chance_of_at_least(near - 1, tally.shared - 1, NEAR_BY_CHANCE),
            seconds_correlation=correlation,
            seconds_chance=correlation_chance(correlation, usual, tally.shared),
            limit=limit,
        )

    def _expected_sides(self, pair: Pair, against: Counter[int]) -> float:
        """How often the third is expected to be the odd one, on average over the splits.

        A tail of unequal chances is bounded by the tail of their mean (Hoeffding 1956), above the mean.
        """
        ours = sum(self._oddness(tasker) for tasker in pair)
        expected = 0.0
        for third, times in against.items():
            theirs = 0.0 if third == SEVERAL_OTHERS else self._oddness(third)
            expected += times * max(SIDED_BY_CHANCE, theirs / (theirs + ours))
        return expected / max(1, against.total())

    def _oddness(self, tasker: int) -> float:
        # Half a time more than counted, because no tasker's true share is zero.
        return (self._odd[tasker] + 0.5) / (self._judged[tasker] + 1)

    def _usual_correlation(self) -> float:
        """What the pictures' own difficulty explains: how the times of all pairs go together."""
        found = [correlation_of_logs(tally.seconds) for tally in self.tallies.values()]
        known = [each for each in found if each is not None]
        return max(0.0, median(known)) if known else 0.0


def _count(tally: PairTally, one: ComparedAnswer, other: ComparedAnswer) -> None:
    tally.shared += 1
    tally.lags.append(other.at - one.at)
    tally.seconds.append((one.seconds, other.seconds))
    if min(len(one.corners), len(other.corners)) >= MIN_CORNERS:
        tally.outlines += 1
        tally.alike += outlines_alike(one.corners, other.corners)


def _third(answers: Sequence[ComparedAnswer], one: ComparedAnswer, other: ComparedAnswer) -> int:
    if len(answers) != 3:
        return SEVERAL_OTHERS
    return next(seen.tasker for seen in answers if seen is not one and seen is not other)


def _count_sides(
    tally: PairTally, one: ComparedAnswer, other: ComparedAnswer, votes: Mapping[Any, int], third: int
) -> None:
    """Count a picture on which the answers of this pair and the others are not all the same."""
    rest = Counter(votes)
    rest.subtract((one.said, other.said))
    ranked = rest.most_common(2)
    unclear = ranked[0][1] == 0 or (len(ranked) == 2 and ranked[0][1] == ranked[1][1])
    others = ranked[0][0]
    if unclear or one.said == other.said == others:
        return
    tally.against[third] += 1
    tally.sided += one.said == other.said


def outlines_alike(one: Sequence[Corner], other: Sequence[Corner]) -> bool:
    """Say whether two outlines lie within ALIKE_PX of each other, seen from either, with about as many corners."""
    if abs(len(one) - len(other)) > 1 + min(len(one), len(other)) // 10:
        return False
    return _near_on_average(one, other) and _near_on_average(other, one)


def _near_on_average(corners: Sequence[Corner], to: Sequence[Corner]) -> bool:
    left = ALIKE_PX * len(corners)
    for x, y in corners:
        left -= math.sqrt(min((x - a) ** 2 + (y - b) ** 2 for a, b in to))
        if left < 0:
            return False
    return True


def chance_of_at_least(times: int, of: int, chance: float) -> float:
    """Return the chance of at least `times` in `of` tries of `chance` each; never 0, so that it can be compared."""
    if times <= 0 or of <= 0:
        return 1.0
    if times <= of * chance:
        return 1.0  # no evidence, and the bound for unequal chances does not hold here
    return min(1.0, max(_MIN_CHANCE, math.fsum(math.exp(_log_of(k, of, chance)) for k in range(times, of + 1))))


def _log_of(k: int, n: int, p: float) -> float:
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return ways + k * math.log(p) + ((n - k) * math.log1p(-p) if k < n else 0.0)


def correlation_of_logs(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Pearson's correlation of the logarithms; None with too few, or when one of them never varies."""
    if len(pairs) < MIN_SHARED_PICTURES:
        return None
    xs, ys = ([math.log(max(0.1, pair[side])) for pair in pairs] for side in (0, 1))
    mean_x, mean_y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    xx, yy = math.fsum((x - mean_x) ** 2 for x in xs), math.fsum((y - mean_y) ** 2 for y in ys)
    if xx == 0 or yy == 0:
        return None
    return math.fsum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / math.sqrt(xx * yy)


def correlation_chance(correlation: float | None, usual: float, pictures: int) -> float:
    """Return the chance of so high a correlation where `usual` is what the pictures explain (Fisher's z)."""
    if correlation is None:
        return 1.0
    almost = 1 - 1e-9
    distance = math.atanh(max(-almost, min(almost, correlation))) - math.atanh(min(almost, usual))
    return max(_MIN_CHANCE, 0.5 * math.erfc(distance * math.sqrt(pictures - 3) / math.sqrt(2)))
