"""Runs tests against each mutant of a module, in a fork per mutant, once everything is imported.

A plugin of pytest. The parent collects the tests and makes the database; each child exchanges the code of one function
in place, wherever it is held, and stops at the first test that fails. Each child works on a copy of the database.
"""

import ast
import gc
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest
from django.db import connection

from tests.mutants.making import HEAD, Mutant, reporting

# A child that takes this many times what the tests take without a change will never end.
_TIMES_LONGER = 8
_MIN_CPU_SECONDS = 20
_CANNOT = 3
_HOUR = 3600


class Noticed(Exception):
    """A change that no test is needed for."""


reached: set[str] = set()
"""The functions of the module that the running test has called; filled where they report (`reporting`)."""


@dataclass
class Hunt:
    """The plugin. `survivors` are the names of the mutants that no test noticed."""

    mutants: list[Mutant]
    survivors: list[str] = field(default_factory=list)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Make the database with the first test (`ready.py`), then run the others: unchanged, and for each mutant those
        of the modules that reach its function."""
        first, *items = session.items
        first.config.hook.pytest_runtest_protocol(item=first, nextitem=items[0])
        runs = _unchanged(session, self.mutants[0].path)
        for mutant in self.mutants:
            chosen = _chosen(items, runs, mutant.function)
            allowed = int(max(_MIN_CPU_SECONDS, _TIMES_LONGER * sum(runs[item.nodeid].seconds for item in chosen)))
            status = _in_child(partial(_run, session, mutant, chosen), allowed)
            if status == _CANNOT:
                raise pytest.UsageError(f"{mutant.name}: cannot be tried")
            if status == 0:
                self.survivors.append(mutant.name)
        return True


@dataclass(frozen=True, slots=True)
class _Ran:
    """One test with nothing changed: what it took of CPU time, and the functions that it reached."""

    seconds: float
    reached: frozenset[str]


def _unchanged(session: pytest.Session, path: str) -> dict[str, _Ran]:
    """Run all tests once in a child, and return what each took and reached."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as told:

        def tell() -> int:
            _exchange(reporting(Path.cwd(), path))
            rows = []
            for item, following in pairwise([*session.items[1:], None]):
                reached.clear()
                start = time.process_time()
                if _fails(session, item, following):
                    return 1
                rows.append([item.nodeid, time.process_time() - start, sorted(reached)])
            Path(told.name).write_text(json.dumps(rows))
            return 0

        if _in_child(tell, _HOUR):
            raise pytest.UsageError("The tests fail without any change.")
        return {name: _Ran(seconds, frozenset(names)) for name, seconds, names in json.load(told)}


def _chosen(items: list[pytest.Item], runs: dict[str, _Ran], function: str) -> list[pytest.Item]:
    """Return the tests of each module that reaches the function, those first that do themselves, the quickest first.

    The others of the module may look at what it made for all of them. Tests that empty the database come last.
    """

    def reaches(item: pytest.Item) -> bool:
        names = runs[item.nodeid].reached
        return bool(names) if function == HEAD else function in names

    modules = {item.path for item in items if reaches(item)}
    return sorted(
        (item for item in items if item.path in modules),
        key=lambda item: (_empties(item), not reaches(item), runs[item.nodeid].seconds),
    )


def _empties(item: pytest.Item) -> bool:
    return any(mark.kwargs.get("transaction") for mark in item.iter_markers("django_db"))


def _run(session: pytest.Session, mutant: Mutant, chosen: list[pytest.Item]) -> int:
    """Run tests up to the first that fails; return 1 when one does."""
    try:
        _exchange(mutant)
    except Noticed:
        return 1
    return int(any(_fails(session, item, following) for item, following in pairwise([*chosen, None])))


def _fails(session: pytest.Session, item: pytest.Item, following: pytest.Item | None) -> bool:
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    if session.testsfailed:
        print("\nfailed:", item.nodeid, flush=True)
    return bool(session.testsfailed)


def _in_child(work: Callable[[], int], allowed: int) -> int:
    """Do `work` in a child with a database of its own, in at most `allowed` seconds of CPU time.

    Return what it returns; a negative number where it never ended.
    """
    connection.close()
    child = os.fork()
    if not child:
        status = _CANNOT
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (allowed, allowed))
            signal.alarm(allowed + 60)  # for one that waits for ever
            _own_database()
            status = work()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    _database_of(child).unlink(missing_ok=True)
    return status


def _database_of(child: int) -> Path:
    return Path(f"{connection.settings_dict['NAME']}.{child}")


def _own_database() -> None:
    """Go on with a copy of the database file, which the parent has closed."""
    copied = _database_of(os.getpid())
    shutil.copyfile(connection.settings_dict["NAME"], copied)
    connection.settings_dict["NAME"] = str(copied)


def _exchange(mutant: Mutant) -> None:
    """Put the mutant's code in the place of the original's."""
    module = next(each for each in list(sys.modules.values()) if _is_at(each, mutant.path))
    file = str(module.__file__)
    if mutant.function == HEAD:
        _assign_changed(module, mutant.tree)
        return
    gc.unfreeze()  # `tests.conftest` hides what was collected from the garbage collector
    codes = {_key(code): code for code in _codes(compile(mutant.tree, file, "exec"))}
    exchanged = 0
    for function in [each for each in gc.get_objects() if type(each) is FunctionType]:
        code = function.__code__
        if code.co_filename == file and len(codes[_key(code)].co_freevars) == len(code.co_freevars):
            function.__code__ = codes[_key(code)]
            exchanged += 1
    if not exchanged:
        raise LookupError(f"no function of {file} is found in memory")


def _assign_changed(module: ModuleType, tree: ast.Module) -> None:
    """Run again the assignment that the mutant changes, and those that use its value; who imported one of them keeps
    the old one."""
    original = ast.parse(Path(str(module.__file__)).read_text())
    changed: set[str] = set()
    for before, after in zip(original.body, tree.body, strict=True):
        names = (
            [each for each in ast.walk(after) if isinstance(each, ast.Name)] if isinstance(after, ast.Assign) else []
        )
        if ast.dump(before) == ast.dump(after) and changed.isdisjoint(each.id for each in names):
            continue
        changed.update(each.id for each in names if isinstance(each.ctx, ast.Store))
        try:
            exec(compile(ast.Module([after], []), str(module.__file__), "exec"), vars(module))
        except Exception as error:  # the module could not be imported like this: nobody would miss that
            raise Noticed from error


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)


def _key(code: CodeType) -> tuple[str, int]:
    """What makes a piece of code the same one before and after: no change moves a line."""
    return code.co_qualname, code.co_firstlineno


def _is_at(module: object, path: str) -> bool:
    file = getattr(module, "__file__", None)
    return bool(file) and os.path.relpath(str(file)) == path
