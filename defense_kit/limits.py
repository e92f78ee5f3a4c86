"""Resource and time limits of a defense (R28, R30, R31).

The numbers of a contest that changed none of its policy; a test holds them equal.
"""

from dataclasses import dataclass

from defense_kit.allocator import KEPT_BYTES

IMAGE_SIZE = 299  # pixels along one side
BATCH_SIZE = 16  # rows of one fixed, padded batch
SECONDS_PER_PICTURE = 60  # a batch has its rows' share
START_SECONDS = 300  # until a defense connects
HELLO_SECONDS = 30  # from there until its HELLO
# A thread of GNU's OpenMP that waits for others gives its processor up soon, as where there are more threads than
# processors: the scorer needs some of their time. Measured beside other programs, a network took three times as long
# with the usual number.
SHORT_WAIT = {"GOMP_SPINCOUNT": "1000"}
# A program whose C library is GNU's gives memory of the size of a batch back at once, and every batch pays for each
# page again: measured, a small network took three times as long.
KEPT_MEMORY = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), str(KEPT_BYTES))
# In pages of 2 MiB instead of 4 KiB, the processor looks up fewer addresses: docs/decisions/0050.
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class DefenseLimits:
    """Bounds that every launcher puts around a defense; the defaults are those of a contest that changed nothing."""

    memory_mib: int = 8192  # swap included
    cpus: int = 2
    processes: int = 256  # processes and threads
    scratch_mib: int = 1024  # everything it writes, all files together
    files: int = 1024  # open at a time, for each process
    log_kib: int = 64  # the end of what it prints is kept


def library_settings(cpus: int) -> dict[str, str]:
    """Return environment variables that limit libraries to `cpus` threads and keep freed memory, in large pages, for
    the next batch.

    A library that counts the machine's processors would start more threads than a defense has processor time for.
    """
    return {**dict.fromkeys(_THREADS, str(cpus)), **KEPT_MEMORY, **LARGE_PAGES, **SHORT_WAIT}
