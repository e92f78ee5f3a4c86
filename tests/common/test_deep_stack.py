"""Calls find their frames in one piece of memory, however deep they are."""

from concurrent.futures import ThreadPoolExecutor
from resource import RUSAGE_THREAD, getrusage

from common.deep_stack import with_deep_stack


def faults(depth: int) -> int:
    """Return how many page faults a thousand calls from this depth take."""
    if depth:
        return faults(depth - 1)
    before = getrusage(RUSAGE_THREAD).ru_minflt
    for _ in range(1000):
        sorted([0], key=lambda each: each)
    return getrusage(RUSAGE_THREAD).ru_minflt - before


def test_no_depth_asks_for_memory_at_each_call() -> None:
    with ThreadPoolExecutor(1) as thread:  # whose frames nobody has made room for
        worst = max(thread.map(with_deep_stack(faults), range(300)))
    assert worst < 100
