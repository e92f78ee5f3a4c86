"""The words of scoring."""

from enum import IntEnum, StrEnum


class RunState(StrEnum):
    """QUEUED waits; RUNNING holds a lease; FINISHED has predictions; ASSESSED was searched for breaks; DEAD gave up."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    ASSESSED = "assessed"
    DEAD = "dead"


NEXT_RUN_STATE: dict[RunState, frozenset[RunState]] = {
    RunState.QUEUED: frozenset({RunState.RUNNING}),
    RunState.RUNNING: frozenset({RunState.QUEUED, RunState.FINISHED, RunState.DEAD}),
    RunState.FINISHED: frozenset({RunState.ASSESSED}),
    RunState.ASSESSED: frozenset(),
    RunState.DEAD: frozenset({RunState.QUEUED}),
}


class Outcome(IntEnum):
    """What a defense answers for one picture, as it travels in arrays and frames (contracts, section 3)."""

    ABSTAIN = -1
    BICYCLE = 0
    BIRD = 1


class Fault(StrEnum):
    """The closed list of faults (R30); a fault is never a wrong answer."""

    IMAGE_PULL = "image_pull"
    START_TIMEOUT = "start_timeout"
    HELLO_TIMEOUT = "hello_timeout"
    BATCH_TIMEOUT = "batch_timeout"
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out_of_memory"
    GPU_OUT_OF_MEMORY = "gpu_out_of_memory"
    PROTOCOL = "protocol"
    NONFINITE = "nonfinite"
    DISK = "disk"
    CANCELLED = "cancelled"
    PLATFORM = "platform"
