"""When a defense is wrong with confidence, and who answers for a fault, pure (R29, R30)."""

from datetime import timedelta

from adjudication import rules as adjudication
from labeling.enums import Label
from scoring.enums import Fault, Outcome

_NAMED: dict[int, Label] = {Outcome.BICYCLE: Label.BICYCLE, Outcome.BIRD: Label.BIRD}
MOST_ATTEMPTS = 3
# What goes wrong around a defense and not in it: worth another try on the same or another machine.
PLATFORM_FAULTS = frozenset({Fault.IMAGE_PULL, Fault.DISK, Fault.CANCELLED, Fault.PLATFORM})
# The others are the defense's own and final: no answer is to be expected any more.
DEFENSE_FAULTS = frozenset(Fault) - PLATFORM_FAULTS


def is_confident_mistake(label: Label, answer: int) -> bool:
    """Say whether an Outcome is the other class than the ruling's (R29)."""
    return adjudication.is_confident_mistake(label, _NAMED.get(answer))


def is_retried(fault: Fault, attempt: int) -> bool:
    """Say whether a run that met `fault` on its `attempt`-th try (from 1) is tried again (R30)."""
    return fault in PLATFORM_FAULTS and attempt < MOST_ATTEMPTS


def wait_before_retry(attempt: int) -> timedelta:
    """Return how long a run rests after its `attempt`-th try failed: 30 s, 2 min, 8 min and so on, at most 1 h."""
    return timedelta(seconds=min(30 * 4 ** (attempt - 1), 3600))
