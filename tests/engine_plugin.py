"""Gives tests the container engine, and says at the end of a run what was not shown for want of one."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine import EngineUnavailable, engine

NO_ENGINE = "no container engine"


@pytest.fixture(scope="session")
def engine_address() -> Iterator[str]:
    """The address of an engine; the test is skipped where none can run."""
    try:
        with engine() as address:
            yield address
    except EngineUnavailable as error:
        pytest.skip(f"{NO_ENGINE}: {error}")


@pytest.fixture(scope="session")
def containers(engine_address: str) -> Iterator[Any]:
    from defense_kit.container import connect

    client = connect(engine_address)
    yield client
    client.close()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say that containers were not shown, and why, however quiet the run is."""
    skipped = [each.longrepr[2] for each in terminalreporter.getreports("skipped") if NO_ENGINE in each.longrepr[2]]
    if skipped:
        terminalreporter.section("containers")
        for reason in sorted({reason.removeprefix("Skipped: ") for reason in skipped}):
            terminalreporter.line(reason)
        terminalreporter.line(f"{len(skipped)} tests of sealed containers were left out.")
