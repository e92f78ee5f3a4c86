"""Enumerations stored in the database by labeling: answers, states, causes, kinds."""

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
    """OPEN: places are free; HELD: a report waits for an organizer, and no new tasker gets the picture; FULL: every
    place has a response, and there is no ruling yet; SETTLED: a ruling counted it."""

    OPEN = "open"
    HELD = "held"
    FULL = "full"
    SETTLED = "settled"


# The origins of pictures that are published. Gold and examples stay out: they cannot measure a tasker who can look
# them up (R5, R6).
RELEASED_ORIGINS = (Origin.ATTACK, Origin.DATASET)


class StuckCause(StrEnum):
    """Why no remaining tasker may finish a panel (R7, R8); undoing the cause would be enough.

    LINKED: accounts that count as one person. REQUALIFYING: taskers who have to qualify again. PAUSED: taskers who are
    paused. SEEN: everybody who may label has had the picture. TOO_FEW: fewer people may label than a panel has places.
    AWAY: the taskers who may get the picture have not been active for days.
    """

    LINKED = "linked"
    REQUALIFYING = "requalifying"
    PAUSED = "paused"
    SEEN = "seen"
    TOO_FEW = "too_few"
    AWAY = "away"


class AssignmentState(StrEnum):
    """LEASED is the only state that holds a place. ANSWERED is final; EXPIRED and RELEASED may be leased again (R8).

    NEXT_ASSIGNMENT_STATE has every step.
    """

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


class KnownUse(StrEnum):
    """What a picture with a known answer is for (R5, R6)."""

    TUTORIAL = "tutorial"
    QUALIFICATION = "qualification"
    GOLD = "gold"


class Topic(StrEnum):
    """What a picture with a known answer teaches, or tests."""

    CLEAR = "clear"
    UNCERTAIN = "uncertain"
    BOTH_CLASSES = "both_classes"
    NEITHER_CLASS = "neither_class"
    SEVERAL = "several"
    TOO_SMALL = "too_small"
    TRUNCATED = "truncated"
    OCCLUDED = "occluded"
    PAINTING = "painting"
    TOY = "toy"


class AttemptKind(StrEnum):
    """FULL: the qualification; SHORT: after new instructions, or when monitoring asks for it (R5, R6)."""

    FULL = "full"
    SHORT = "short"


class MonitoringAction(StrEnum):
    """What a rule of monitoring does when it fires (R6)."""

    WARN = "warn"
    PAUSE = "pause"
    REQUALIFY = "requalify"


class LinkKind(StrEnum):
    """How two taskers came to be linked."""

    SUSPECTED = "suspected"
    DECLARED = "declared"


class ReportKind(StrEnum):
    """What is wrong with a picture."""

    DOES_NOT_LOAD = "does_not_load"
    OFFENSIVE = "offensive"
    UNCLEAR = "unclear"
    OTHER = "other"


class ReportDecision(StrEnum):
    """REOPENED: the picture goes back to the taskers; KEPT_OUT: no tasker gets it from now on."""

    REOPENED = "reopened"
    KEPT_OUT = "kept_out"


# state -> the states that may follow it; defined only here (R8).
NEXT_ASSIGNMENT_STATE: dict[AssignmentState, frozenset[AssignmentState]] = {
    AssignmentState.LEASED: frozenset({AssignmentState.ANSWERED, AssignmentState.RELEASED, AssignmentState.EXPIRED}),
    AssignmentState.EXPIRED: frozenset({AssignmentState.LEASED, AssignmentState.ANSWERED}),
    AssignmentState.RELEASED: frozenset({AssignmentState.LEASED, AssignmentState.ANSWERED}),
    AssignmentState.ANSWERED: frozenset(),
}
