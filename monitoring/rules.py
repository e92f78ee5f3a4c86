"""Evaluates the rules of monitoring: collector -> condition -> action (R6). Pure: no database.

A collector reads one tasker's latest answers, and returns a number, how many answers it is based on, and the figures
behind it. Which thresholds hold is in the table of rules, whose first rows are in the migrations.
"""

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import takewhile
from typing import NamedTuple

from monitoring.statistics import chance_of_so_few, coefficient_of_variation, mean, wilson
from policy.numbers import Policy

# A tasker who answers quicker than this hardly looked: questions 1 and 2 alone take two key presses.
FAST_MILLISECONDS = 1_500

# The answers about a picture without the outline: bird, bicycle, and the three statements.
Form = tuple[str, str, bool | None, bool | None, bool | None]
QUESTIONS = ("contains_bird", "contains_bicycle", "complete", "unoccluded", "real")
_CLASS_QUESTIONS = 2


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """One answer of a tasker as monitoring sees it.

    `gold` says how it was marked, None on an ordinary picture. `others` is what the other members of its full panel
    said, and `iou_percent` the mean overlap with their outlines; empty for gold, surplus and while the panel is open.
    """

    at: datetime
    milliseconds: int
    form: Form
    gold: bool | None = None
    others: tuple[Form, ...] = ()
    iou_percent: float | None = None


@dataclass(frozen=True, slots=True)
class HandedPicture:
    """One picture a tasker was given, and whether it was answered or given back."""

    at: datetime
    answered: bool


@dataclass(frozen=True, slots=True)
class TaskerHistory:
    """The answers and pictures by which a tasker is judged, oldest first."""

    looks: Sequence[JudgedAnswer] = ()
    handovers: Sequence[HandedPicture] = ()

    def since(self, moment: datetime | None) -> "TaskerHistory":
        """Return what came after `moment`; everything for None."""
        if moment is None:
            return self
        return TaskerHistory(
            [look for look in self.looks if look.at > moment], [each for each in self.handovers if each.at > moment]
        )


@dataclass(frozen=True, slots=True)
class CollectorValue:
    """What a collector found: a value out of `n` answers, and the figures behind it."""

    value: float
    n: int
    figures: Mapping[str, float | int | str | None] = field(default_factory=dict)


Collector = Callable[[TaskerHistory, int, Policy], CollectorValue | None]


@dataclass(frozen=True, slots=True)
class RuleTerms:
    """A rule as the table holds it: when `collector` over the last `window`, at least `minimum` of them, is
    `comparison` `threshold`."""

    collector: str
    window: int
    minimum: int
    comparison: str
    threshold: float


class Comparison(NamedTuple):
    """How a value is compared with a threshold: the words, and the test of both."""

    words: str
    holds: Callable[[float, float], bool]


COMPARISONS = {
    "<": Comparison("below", operator.lt),
    "<=": Comparison("at most", operator.le),
    ">": Comparison("above", operator.gt),
    ">=": Comparison("at least", operator.ge),
}


def fires(rule: RuleTerms, seen: TaskerHistory, policy: Policy) -> CollectorValue | None:
    """Return the reading that fires the rule, None while it does not."""
    reading = COLLECTORS[rule.collector].read(seen, rule.window, policy)
    if reading is None or reading.n < rule.minimum:
        return None
    return reading if COMPARISONS[rule.comparison].holds(reading.value, rule.threshold) else None


def majority_of(forms: Sequence[Form]) -> tuple[object, ...]:
    """Return for each question the answer of more than half of `forms`; None without one."""
    return tuple(_majority([form[position] for form in forms]) for position in range(len(QUESTIONS)))


def _majority(said: Sequence[object]) -> object:
    given = [each for each in said if each is not None]
    value, count = Counter(given).most_common(1)[0] if given else (None, 0)
    return value if 2 * count > len(said) else None


def agreements(look: JudgedAnswer) -> dict[str, bool]:
    """Return for each question on which the others have a majority whether this answer is that of the majority."""
    pairs = zip(QUESTIONS, look.form, majority_of(look.others), strict=True)
    return {question: said == most for question, said, most in pairs if most is not None}


