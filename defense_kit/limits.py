"""What a defense may use of the machine (R28)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds that every launcher puts around a defense; the defaults are those of a contest that changed nothing."""

    memory_mib: int = 8192  # swap included
    cpus: int = 2
    processes: int = 256  # processes and threads
    scratch_mib: int = 1024  # everything it writes, all files together
    files: int = 1024  # open at a time, for each process
    log_kib: int = 64  # the end of what it prints is kept
