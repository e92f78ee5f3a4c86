"""Gives tests the container engine, and says at the end of a run what was not shown for want of one."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine import EngineUnavailable, engine

NO_ENGINE = "no container engine"


@pytest.fixture(scope="session")
def engine_or_reason() -> Iterator[tuple[str, str]]:
    """The address of an engine, or why there is none."""
    try:
        with engine() as address:
            yield address, ""
    except EngineUnavailable as error:
        yield "", str(error)


@pytest.fixture(scope="session")
def engine_address(engine_or_reason: tuple[str, str]) -> str:
    """The address of an engine; the test is skipped where none can run."""
    address, reason = engine_or_reason
    if not address:
        pytest.skip(f"{NO_ENGINE}: {reason}")
    return address


@pytest.fixture(scope="session")
def containers(engine_address: str) -> Iterator[Any]:
    """A client of the engine, checked as a scorer checks it."""
    from defense_kit.container import connect

    client = connect(engine_address)
    yield client
    client.close()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say that containers were not shown, and why, however quiet the run is."""
    reports = [report for kind in ("passed", "skipped") for report in terminalreporter.getreports(kind)]
    skipped = [report.longrepr[2] for report in reports if report.skipped and NO_ENGINE in report.longrepr[2]]
    instead = [value for report in reports for name, value in report.user_properties if name == NO_ENGINE]
    if skipped or instead:
        terminalreporter.section("containers")
        for reason in sorted({reason.removeprefix("Skipped: ") for reason in (*skipped, *instead)}):
            terminalreporter.line(reason)
        terminalreporter.line(
            f"{len(skipped)} tests of sealed containers were left out, and {len(instead)} hostile defenses ran as "
            "plain processes, which are bounded and not sealed."
        )
