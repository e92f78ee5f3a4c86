"""How the pages of scoring write figures."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django import template

from common.times import distance
from scoring.enums import Outcome
from scoring.trials.enums import Condition

register = template.Library()
_CONDITIONS = {
    Condition.CONTAINER: "Runs in a container and speaks the protocol",
    Condition.PRIVATE: "Enough right on the private set",
    Condition.EARLIER: "No confident mistake on an earlier valid attack",
    Condition.SPEED: "At least one picture a minute",
    Condition.FRAMEWORK: "Readable TensorFlow, PyTorch, Caffe or NumPy",
}


@register.filter
def outcome(answer: int | None) -> str:
    """Return an answer of a defense in words."""
    return "no answer" if answer is None else Outcome(answer).name.lower()


@register.filter
def condition(name: Condition) -> str:
    """Return a condition of eligibility in words (R31)."""
    return _CONDITIONS[name]


@register.filter
def exact_percent(share: float) -> str:
    """Return a share with two decimals, for example `24.99 %`."""
    return f"{100 * share:.2f} %"


@register.filter
def significant(number: float) -> str:
    """Return a measured number with three significant digits."""
    return f"{number:.3g}"


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
    """Return totals by name as one line of words, leaving out what is empty, what has parts of its own and `without`,
    which the page tells elsewhere."""
    return ", ".join(
        f"{name.replace('_', ' ')} {_said(value)}"
        for name, value in numbers.items()
        if not isinstance(value, (dict, list)) and value != "" and name != without
    )


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
