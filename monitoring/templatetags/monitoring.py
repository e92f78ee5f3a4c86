"""Template filters of monitoring pages."""

from collections.abc import Mapping
from typing import Any

from django import template

from labeling.enums import Answer
from labeling.models import Response
from monitoring.rules import COLLECTORS, COMPARISONS, Form

register = template.Library()
_NOTHING = "–"
_QUESTIONS = {"contains_bird": "Bird", "contains_bicycle": "Bicycle"}
_STATEMENTS = ("complete", "unoccluded", "real")


@register.filter
def decimals(value: float | None, digits: int) -> str:
    """Return a number with that many digits after the point; a dash for none."""
    return f"{value:,.{digits}f}" if isinstance(value, (int, float)) else _NOTHING


@register.filter
def plain_number(value: float) -> str:
    """Return a number with as few digits as it needs."""
    return f"{value:g}"


@register.filter
def whole_percent(share: float | None) -> str:
    """Return a share in whole percent; a dash for none."""
    return _NOTHING if share is None else f"{100 * share:.0f} %"


@register.filter
def interval(bounds: tuple[float, float] | None) -> str:
    """Return the bounds of a share in whole percent, for example `72 to 96 %`."""
    return _NOTHING if bounds is None else f"{100 * bounds[0]:.0f} to {100 * bounds[1]:.0f} %"


@register.filter
def words(name: str) -> str:
    """Return a code of ours in words: `too_small` is `too small`."""
    return name.replace("_", " ")


@register.filter
def question_name(question: str) -> str:
    """Return the short name of a question of the form."""
    return _QUESTIONS.get(question, question.capitalize())


@register.filter
def answer_name(answer: str) -> str:
    """Return an answer to question 1 or 2 in words."""
    return words(answer)


@register.filter
def answer_shares(said: Mapping[str, int]) -> str:
    """Return how often each of the four answers was given, in whole percent."""
    total = sum(said.values())
    return ", ".join(f"{words(answer)} {whole_percent(said[answer] / total)}" for answer in Answer if said.get(answer))


@register.filter
def statements(response: Response) -> str:
    """Return the statements of question 4 as they were answered."""
    return _statements(response.complete, response.unoccluded, response.real)


@register.filter
def form_statements(form: Form) -> str:
    """Return the statements of question 4 of a form."""
    return _statements(*form[2:])


def _statements(*facts: bool | None) -> str:
    said = zip(_STATEMENTS, facts, strict=True)
    return ", ".join(name if fact else f"not {name}" for name, fact in said if fact is not None)


@register.filter
def figures_in_words(figures: Mapping[str, Any]) -> str:
    """Return recorded figures, name by name."""
    return " · ".join(f"{words(name)} {value}" for name, value in figures.items())


@register.filter
def comparison_name(comparison: str) -> str:
    """Return a comparison in words: `<` is `below`."""
    return COMPARISONS[comparison].words


@register.filter
def source(collector: str) -> str:
    """Return what a collector's window counts."""
    return COLLECTORS[collector].source.value


@register.filter
def field(values: Any, name: str) -> Any:
    """Return one field, by a name known only when the page is drawn."""
    return values.get(name) if isinstance(values, Mapping) else getattr(values, name)
