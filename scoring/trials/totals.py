"""Totals of a trial, and whether they pass (R30, R31). Pure.

Integers decide everything but the odds of the memorisation probe and of copies, which are for people to judge.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from adjudication.rules import passes_private_set
from labeling.enums import Label
from scoring.enums import DefenseAnswer
from scoring.rules import is_mistaken_outcome

# The board sees a memorisation probe when its probability by chance is this low, or the difference this large.
SHOWN_BELOW_P = 0.01
SHOWN_ABOVE_POINTS = 10
# From this agreement on, people should compare two defenses.
ALIKE_PICTURES, ALIKE_ANSWERED = 50, 10
ALIKE_SCORES = 1e-4

Answered = int | None
"""An Outcome, or None where a fault took the answer's place."""


@dataclass(frozen=True, slots=True)
class AnswerTotals:
    """Counts of answers to a set of pictures; every picture is in exactly one of the four parts."""

    pictures: int = 0
    right: int = 0
    wrong: int = 0
    abstained: int = 0
    faults: int = 0

    def __post_init__(self) -> None:
        """Refuse totals that do not add up."""
        parts = (self.right, self.wrong, self.abstained, self.faults)
        if min(parts) < 0 or sum(parts) != self.pictures:
            raise ValueError(f"{parts} do not add up to {self.pictures} pictures")

    @property
    def mistakes(self) -> int:
        """The count of wrong answers; before publication a fault counts as wrong, as it could hide an answer (R30)."""
        return self.wrong + self.faults


def count_answers(answers: Iterable[tuple[Label, Answered]]) -> AnswerTotals:
    """Add up pairs of a picture's class and its answer."""
    parts = {"right": 0, "wrong": 0, "abstained": 0, "faults": 0}
    for label, answer in answers:
        parts[_part(label, answer)] += 1
    return AnswerTotals(sum(parts.values()), **parts)


def _part(label: Label, answer: Answered) -> str:
    if answer is None:
        return "faults"
    if answer == DefenseAnswer.ABSTAIN:
        return "abstained"
    return "wrong" if is_mistaken_outcome(label, answer) else "right"


def read_totals(numbers: Mapping[str, Any]) -> AnswerTotals:
    """Return the totals that `asdict` wrote, ignoring other keys; an empty dict means no pictures."""
    return AnswerTotals(**{name: int(numbers.get(name, 0)) for name in AnswerTotals.__dataclass_fields__})


def passes_private(totals: AnswerTotals, *, percent: int, strict: bool) -> bool:
    """Say whether the answers to the private set are enough (R31, 1); no pictures are never enough."""
    return passes_private_set(
        pictures=totals.pictures, right=totals.right, mistakes=totals.mistakes, percent=percent, strict=strict
    )


def passes_earlier(totals: AnswerTotals) -> bool:
    """Say whether no earlier attack is answered with a confident mistake (R31, 2)."""
    return totals.mistakes == 0


def per_minute(rows: int, milliseconds: int) -> int:
    """Return how many rows were answered in a minute, rounded down."""
    return rows * 60_000 // max(milliseconds, 1)


def is_quick_enough(rows: int, milliseconds: int, *, seconds_per_picture: int) -> bool:
    """Say whether `rows`, padding included, were answered in the time that they may take (R31, 3)."""
    return rows > 0 and milliseconds <= rows * seconds_per_picture * 1000


@dataclass(frozen=True, slots=True)
class AnswerDifference:
    """The effect of a small alteration on the answers to the same pictures.

    `lost` are right unchanged and not right altered, `gained` the other way round; `p` is how likely so uneven a
    split is by chance (McNemar's exact test, two-sided).
    """

    pictures: int
    lost: int
    gained: int
    p: float

    @property
    def is_shown(self) -> bool:
        """Whether the board sees it."""
        large = 100 * abs(self.lost - self.gained) > SHOWN_ABOVE_POINTS * self.pictures
        return large or self.p < SHOWN_BELOW_P

    def to_json(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {**asdict(self), "points": points(self.lost - self.gained, self.pictures), "shown": self.is_shown}


def points(share: int, whole: int) -> float:
    """Return `share` of `whole` in percent, with one decimal."""
    return round(100 * share / whole, 1) if whole else 0.0


def difference(labels: Sequence[Label], plain: Sequence[Answered], altered: Sequence[Answered]) -> AnswerDifference:
    """Compare the answers to the same pictures as they are and altered."""
    before = [_part(*pair) == "right" for pair in zip(labels, plain, strict=True)]
    after = [_part(*pair) == "right" for pair in zip(labels, altered, strict=True)]
    lost = sum(was and not now for was, now in zip(before, after, strict=True))
    gained = sum(now and not was for was, now in zip(before, after, strict=True))
    return AnswerDifference(len(labels), lost, gained, chance(lost, gained))


def chance(lost: int, gained: int) -> float:
    """Return the two-sided exact odds of a split at least as uneven, each change being as likely as its reverse."""
    changes = lost + gained
    tail = sum(math.comb(changes, number) for number in range(min(lost, gained) + 1))
    return min(1.0, float(Fraction(2 * tail, 2**changes)))


@dataclass(frozen=True, slots=True)
class AnswerSimilarity:
    """How alike the answers of two defenses to the same pictures are."""

    pictures: int
    same: int
    answered: int  # the same and no abstention
    largest_score_difference: float

    @property
    def is_alike(self) -> bool:
        """Whether people should compare the two defenses."""
        enough = self.pictures >= ALIKE_PICTURES and self.answered >= ALIKE_ANSWERED
        return enough and self.same == self.pictures and self.largest_score_difference < ALIKE_SCORES


Given = tuple[int, float, float]
"""An answer with its scores for bicycle and bird."""


def compare_answers(pairs: Iterable[tuple[Given, Given]]) -> AnswerSimilarity:
    """Compare two defenses' answers to the same pictures."""
    pictures = same = answered = 0
    largest = 0.0
    for (one, *scores), (other, *others) in pairs:
        pictures += 1
        same += one == other
        answered += one == other != DefenseAnswer.ABSTAIN
        largest = max(largest, *(abs(a - b) for a, b in zip(scores, others, strict=True)))
    return AnswerSimilarity(pictures, same, answered, largest)
