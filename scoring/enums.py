"""Enums of scoring: states of runs, answers of a defense, kinds of trials, conditions of eligibility."""

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
    """A defense's answer for one picture, as in arrays and frames (docs/defenses.md)."""

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
    """The kinds of trials before publication (R31), in this order.

    SMOKE shows full logs over public pictures; PRIVATE is the eligibility set; EARLIER are the valid attacks so far;
    PROBE tests whether the defense memorised published pictures.
    """

    SMOKE = "smoke"
    PRIVATE = "private"
    EARLIER = "earlier"
    PROBE = "probe"


class Likeness(StrEnum):
    """The feature by which a defense looks like a copy of another."""

    LAYERS = "layers"
    WEIGHTS = "weights"
    OUTPUTS = "outputs"


class Variant(IntEnum):
    """How a picture was shown: unchanged, or with an invisible alteration (the memorisation probe)."""

    PLAIN = 0
    NOISE = 1
    SHIFT = 2


class EligibilityCondition(StrEnum):
    """The conditions that a defense must meet before publication (R31), in the order in which they are checked."""

    CONTAINER = "container"
    PRIVATE = "private"
    EARLIER = "earlier"
    SPEED = "speed"
    FRAMEWORK = "framework"


class ConditionStatus(StrEnum):
    """The status of a condition for a defense. PENDING: under way; NOT_YET: not begun, or to be begun again."""

    PASSED = "passed"
    FAILED = "failed"
    PENDING = "pending"
    NOT_YET = "not_yet"
