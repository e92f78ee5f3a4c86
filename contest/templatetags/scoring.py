"""Template filters of scoring pages."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django import template

from adjudication.wording import reasons_words
from common.times import distance
from contest.core import scoring_words
from contest.defenses.eligibility import CONDITIONS
from defense_kit.examine import ROUNDS
from defense_kit.warmup import ATTACK_NAMES, EXPLANATIONS, warning_code
from scoring.enums import DefenseAnswer, EligibilityCondition, Likeness
from scoring.models import CopyFlag, Defense
from scoring.trusted_programs import needs_engine

register = template.Library()


@register.filter
def outcome(answer: int | None) -> str:
    """Return an answer of a defense in words."""
    return "no answer" if answer is None else DefenseAnswer(answer).name.lower()


@register.filter
def reasons(names: Iterable[str]) -> str:
    """Return the reasons of a rejection in words (R15)."""
    return reasons_words(names)


@register.simple_tag
def why_stuck(defense: Defense, now: datetime) -> str:
    """Return why a defense's queued work cannot run now; empty where it can."""
    return scoring_words.why_stuck(defense, now=now)


@register.filter
def condition(name: EligibilityCondition) -> str:
    """Return a condition of eligibility in words (R31)."""
    return CONDITIONS[name]


@register.filter
def exact_percent(share: float) -> str:
    """Return a share with two decimals, for example `24.99 %`."""
    return f"{100 * share:.2f} %"


@register.filter
def attack_words(name: str) -> str:
    """Return a fixed attack of the warm-up in words (R40)."""
    return ATTACK_NAMES.get(name, name)


@register.filter
def significant(number: float) -> str:
    """Return a measured number with three significant digits."""
    return f"{number:.3g}"


@register.filter
def likeness_words(flag: CopyFlag) -> str:
    """Return the figures of a copy flag in words (R31)."""
    figures = flag.figures
    if flag.likeness == Likeness.WEIGHTS:
        return f"The files of weights are the same: SHA-256 {figures['weights'][:16]}…"
    if flag.likeness == Likeness.LAYERS:
        return f"{figures['shared']:,} of the other image's {figures['of_theirs']:,} layers are in this one"
    return f"{figures['same']:,} of {figures['pictures']:,} answers are the same"


@register.filter
def is_known_program(defense: Defense) -> bool:
    """Say whether a defense is a program of the demo, which runs without a container."""
    return bool(defense.image) and not needs_engine(defense)


@register.filter
def binary_size(size: int) -> str:
    """Return a limit of bytes as it was set, for example `16 GiB` or `256 MiB`."""
    return f"{size >> 30:,} GiB" if size % (1 << 30) == 0 else f"{size >> 20:,} MiB"


@register.filter
def per_second(rate: float) -> str:
    """Return a rate with as many digits as it deserves."""
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.1f}"


@register.filter
def span(seconds: float | None) -> str:
    """Return seconds in their largest sensible unit; `not known` without any."""
    if seconds is None:
        return "not known"
    return "less than 1 s" if seconds < 1 else distance(timedelta(seconds=seconds))


@register.filter
def in_words(numbers: Mapping[str, Any], without: str = "") -> str:
    """Return the totals of a trial as one line of words, without empty totals, totals with parts of their own, and
    `without`, which the page has elsewhere."""
    # With one round there is no other one to compare its answers to.
    alone = {"changed"} if not numbers.get("changed") and numbers.get("rounds", ROUNDS) < ROUNDS else set()
    left_out = {without} | alone
    shown = ((name, value) for name, value in numbers.items() if name not in left_out and _is_plain(value))
    return ", ".join(words for name, value in shown if (words := _figure_in_words(name, value)))


def _is_plain(value: Any) -> bool:
    return not isinstance(value, (dict, list)) and value != ""


def _figure_in_words(name: str, value: Any) -> str:
    if name in _SAID:
        return _SAID[name](value)
    words = name.replace("_", " ")
    if isinstance(value, bool):
        return words if value else f"not {words}"
    return f"{value:,} {words}" if isinstance(value, int) else f"{words} {value}"


def _with_count(one: str, many: str) -> Callable[[int], str]:
    return lambda number: f"{number:,} {one if number == 1 else many}"


_SAID: dict[str, Callable[[Any], str]] = {
    "accepted": lambda accepted: "accepted" if accepted else "not accepted",
    "pictures": _with_count("picture", "pictures"),
    "rounds": lambda number: _with_count("round", "rounds")(number) if number else "no round finished",
    "changed": lambda number: (
        f"{number:,} answered differently in another round" if number else "the same in each round"
    ),
    "faults": _with_count("fault", "faults"),
    "rows": _with_count("answer timed", "answers timed"),
    "milliseconds": lambda number: f"in {number / 1000:,.1f} s" if number >= 100 else "in less than 0.1 s",
    "pictures_per_minute": lambda number: f"{number:,} pictures a minute",
    "device": lambda device: f"on {device}",
    "shown": lambda shown: "differences for the board to look at" if shown else "no difference to look at",
}


@register.filter
def warning_words(warning: str) -> str:
    """Return a warning of the warm-up as sentences, with what it means."""
    code = warning_code(warning)
    words = code.replace("_", " ").capitalize() + warning.removeprefix(code)
    return f"{words}. {EXPLANATIONS.get(code, '')}".rstrip()