def _gold(seen: TaskerHistory, window: int) -> list[bool]:
    return [look.gold for look in seen.looks if look.gold is not None][-window:]


def _with_others(seen: TaskerHistory, window: int) -> list[JudgedAnswer]:
    return [look for look in seen.looks if look.others][-window:]


def gold_doubt(seen: TaskerHistory, window: int, policy: Policy) -> CollectorValue | None:
    """Return the chance of so few right gold answers at the policy's share, in multiples of the policy's bound (R6).

    Under 1 is clearly under the share. None before the policy's minimum: its numbers have one home.
    """
    marks = _gold(seen, window)
    if len(marks) < policy.gold_minimum:
        return None
    chance = chance_of_so_few(sum(marks), len(marks), policy.gold_pass_percent)
    figures = {"right": sum(marks), "chance_percent": round(float(100 * chance), 4)}
    return CollectorValue(float(100 * chance / policy.gold_doubt_percent), len(marks), figures)


def gold_share(seen: TaskerHistory, window: int, policy: Policy) -> CollectorValue | None:
    """Return the share of gold answers that were fully right."""
    marks = _gold(seen, window)
    interval = wilson(sum(marks), len(marks))
    if interval is None:
        return None
    low, high = (round(bound, 4) for bound in interval)
    return CollectorValue(sum(marks) / len(marks), len(marks), {"right": sum(marks), "low": low, "high": high})


def agreement(seen: TaskerHistory, window: int, policy: Policy) -> CollectorValue | None:
    """Return the share of questions answered like the majority of the other members; `n` counts answers."""
    looks = [found for look in _with_others(seen, window) if (found := agreements(look))]
    equal, asked = sum(sum(each.values()) for each in looks), sum(map(len, looks))
    return CollectorValue(equal / asked, len(looks), {"equal": equal, "questions": asked}) if asked else None


def disagreement_run(seen: TaskerHistory, window: int, policy: Policy) -> CollectorValue | None:
    """Return how many of the latest answers in a row name another class than the other members do, all of one mind."""
    looks = [look for look in _with_others(seen, window) if _of_one_mind(look.others)]
    run = sum(1 for _ in takewhile(_differs, reversed(looks)))
    return CollectorValue(run, len(looks)) if looks else None


def _of_one_mind(others: Sequence[Form]) -> bool:
    return len(others) > 1 and len({form[:_CLASS_QUESTIONS] for form in others}) == 1


def _differs(look: JudgedAnswer) -> bool:
    return look.form[:_CLASS_QUESTIONS] != look.others[0][:_CLASS_QUESTIONS]


def odd_share(seen: TaskerHistory, window: int, policy: Policy) -> CollectorValue | None:
    """Return how often the tasker is the one who differs, of the panels where exactly one tasker differs.

    On hard pictures anybody may differ; among equals each does equally often, one in three on a panel of three.
    """
    odd = [look for look in seen.looks if look.others and _one_is_odd(look)][-window:]
    mine = sum(look.form not in look.others for look in odd)
    return CollectorValue(mine / len(odd), len(odd), {"odd": mine}) if odd else None


def _one_is_odd(look: JudgedAnswer) -> bool:
    forms = Counter((look.form, *look.others))
    return len(look.others) > 1 and sorted(forms.values()) == [1, len(look.others)]


def outline_iou(seen: TaskerHistory, window: int, policy: Policy) -> CollectorValue | None:
    """Return the mean overlap, in percent, with the outlines of the other members."""
    found = [look.iou_percent for look in seen.looks if look.iou_percent is not None][-window:]
    average = mean(found)
    return None if average is None else CollectorValue(average, len(found), {"least": round(min(found), 2)})


def fast_share(seen: TaskerHistory, window: int, policy: Policy) -> CollectorValue | None:
    """Return the share of answers given too fast to have looked."""
    looks = seen.looks[-window:]
    fast = sum(look.milliseconds < FAST_MILLISECONDS for look in looks)
    return CollectorValue(fast / len(looks), len(looks), {"fast": fast}) if looks else None


def even_rhythm(seen: TaskerHistory, window: int, policy: Policy) -> CollectorValue | None:
    """Return how much the time per answer varies, in multiples of its mean: people vary, programs hardly."""
    times = [look.milliseconds for look in seen.looks[-window:]]
    varies = coefficient_of_variation(times)
    if varies is None:
        return None
    return CollectorValue(varies, len(times), {"mean_seconds": round(sum(times) / len(times) / 1000, 2)})


