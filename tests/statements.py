"""Which statements each test sends to its database, and the cheapest tests that together send all of them.

The whole suite runs on SQLite. What is left for PostgreSQL is what a database can make a difference to: each statement
with each kind of value in it and each refusal, once, and all that races, locks or commits. Which tests those are is
found anew in every run, so that no list of them grows old.

As a plugin: STATEMENTS names a folder that each process of a run on SQLite writes into; SHOWN names a file with the
tests that a run on PostgreSQL is left with.
"""

import hashlib
import heapq
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

# Opens and closes what other statements stand in, under a name of the moment.
_AROUND = re.compile(r"(SAVEPOINT|RELEASE|ROLLBACK|BEGIN|COMMIT|PRAGMA)\b")
# How many values a statement has, or where its page ends, makes no other statement of it.
_MANY = re.compile(r"%s(?:, %s)+|\((?:%s(?:, )?)+\)(?:, \((?:%s(?:, )?)+\))*")
_PAGE = re.compile(r"\b(LIMIT|OFFSET) \d+")
# What a refusal says of the values it is about.
_VALUES = re.compile(r"'[^']*'|\d+")
_BIG = 2**31


class Statements:
    """What each test has sent so far, and how many seconds it took."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._now: set[str] | None = None
        self.sent: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}

    def begin(self, test: str) -> None:
        """From now on all that is sent is this test's, from whichever thread."""
        self._now = self.sent.setdefault(test, set())

    @contextmanager
    def nobodys(self) -> Iterator[None]:
        """Inside of this, what is sent is no test's."""
        before, self._now = self._now, None
        yield
        self._now = before

    def wrapper(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        """Note a statement; as Django's `execute_wrappers` have it."""
        sent = self._now
        if sent is None or _AROUND.match(sql):
            return execute(sql, params, many, context)
        shape = self._known.get(sql) or self._known.setdefault(sql, _shape(sql))
        sent.add(shape + _kinds(params))
        try:
            return execute(sql, params, many, context)
        except DatabaseError as error:
            sent.add(shape + _VALUES.sub("?", str(error)))
            raise

    def write(self, file: Path) -> None:
        """Write what the tests of this process sent, each statement as a short hash."""
        rows = [[test, self.seconds.get(test, 0.0), sorted(map(_short, sent))] for test, sent in self.sent.items()]
        file.write_text(json.dumps(rows))


def _shape(sql: str) -> str:
    return _PAGE.sub(r"\1 n", _MANY.sub("%s", sql))


def _short(statement: str) -> str:
    return hashlib.blake2b(statement.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _kinds(params: Any) -> str:
    """Name the kinds of values that databases treat differently: none, NUL, beyond ASCII, more than 32 bits."""
    found = set()
    for value in _flat(params):
        if value is None:
            found.add("none")
        elif isinstance(value, str) and not value.isascii():
            found.add("text")
        elif isinstance(value, int) and abs(value) >= _BIG:
            found.add("big")
        if isinstance(value, str) and "\0" in value:
            found.add("NUL")
    return " ".join(sorted(found))


def _flat(params: Any) -> Iterator[Any]:
    for value in params or ():
        if isinstance(value, list | tuple):
            yield from value
        else:
            yield value


def cheapest(folder: Path) -> list[str]:
    """Return tests that together send every statement that those of a run sent, in few seconds.

    Always the one that sends most for its time among what is left, so not the very least of all.
    """
    rows = [row for file in sorted(folder.glob("*.json")) for row in json.loads(file.read_text())]
    sent = {test: set(statements) for test, _, statements in rows}
    seconds = {test: max(took, 0.01) for test, took, _ in rows}
    left = set().union(*sent.values())
    # An entry is as good as the last time it was looked at or worse, so the first that is still as good is the best.
    queue = [(-len(statements) / seconds[test], test) for test, statements in sent.items()]
    heapq.heapify(queue)
    chosen = []
    while left:
        _, test = heapq.heappop(queue)
        worth = len(sent[test] & left) / seconds[test]
        if not worth:
            continue
        if queue and worth < -queue[0][0]:
            heapq.heappush(queue, (-worth, test))
            continue
        chosen.append(test)
        left -= sent[test]
    return chosen


_recorded = Statements()
_folder = os.environ.get("STATEMENTS")


def _listen(connection: BaseDatabaseWrapper, **_: Any) -> None:
    if _recorded.wrapper not in connection.execute_wrappers:
        connection.execute_wrappers.append(_recorded.wrapper)


if _folder:
    connection_created.connect(_listen)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Keep apart what each test sends."""
    _recorded.begin(item.nodeid)


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
    """The database of a process is made within its first test, which has no part in it."""
    if fixturedef.argname == "django_db_setup":
        with _recorded.nobodys():
            yield
    else:
        yield


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up what a test took."""
    _recorded.seconds[report.nodeid] = _recorded.seconds.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write down what was sent."""
    if _folder:
        _recorded.write(Path(_folder) / f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.json")


def left_for_postgres(items: Iterable[pytest.Item], always: Callable[[pytest.Item], bool]) -> list[pytest.Item]:
    """Return those of `items` that this run shows: all, or those that SHOWN names and those that are `always` shown."""
    file = os.environ.get("SHOWN")
    if not file:
        return list(items)
    named = set(json.loads(Path(file).read_text()))
    return [item for item in items if item.nodeid in named or always(item)]
