"""A release of a week, made once for a module; each test has a copy of it and of its contest."""

import copy
from pathlib import Path
from typing import Any

import pytest

from tests.adjudication.test_verify import Forger, a_week_published


@pytest.fixture(scope="module")
def published(module_world: Path) -> Forger:
    return a_week_published(module_world / "releases")


@pytest.fixture
def forger(published: Forger, settings: Any, db: None) -> Forger:
    """Somebody with a copy of the release of a week, and its contest."""
    own = copy.deepcopy(published)
    own.folder = settings.RELEASE_DIR / published.folder.name
    return own
