"""The two released weeks, made once for a module: each test has them, and a copy of what was published."""

from pathlib import Path
from typing import Any

import pytest

from contest.releases import Released
from tests.contest.record import cast


@pytest.fixture(scope="module")
def two_weeks_released(module_world: Path) -> list[Released]:
    """Both weeks, and errata of the first."""
    cast.two_weeks()
    return cast.released(module_world / "releases")


@pytest.fixture
def parts(two_weeks_released: list[Released], settings: Any, db: None) -> list[Released]:
    """The releases of this test: it may change rows and files."""
    return cast.copied(two_weeks_released, settings.RELEASE_DIR)
