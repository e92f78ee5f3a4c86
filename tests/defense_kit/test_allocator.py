"""Memory of the size of a picture, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from defense_kit.limits import library_settings

_PICTURES = """
import resource
import threading

import numpy as np

from defense_kit.allocator import keep_memory

{first}


def pictures(count):
    for _ in range(count):
        several = [np.ones((224, 224, 3), np.float32) for _ in range(4)]
        del several


def in_thread(count):
    thread = threading.Thread(target=pictures, args=(count,))
    thread.start()
    thread.join()


in_thread(10)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
in_thread(100)
faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
flags = [line.split() for line in open("/proc/self/smaps") if line.startswith("VmFlags:")]
print(faults, sum("hg" in each for each in flags))
"""
_PAGES = 4 * 100 * 224 * 224 * 3 * 4 // 4096
_LARGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.mark.slow("a process with NumPy for each way")
def test_memory_that_is_kept_is_not_paid_for_again_and_lies_in_large_pages() -> None:
    settings = library_settings(1)
    one_thread = {"PATH": "/usr/bin", "OPENBLAS_NUM_THREADS": settings["OPENBLAS_NUM_THREADS"]}
    ways = {"nothing": ("", {}), "keep_memory": ("keep_memory()", {}), "a defense": ("", settings)}
    faults, advised = dict[str, int](), dict[str, int]()
    for way, (first, added) in ways.items():
        command = [sys.executable, "-c", _PICTURES.format(first=first)]
        ran = subprocess.run(command, env=one_thread | added, capture_output=True, text=True, check=True)
        faults[way], advised[way] = map(int, ran.stdout.split())
    assert faults["nothing"] > _PAGES / 2, "else there is nothing to keep"
    assert max(faults["keep_memory"], faults["a defense"]) < _PAGES / 20
    mode = _LARGE_PAGES.read_text() if _LARGE_PAGES.exists() else ""
    assert advised["nothing"] == 0
    assert (advised["keep_memory"] > 0) == bool(mode)
    assert (advised["a defense"] > 0) == ("[madvise]" in mode), "in other modes the C library leaves it to the system"
