"""A case may take a second of its process's CPU time. One that takes more, and again when run twice more, fails.

What a module or class makes once is not counted, nor what other processes do. On a slow or busy machine the second is
longer: a piece of work of known length is timed where a case seems to take too much. Modules that need more say why in
`pytestmark = pytest.mark.slow("reason")`.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

LIMIT_SECONDS = 1.0
# `_known_work` takes 0.12 s on a quiet core of the machine that the limit was chosen on. Cases suffer more from a busy
# neighbour than it does.
KNOWN_WORK_SECONDS = 0.09
RUNS = 3
EXCUSES = ("slow", "long")


class _Meter:
    """CPU seconds of the case that is running, from its set-up to its last line."""

    def __init__(self) -> None:
        self._start, self._shared, self._depth, self.seconds = 0.0, 0.0, 0, 0.0

    def begin(self) -> None:
        self._start, self._shared, self.seconds = time.process_time(), 0.0, 0.0

    def end(self) -> None:
        self.seconds = time.process_time() - self._start - self._shared

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Do not count what is inside: it is for more than one case."""
        start = time.process_time()
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._shared += time.process_time() - start


_meter = _Meter()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
    """Leave out what more than one case uses."""
    with nullcontext() if fixturedef.scope == "function" else _meter.shared():
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown() -> None:
    """Stop counting."""
    _meter.end()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a case; again where it was dear."""
    if any(item.get_closest_marker(name) for name in EXCUSES):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports, seconds = _run(item, nextitem)
    took, limit = [seconds], LIMIT_SECONDS
    while min(took) > limit and len(took) < RUNS and all(report.passed for report in reports):
        limit = max(limit, LIMIT_SECONDS * _slowness())
        item._initrequest()  # type: ignore[attr-defined]
        reports, seconds = _run(item, nextitem)
        took.append(seconds)
    if min(took) > limit and len(took) == RUNS:
        times = ", ".join(f"{each:.1f}" for each in took)
        _fail(reports, f"takes {times} s of CPU time; docs/testing.md says what helps")
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _slowness() -> float:
    """Return how many times longer work takes just now than where the limit was chosen; at least 1."""
    start = time.process_time()
    _known_work()
    return max(1.0, (time.process_time() - start) / KNOWN_WORK_SECONDS)


def _known_work() -> None:
    """Make and take apart about as many small objects as a request does."""
    for size in range(900):
        rows = [{"number": number, "words": f"{number} of {size}"} for number in range(size)]
        sorted(rows, key=lambda row: row["words"])


def _run(item: pytest.Item, nextitem: pytest.Item | None) -> tuple[list[pytest.TestReport], float]:
    _meter.begin()
    return runtestprotocol(item, log=False, nextitem=nextitem), _meter.seconds


def _fail(reports: list[pytest.TestReport], why: str) -> None:
    for report in reports:
        if report.when == "call" and report.passed:
            report.outcome, report.longrepr = "failed", why
