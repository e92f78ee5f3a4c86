"""A case that takes much CPU time twice in a row fails; one that did once, or shares what is dear, passes."""

from typing import Any

import pytest

from tests import dear_cases

pytest_plugins = ["pytester"]

CASES = """
import pathlib, time, pytest

def busy(seconds=0.05):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

@pytest.fixture(scope="module")
def shared():
    busy()

@pytest.fixture
def own():
    busy()

def test_quick(): pass
def test_dear(): busy()
def test_with_a_dear_fixture(own): pass
def test_with_a_shared_one(shared): pass
def test_waiting(): time.sleep(0.05)

@pytest.mark.slow("it is about time")
def test_excused(): busy()

def test_dear_once():
    if not (seen := pathlib.Path("seen")).exists():
        seen.touch()
        busy()

def test_failing():
    busy()
    assert False
"""


def test_which_cases_fail(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dear_cases, "LIMIT_SECONDS", 0.04)
    pytester.makepyfile(CASES)
    pytester.makeini("[pytest]\nmarkers = slow(reason): x")
    ran: Any = pytester.inline_run("-p", "no:django", "-p", "no:cacheprovider", plugins=[dear_cases])
    passed, _, failed = ran.listoutcomes()
    words = {report.nodeid.partition("::")[2]: str(report.longrepr) for report in failed}
    assert set(words) == {"test_dear", "test_with_a_dear_fixture", "test_failing"}
    assert "of CPU time" in words["test_dear"] and "assert False" in words["test_failing"]
    assert len(passed) == 5
