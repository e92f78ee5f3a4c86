"""Resource and time limits of a defense (R28, R30, R31).

The numbers of a contest that changed none of its policy; a test holds them equal.
"""

from dataclasses import dataclass

IMAGE_SIZE = 299  # pixels along one side
BATCH_SIZE = 16  # rows of one fixed, padded batch
SECONDS_PER_PICTURE = 60  # a batch has its rows' share
START_SECONDS = 300  # until a defense connects
HELLO_SECONDS = 30  # from there until its HELLO


@dataclass(frozen=True, slots=True)
class DefenseLimits:
    """Bounds that every launcher puts around a defense; the defaults are those of a contest that changed nothing."""

    memory_mib: int = 8192  # swap included
    cpus: int = 2
    processes: int = 256  # processes and threads
    scratch_mib: int = 1024  # everything it writes, all files together
    files: int = 1024  # open at a time, for each process
    log_kib: int = 64  # the end of what it prints is kept
