"""Which parts of the form are required. Pure (R9-R12)."""

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
