"""What many tests look at and is dear to make is made once for a module or a class of tests.

A fixture of the same scope makes it, with `module_world` or `class_world` among its arguments. Every test begins with
it: what a test changes in the database is rolled back, and of its picture and release folders it has a copy.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import TestCase, override_settings

from labeling.selectors import forget_versions

FOLDERS = ("pictures", "arrays", "releases")


def places(folder: Path) -> dict[str, Any]:
    """Return the settings that say where pictures, decoded pictures and releases lie."""
    return {
        "IMAGE_STORE_URL": f"file://{folder / 'pictures'}",
        "ARRAY_CACHE_DIR": folder / "arrays",
        "RELEASE_DIR": folder / "releases",
        "RELEASE_KEY_FILE": folder / "release-key",
    }


@contextmanager
def _world(blocker: Any, folder: Path) -> Iterator[Path]:
    (folder / "pictures").mkdir()
    forget_versions()
    cache.clear()
    with blocker.unblock(), override_settings(**places(folder)):
        atomics = TestCase._enter_atomics()
        try:
            yield folder
        finally:
            TestCase._rollback_atomics(atomics)


@pytest.fixture(scope="module")
def module_world(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The folder of a world that all tests of the module share which ask for it."""
    with _world(django_db_blocker, tmp_path_factory.mktemp("world")) as folder:
        yield folder


@pytest.fixture(scope="class")
def class_world(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The folder of a world that all tests of the class share."""
    with _world(django_db_blocker, tmp_path_factory.mktemp("world")) as folder:
        yield folder


@pytest.fixture(autouse=True)
def nothing_of_other_tests(request: pytest.FixtureRequest, settings: Any, tmp_path: Path) -> None:
    """Give each test its own picture store, array cache and release folder, and an empty cache.

    What a process remembers for a minute, or looks for every few minutes, would be about rows of another test.
    """
    (tmp_path / "pictures").mkdir()
    for world in ("module_world", "class_world"):
        if world in request.fixturenames:
            shutil.copytree(request.getfixturevalue(world), tmp_path, dirs_exist_ok=True)
    for name, value in places(tmp_path).items():
        setattr(settings, name, value)
    forget_versions()
    cache.clear()
