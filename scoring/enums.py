"""Stored choices of scoring."""

from enum import IntEnum, StrEnum

from defense_kit.faults import Fault as Fault


class RunState(StrEnum):
    """QUEUED waits; RUNNING holds a lease; FINISHED has predictions; ASSESSED was searched for breaks; DEAD gave up."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    ASSESSED = "assessed"
    DEAD = "dead"


NEXT_RUN_STATE: dict[RunState, frozenset[RunState]] = {
    RunState.QUEUED: frozenset({RunState.RUNNING, RunState.DEAD}),
    RunState.RUNNING: frozenset({RunState.QUEUED, RunState.FINISHED, RunState.DEAD}),
    RunState.FINISHED: frozenset({RunState.ASSESSED}),
    RunState.ASSESSED: frozenset(),
    RunState.DEAD: frozenset({RunState.QUEUED}),
}


class DefenseAnswer(IntEnum):
    """What a defense answers for one picture, as it travels in arrays and frames (docs/defenses.md)."""

    ABSTAIN = -1
    BICYCLE = 0
    BIRD = 1


class RerunState(StrEnum):
    """PREPARING is being planned; RUNNING collects answers; APPLIED replaced the older ones; CANCELLED left them."""

    PREPARING = "preparing"
    RUNNING = "running"
    APPLIED = "applied"
    CANCELLED = "cancelled"


NEXT_RERUN_STATE: dict[RerunState, frozenset[RerunState]] = {
    RerunState.PREPARING: frozenset({RerunState.RUNNING, RerunState.CANCELLED}),
    RerunState.RUNNING: frozenset({RerunState.APPLIED, RerunState.CANCELLED}),
    RerunState.APPLIED: frozenset(),
    RerunState.CANCELLED: frozenset(),
}


class TrialKind(StrEnum):
    """What a defense goes through before publication (R31), in this order.

    SMOKE shows full logs over public pictures; PRIVATE is the eligibility set; EARLIER are the valid attacks so far;
    PROBE asks whether published pictures were learned by heart.
    """

    SMOKE = "smoke"
    PRIVATE = "private"
    EARLIER = "earlier"
    PROBE = "probe"


class Likeness(StrEnum):
    """By what a defense looks like a copy of another."""

    LAYERS = "layers"
    WEIGHTS = "weights"
    OUTPUTS = "outputs"


class Variant(IntEnum):
    """How a picture was shown: as it is, or altered so little that nobody sees it (the memorisation probe)."""

    PLAIN = 0
    NOISE = 1
    SHIFT = 2


class EligibilityCondition(StrEnum):
    """What a defense has to fulfil before it is published (R31), in the order in which it is looked at."""

    CONTAINER = "container"
    PRIVATE = "private"
    EARLIER = "earlier"
    SPEED = "speed"
    FRAMEWORK = "framework"


class ConditionStatus(StrEnum):
    """How a defense stands with a condition. PENDING: under way; NOT_YET: nobody has begun, or it has to be begun
    again."""

    PASSED = "passed"
    FAILED = "failed"
    PENDING = "pending"
    NOT_YET = "not_yet"
