"""What counts as a confident mistake, and who is responsible for a fault (R29, R30). Pure."""

from datetime import timedelta

from adjudication import rules as adjudication
from defense_kit.faults import WORDS, Payer
from labeling.enums import Label
from scoring.enums import DefenseAnswer, Fault

_NAMED: dict[int, Label] = {DefenseAnswer.BICYCLE: Label.BICYCLE, DefenseAnswer.BIRD: Label.BIRD}
MAX_TRIES = 3
# After this many runs in a row with a fault of its own, including runs split off, a defense fails on any picture.
FAILS_ALWAYS = 24
# Faults around a defense, not in it: worth another try on the same or another machine.
PLATFORM_FAULTS = frozenset(fault for fault in Fault if WORDS[fault].payer is Payer.PLATFORM)
# The others are the defense's own and final: no answer will come.
DEFENSE_FAULTS = frozenset(Fault) - PLATFORM_FAULTS


def is_mistaken_outcome(label: Label, answer: int) -> bool:
    """Say whether a DefenseAnswer is the other class than the ruling's (R29)."""
    return adjudication.is_confident_mistake(label, _NAMED.get(answer))


def is_retried(fault: Fault, tries: int) -> bool:
    """Say whether work that met `fault` on its `tries`-th try (from 1) is tried again (R30)."""
    return fault in PLATFORM_FAULTS and tries < MAX_TRIES


def is_own_kill(kills: int) -> bool:
    """Say whether a run whose program was killed on `kills` tries, the last one included, met the defense's own fault.

    One kill may come from the machine, as when an engine restarts; one on three tries comes from the program (R30).
    """
    return kills >= MAX_TRIES


def wait_before_retry(tries: int) -> timedelta:
    """Return how long work rests after its `tries`-th try failed: 30 s, 2 min, 8 min and so on, at most 1 h."""
    return timedelta(seconds=min(30 * 4 ** (tries - 1), 3600))


def is_parted(pictures: int, fault: Fault, *, worked: bool, failures: int) -> bool:
    """Say whether the pictures of a failed batch get a run apart, so that one of them cannot take the others along.

    `pictures` is how many the run has; `worked`, whether the defense ever answered anything; `failures`, how many runs
    in a row met a fault of its own. Both matter only after a fault of the defense.
    """
    return pictures > 1 and (fault in PLATFORM_FAULTS or (worked and failures < FAILS_ALWAYS))
