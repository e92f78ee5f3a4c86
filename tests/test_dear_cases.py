"""A case that takes much CPU time each time it is run fails; one that did once, or shares what is dear, passes."""

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


DEAR = {"test_dear", "test_with_a_dear_fixture"}


@pytest.mark.parametrize(
    ("known_work_seconds", "fail"),
    [
        pytest.param(1000.0, DEAR, id="on a machine as quick as the one that the limit was chosen on"),
        pytest.param(0.001, set(), id="on one that is a hundred times slower"),
    ],
)
def test_which_cases_fail(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, known_work_seconds: float, fail: set[str]
) -> None:
    monkeypatch.setattr(dear_cases, "LIMIT_SECONDS", 0.04)
    monkeypatch.setattr(dear_cases, "KNOWN_WORK_SECONDS", known_work_seconds)
    pytester.makepyfile(CASES)
    pytester.makeini("[pytest]\nmarkers = slow(reason): x")
    ran: Any = pytester.inline_run("-p", "no:django", "-p", "no:cacheprovider", plugins=[dear_cases])
    words = {report.nodeid.partition("::")[2]: str(report.longrepr) for report in ran.listoutcomes()[2]}
    assert set(words) == fail | {"test_failing"}
    assert all("of CPU time" in words[name] for name in fail) and "assert False" in words["test_failing"]
