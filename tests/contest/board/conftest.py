"""A ruled picture with its teams, its stake and the board: made once for a module, and as new for each test."""

from copy import deepcopy
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from contest.core.models import Case
from tests import factories
from tests.contest.board.cast import LATER, Scene


@pytest.fixture(scope="module")
def shared_scene(module_world: Path) -> Scene:
    """The scene of a module: a valid picture. A module that looks at a rejected one has its own."""
    return Scene.make()


@pytest.fixture
def scene(shared_scene: Scene) -> Scene:
    """The module's scene; what a test does to it ends with the test."""
    return deepcopy(shared_scene)


@pytest.fixture
def rejected(scene: Scene) -> Scene:
    """A second picture of the same teams, which the taskers rejected."""
    return scene.beside(valid=False)


@pytest.fixture
def case(scene: Scene) -> Case:
    """The open case of the scene's picture."""
    return scene.opened()


@pytest.fixture
def mia(scene: Scene) -> User:
    """The first member of the scene's board."""
    return scene.members[0]


@pytest.fixture
def it_is_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages find the moment at which the scene's cases are opened."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: LATER)


@pytest.fixture
def ron(rita: User) -> User:
    """A second member of the board."""
    return factories.user("ron", "review board")


@pytest.fixture
def ruth(rita: User) -> User:
    """A third one."""
    return factories.user("ruth", "review board")