def same_answer_share(seen: TaskerHistory, window: int, policy: Policy) -> CollectorValue | None:
    """Return the share of the most common form among the answers."""
    forms = [look.form for look in seen.looks[-window:]]
    if not forms:
        return None
    form, count = Counter(forms).most_common(1)[0]
    return CollectorValue(count / len(forms), len(forms), {"form": _words(form)})


def same_answer_excess(seen: TaskerHistory, window: int, policy: Policy) -> CollectorValue | None:
    """Return how much more often the most common form is given than the other members give it on the same pictures.

    A week of clear birds makes everybody repeat one answer; this looks at who repeats it where others do not.
    """
    looks = _with_others(seen, window)
    if not looks:
        return None
    form, count = Counter(look.form for look in looks).most_common(1)[0]
    theirs = [other == form for look in looks for other in look.others]
    mine, usual = count / len(looks), sum(theirs) / len(theirs)
    return CollectorValue(
        mine - usual, len(looks), {"form": _words(form), "share": round(mine, 4), "of_others": round(usual, 4)}
    )


def _words(form: Form) -> str:
    said = (value if isinstance(value, str) else {True: "yes", False: "no", None: "-"}[value] for value in form)
    return " ".join(said)


def skip_share(seen: TaskerHistory, window: int, policy: Policy) -> CollectorValue | None:
    """Return the share of pictures given back unanswered."""
    given = seen.handovers[-window:]
    skipped = sum(not each.answered for each in given)
    return CollectorValue(skipped / len(given), len(given), {"given_back": skipped}) if given else None


class CollectorSource(StrEnum):
    """What a collector reads, and what its window and minimum count."""

    ANSWERS = "answers"
    PANELS = "answers on full panels"
    GOLD = "gold answers"
    GIVEN = "pictures given"


@dataclass(frozen=True, slots=True)
class CollectorKind:
    """A collector with its description."""

    read: Collector
    words: str
    source: CollectorSource


COLLECTORS: dict[str, CollectorKind] = {
    "gold_doubt": CollectorKind(
        gold_doubt,
        "The chance of so few right gold answers at the policy's share, divided by the policy's bound: below 1 is "
        "clearly under. Counts from the policy's smallest number of gold answers on.",
        CollectorSource.GOLD,
    ),
    "gold_share": CollectorKind(gold_share, "The share of gold answers fully right, 0 to 1.", CollectorSource.GOLD),
    "agreement": CollectorKind(
        agreement,
        "The share of questions answered like the majority of the other members, 0 to 1.",
        CollectorSource.PANELS,
    ),
    "disagreement_run": CollectorKind(
        disagreement_run,
        "How many of the latest answers in a row name another class than the other members, who are of one mind.",
        CollectorSource.PANELS,
    ),
    "odd_share": CollectorKind(
        odd_share,
        "Of the panels where exactly one says something else, the share where it is the tasker, 0 to 1.",
        CollectorSource.PANELS,
    ),
    "outline_iou": CollectorKind(
        outline_iou,
        "The mean overlap with the outlines of the other members, 0 to 100.",
        CollectorSource.PANELS,
    ),
    "fast_share": CollectorKind(
        fast_share,
        f"The share of answers given in less than {FAST_MILLISECONDS / 1000:g} seconds, 0 to 1.",
        CollectorSource.ANSWERS,
    ),
    "even_rhythm": CollectorKind(
        even_rhythm,
        "The variation of the time per answer, in multiples of its mean: near 0 is a machine.",
        CollectorSource.ANSWERS,
    ),
    "same_answer_share": CollectorKind(
        same_answer_share, "The share of the most common answer, 0 to 1.", CollectorSource.ANSWERS
    ),
    "same_answer_excess": CollectorKind(
        same_answer_excess,
        "The share of the most common answer, less its share among the other members on the same pictures.",
        CollectorSource.PANELS,
    ),
    "skip_share": CollectorKind(
        skip_share, "The share of pictures given back unanswered, 0 to 1.", CollectorSource.GIVEN
    ),
}
