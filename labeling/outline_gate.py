"""Decides from the answers to questions 1 and 2 whether questions 3 and 4 apply, and to which class (R9-R12). Pure."""

from labeling.enums import Answer, Label
from policy.enums import OutlineGate

_GUESSED = {
    OutlineGate.BEST_GUESS_YES: frozenset({Answer.DEFINITELY_YES, Answer.UNSURE_YES}),
    OutlineGate.NOT_EXCLUDED: frozenset({Answer.DEFINITELY_YES, Answer.UNSURE_YES, Answer.UNSURE_NO}),
}


def class_to_outline(bird: Answer, bicycle: Answer, gate: OutlineGate) -> Label | None:
    """Return the class questions 3 and 4 are asked about, or None when they are not asked (R10)."""
    if bicycle is Answer.DEFINITELY_NO and bird in _GUESSED[gate]:
        return Label.BIRD
    if bird is Answer.DEFINITELY_NO and bicycle in _GUESSED[gate]:
        return Label.BICYCLE
    return None
