"""Reads the name of this machine's processor."""

import platform
from functools import cache
from pathlib import Path


@cache
def processor_name() -> str:
    """Return the processor's model name, or its architecture where the system tells no more."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
