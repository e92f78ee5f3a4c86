"""The name of this machine, and its free memory."""

import platform
from functools import cache
from pathlib import Path


def free_memory_mib() -> int | None:
    """Return how much memory programs can still have without swapping; None where the system does not tell."""
    meminfo = Path("/proc/meminfo")
    lines = meminfo.read_text().splitlines() if meminfo.exists() else []
    told = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(told[0]) >> 10 if told else None


@cache
def processor_name() -> str:
    """Return the processor's model name, or its architecture where the system tells no more."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()
