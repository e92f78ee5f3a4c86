"""What several modules look at, made once for each of them: two released weeks, and a picture with an open case."""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from contest.releases.services import ReleaseResult
from tests.contest.record import cast, decided
from tests.contest.record.decided import TODAY, Decided


@pytest.fixture(scope="module")
def two_weeks_released(module_world: Path) -> list[ReleaseResult]:
    """Both weeks, and errata of the first."""
    cast.two_weeks()
    return cast.released(module_world / "releases")


@pytest.fixture
def parts(two_weeks_released: list[ReleaseResult], settings: Any, db: None) -> list[ReleaseResult]:
    """The releases of this test: it may change rows and files."""
    return cast.copied(two_weeks_released, settings.RELEASE_DIR)


@pytest.fixture(scope="module")
def today() -> Iterator[None]:
    """The clock while what several tests share is made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.utils.timezone.now", lambda: TODAY)
        yield


@pytest.fixture(scope="module")
def appealed(module_world: Path, today: None) -> Decided:
    return decided.appealed()


@pytest.fixture
def what(appealed: Decided, clock: Any, db: None) -> Decided:
    """An open case, of which each test has its own copy."""
    clock(TODAY)
    return deepcopy(appealed)
