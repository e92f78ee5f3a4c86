"""Memory of the size of a picture, in a process of its own."""

import subprocess
import sys

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
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
_PAGES = 4 * 100 * 224 * 224 * 3 * 4 // 4096


@pytest.mark.slow("a process with NumPy for each way")
def test_memory_that_is_kept_is_not_paid_for_again() -> None:
    faults = {}
    for first in ("", "keep_memory()"):
        command = [sys.executable, "-c", _PICTURES.format(first=first)]
        environment = {"PATH": "/usr/bin", "OPENBLAS_NUM_THREADS": library_settings(1)["OPENBLAS_NUM_THREADS"]}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        faults[first] = int(ran.stdout)
    assert faults[""] > _PAGES / 2, "else there is nothing to keep"
    assert faults["keep_memory()"] < _PAGES / 20
