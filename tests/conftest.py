"""The cast and the clock. Tara, Otto and Uma are qualified taskers; Nell is a newcomer; Olga organizes; Rita is on
the review board; Stan is a stranger who has an account and no role."""

import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from xdist.scheduler import LoadScopeScheduling

from labeling.models import Tasker
from labeling.selectors import forget_versions
from tests import factories, statements

pytest_plugins = ["tests.bucket_plugin", "tests.engine_plugin"]

# The same examples every time, so that a failure is the change's and not the day's. New ones are looked for with
# `pytest --hypothesis-profile search`.
# How long an example takes is not judged: it depends on what else the machine is doing.
_UNTIMED: dict[str, Any] = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("repeatable", derandomize=True, **_UNTIMED)
hypothesis.settings.register_profile("search", **_UNTIMED)
hypothesis.settings.load_profile("repeatable")

TOGETHER = (
    *("tests/browser/", "tests/defense_kit/test_check.py", "tests/defense_kit/test_container.py"),
    *("tests/scoring/test_hostile.py", "tests/scoring/test_sealed.py", "tests/test_logs.py"),
    "tests/contest/record/test_rebuild.py",
)

# Tests in processes of their own that take a quarter of a minute and more, the longest first. At the end of a parallel
# run they would keep one processor waiting for the other.
LONGEST = (
    *("tests/bench/test_bench.py", "tests/bench/test_label_page.py", "tests/contest/test_simulat", "tests/browser/"),
    *("tests/test_kill.py", "tests/test_celery.py", "tests/scoring/test_killed_worker.py"),
    *("tests/labeling/test_import_images.py", "tests/defense_kit/", "tests/scoring/", "tests/bench/"),
)


def pytest_configure(config: pytest.Config) -> None:
    """Note which statements each test sends, where somebody asked for it.

    A shell starts background jobs with interrupts ignored, and so would be the programs that tests interrupt.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(statements)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what this machine or database cannot show, with the reason."""
    postgres = settings.DATABASES["default"]["ENGINE"].endswith("postgresql")
    for item in items:
        if "postgres" in item.keywords and not postgres:
            item.add_marker(pytest.mark.skip(reason="needs PostgreSQL: run with DATABASE_URL=postgres://..."))
    left = statements.left_for_postgres(items, _on_both)
    kept = set(left)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = left
    _longest_in_time(items)


def _on_both(item: pytest.Item) -> bool:
    """Say whether both runs have a test, whatever it sends: races, commits, servers, and what is marked so."""
    shared = _transactional(item) and "browser" not in item.keywords
    return shared or bool({"both", "postgres", "redis"} & set(item.keywords))


def _longest_in_time(items: list[pytest.Item]) -> None:
    """Move the longest tests that leave this process's database alone to behind those that roll back.

    pytest-django has put the tests with a database that rolls back first, then those that empty it, then all others.
    """
    long = [item for item in items if item.nodeid.startswith(LONGEST) and not _in_database(item)]
    long.sort(key=lambda item: next(n for n, start in enumerate(LONGEST) if item.nodeid.startswith(start)))
    moved = set(long)
    others = [item for item in items if item not in moved]
    rolled_back = sum(_in_database(item) and not _transactional(item) for item in others)
    items[:] = [*others[:rolled_back], *long, *others[rolled_back:]]


def _in_database(item: pytest.Item) -> bool:
    fixtures = {"db", "transactional_db", "live_server"} & set(getattr(item, "fixturenames", ()))
    return bool(fixtures or "django_db" in item.keywords)


def _transactional(item: pytest.Item) -> bool:
    return bool({"transactional_db", "live_server"} & set(getattr(item, "fixturenames", ()))) or any(
        mark.kwargs.get("transaction") for mark in item.iter_markers("django_db")
    )


class _Scheduling(LoadScopeScheduling):
    """Gives the tests of a module that share something dear to one process, all others one by one."""

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.partition("::")[0]
        return module if module.startswith(TOGETHER) else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Say which tests of a parallel run stay together."""
    return _Scheduling(config, log)


@pytest.fixture(autouse=True)
def nothing_of_other_tests(settings: Any, tmp_path: Path) -> None:
    """Give each test its own picture store, array cache and release folder, and an empty cache.

    What a process remembers for a minute, or looks for every few minutes, would be about rows of another test.
    """
    (tmp_path / "pictures").mkdir()
    settings.IMAGE_STORE_URL = f"file://{tmp_path / 'pictures'}"
    settings.ARRAY_CACHE_DIR = tmp_path / "arrays"
    settings.RELEASE_DIR = tmp_path / "releases"
    forget_versions()
    cache.clear()


@pytest.fixture
def now() -> datetime:
    """A Wednesday noon in contest week 2026-W47."""
    return datetime(2026, 11, 18, 12, 0, tzinfo=UTC)


@pytest.fixture
def tara(db: None) -> Tasker:
    return factories.tasker("tara")


@pytest.fixture
def otto(db: None) -> Tasker:
    return factories.tasker("otto")


@pytest.fixture
def uma(db: None) -> Tasker:
    return factories.tasker("uma")


@pytest.fixture
def nell(db: None) -> Tasker:
    return factories.tasker("nell", state="learning")


@pytest.fixture
def olga(db: None) -> User:
    return factories.user("olga", "organizers")


@pytest.fixture
def rita(db: None) -> User:
    return factories.user("rita", "review board")


@pytest.fixture
def stan(db: None) -> User:
    return factories.user("stan")


@pytest.fixture
def signed_in() -> Any:
    """Return a function that gives a client signed in as a user or a tasker."""

    def _client(who: User | Tasker) -> Client:
        client = Client(enforce_csrf_checks=False)
        user = who.user if isinstance(who, Tasker) else who
        client.force_login(user, backend="common.sessions.UserBackend")
        return client

    return _client
