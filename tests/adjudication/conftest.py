"""A release of a week, made once for a module; each test has a copy of it and of its contest."""

import copy
from pathlib import Path
from typing import Any

import pytest

from contest.releases import services
from tests.adjudication.test_verify import WEEK, Forger
from tests.contest import release_fixtures as cast


@pytest.fixture(scope="module")
def published(module_world: Path) -> Forger:
    contest = cast.a_week()
    return Forger(services.release_week(WEEK, out=module_world / "releases", now=cast.AFTER).folder, contest)


@pytest.fixture
def forger(published: Forger, settings: Any, db: None) -> Forger:
    """Somebody with a copy of the release of a week, and its contest."""
    own = copy.deepcopy(published)
    own.folder = settings.RELEASE_DIR / published.folder.name
    return own
