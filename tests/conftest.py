"""The cast and the clock. Tara, Otto and Uma are qualified taskers; Nell is a newcomer; Olga organizes; Rita is on
the review board; Stan is a stranger who has an account and no role."""

import functools
import gc
import itertools
import os
import re
import signal
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from _pytest import python
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client, TransactionTestCase
from xdist.scheduler import LoadScopeScheduling

from common.deep_stack import with_deep_stack
from labeling.models import Tasker
from tests import factories

pytest_plugins = [
    "tests.bucket_plugin",
    "tests.dear_cases",
    "tests.engine_plugin",
    "tests.reversed_rows",
    "tests.worlds",
]

# The same examples every time, so that a failure is the change's and not the day's. New ones are looked for with
# `pytest --hypothesis-profile search`.
# How long an example takes is not judged: it depends on what else the machine is doing.
_UNTIMED: dict[str, Any] = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("repeatable", derandomize=True, **_UNTIMED)
hypothesis.settings.register_profile("search", **_UNTIMED)
hypothesis.settings.load_profile("repeatable")

# Tests in processes of their own that take a quarter of a minute and more, the longest first. At the end of a parallel
# run they would keep one processor waiting for the other.
LONGEST = (
    *("tests/bench/test_bench.py", "tests/bench/test_label_page.py", "tests/contest/test_simulat", "tests/browser/"),
    *("tests/test_kill.py", "tests/test_celery.py", "tests/scoring/test_killed_worker.py"),
    *("tests/labeling/test_import_images.py", "tests/defense_kit/", "tests/scoring/", "tests/bench/"),
)

# Each of these marks says why: docs/testing.md.
REASONED = ("postgres", "both", "long", "slow")


def pytest_configure() -> None:
    """Hear interrupts: a shell starts background jobs with interrupts ignored, and so would be the programs that tests
    interrupt."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()  # nearly all that is made while tests are collected stays: looking for garbage costs a third of it


def pytest_collection_finish() -> None:
    """Look for garbage from now on, and not among the collected tests."""
    gc.freeze()
    gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Refuse a mark without its reason, and a shared fixture that `_sharing_modules` does not see."""
    for mark in item.iter_markers():
        if mark.name in REASONED and not (mark.args and isinstance(mark.args[0], str) and len(mark.args[0]) > 9):
            raise pytest.UsageError(f'{item.nodeid}: say why, as in pytest.mark.{mark.name}("two claims at once")')
    if isinstance(item, pytest.Function) and any(map(_is_shared, item._fixtureinfo.name2fixturedefs.values())):
        module = item.nodeid.partition("::")[0]
        if module not in _sharing_modules():
            raise pytest.UsageError(f"{module}: name the fixture that its tests share, so that they stay together")


def _is_shared(definitions: Sequence[pytest.FixtureDef[Any]]) -> bool:
    used = definitions[-1]
    return used.scope != "function" and used.func.__module__.startswith("tests.")


class _Scheduling(LoadScopeScheduling):
    """Gives the tests of a module that share something dear to one process, all others one by one.

    Those of a module that empty the database stay behind all that roll back, whose first rows they would take away.
    """

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.partition("::")[0]
        return f"{module} {self._runs[nodeid]}" if module in _sharing_modules() else nodeid

    @functools.cached_property
    def _runs(self) -> dict[str, int]:
        """Number the unbroken runs of tests of one module, in the order in which they were collected."""
        runs = itertools.groupby(self.collection or (), key=lambda nodeid: nodeid.partition("::")[0])
        return {nodeid: number for number, (_, tests) in enumerate(runs) for nodeid in tests}


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Say which tests of a parallel run stay together."""
    return _Scheduling(config, log)


@functools.cache
def _sharing_modules() -> frozenset[str]:
    """Return the modules that have, or ask for, a fixture of a wider scope than one test, or one that is copied."""
    fixture = re.compile(r"^@pytest\.fixture(.*)\n(?:@.*\n)*def (\w+)\(([^)]*)\)", re.MULTILINE)
    texts = {str(path): path.read_text() for path in Path("tests").rglob("*.py")}
    helpers = [found for path, text in texts.items() if "/test_" not in path for found in fixture.findall(text)]
    names = {"made_once", *(name for options, name, _ in helpers if "scope=" in options)}
    while more := {name for _, name, asked in helpers if names & _arguments(asked)} - names:
        names |= more

    def shares(text: str) -> bool:
        asked = (_arguments(each) for each in re.findall(r"^ *def \w+\(([^)]*)\)", text, re.MULTILINE))
        return any(part in text for part in ("scope=", "usefixtures", " once(")) or any(names & each for each in asked)

    return frozenset(path for path, text in texts.items() if "/test_" in path and shares(text))


def _arguments(text: str) -> set[str]:
    return set(re.findall(r"(\w+)(?=\s*[:,]|\s*$)", text))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what this database cannot show, with the reason."""
    postgres = settings.DATABASES["default"]["ENGINE"].endswith("postgresql")
    for item in items:
        if "postgres" in item.keywords and not postgres:
            item.add_marker(pytest.mark.skip(reason="needs PostgreSQL: run with DATABASE_URL=postgres://..."))
        if _in_database(item) or _starts_programs(item.path):
            item.add_marker(pytest.mark.database)
    _longest_in_time(items)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object:
    """Run a test as the server runs a request."""
    return with_deep_stack(python.pytest_pyfunc_call)(pyfuncitem)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many cases ran, to who asked for it (`tests.suite`)."""
    if "CASES" in os.environ:
        counts = [len(terminalreporter.getreports(kind)) for kind in ("passed", "failed")]
        Path(os.environ["CASES"]).write_text(str(sum(counts)))


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
    of_django = issubclass(getattr(item, "cls", None) or object, TransactionTestCase)
    return bool(fixtures or of_django or "django_db" in item.keywords)


@functools.cache
def _starts_programs(module: Path) -> bool:
    """Return whether a module starts programs that have a database of their own (`tests/processes.py`)."""
    return re.search(r"tests.processes|DATABASE_URL", module.read_text()) is not None


def _transactional(item: pytest.Item) -> bool:
    return bool({"transactional_db", "live_server"} & set(getattr(item, "fixturenames", ()))) or any(
        mark.kwargs.get("transaction") for mark in item.iter_markers("django_db")
    )


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
        client.force_login(user, backend="accounts.session_store.UserBackend")
        return client

    return _client
