"""The words of labeling, each list closed."""

from enum import StrEnum


class Answer(StrEnum):
    """The four answers to questions 1 and 2 (R9)."""

    DEFINITELY_YES = "definitely_yes"
    UNSURE_YES = "unsure_yes"
    UNSURE_NO = "unsure_no"
    DEFINITELY_NO = "definitely_no"


class Label(StrEnum):
    """The two classes of the default task (R1)."""

    BICYCLE = "bicycle"
    BIRD = "bird"


class Origin(StrEnum):
    """Where an image came from (R3); never shown to a tasker."""

    ATTACK = "attack"
    DATASET = "dataset"
    GOLD = "gold"
    EXAMPLE = "example"


class PanelState(StrEnum):
    """OPEN: places are free; FULL: every place is answered and no ruling yet; SETTLED: a ruling counted it."""

    OPEN = "open"
    FULL = "full"
    SETTLED = "settled"


class AssignmentState(StrEnum):
    """LEASED is the only state that holds a place; the other three are ends, save that EXPIRED may resume (R8)."""

    LEASED = "leased"
    ANSWERED = "answered"
    RELEASED = "released"
    EXPIRED = "expired"


class TieBreak(StrEnum):
    """Which of several equally large objects to outline, drawn per assignment (R11)."""

    LEFTMOST = "leftmost"
    RIGHTMOST = "rightmost"


class TaskerState(StrEnum):
    """LEARNING: tutorial not passed (R5); QUALIFIED: gets pictures; PAUSED: suspended with a reason (R6)."""

    LEARNING = "learning"
    QUALIFIED = "qualified"
    PAUSED = "paused"


class OutlineGate(StrEnum):
    """When questions 3 and 4 are asked (R10)."""

    BEST_GUESS_YES = "best_guess_yes"
    NOT_EXCLUDED = "not_excluded"


# state -> states it may go to; the only home of this knowledge (R8).
NEXT_ASSIGNMENT_STATE: dict[AssignmentState, frozenset[AssignmentState]] = {
    AssignmentState.LEASED: frozenset({AssignmentState.ANSWERED, AssignmentState.RELEASED, AssignmentState.EXPIRED}),
    AssignmentState.EXPIRED: frozenset({AssignmentState.LEASED, AssignmentState.ANSWERED}),
    AssignmentState.RELEASED: frozenset({AssignmentState.LEASED, AssignmentState.ANSWERED}),
    AssignmentState.ANSWERED: frozenset(),
}
