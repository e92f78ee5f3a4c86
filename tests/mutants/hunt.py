"""Runs tests against each mutant of a module, in a fork per mutant, once everything is imported.

A plugin of pytest. The parent collects the tests and makes the database; each child exchanges the code of one function
in place, wherever it is held, and stops at the first test that fails. Each child works on a copy of the database.
"""

import ast
import gc
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest
from django.db import connection

from tests.mutants.making import HEAD, Mutant

# A child that takes this many times what the tests take without a change will never end.
_TIMES_LONGER = 8
_LEAST_CPU_SECONDS = 20
_CANNOT = 3


@dataclass
class Hunt:
    """The plugin. `survivors` are the names of the mutants that no test noticed."""

    mutants: list[Mutant]
    survivors: list[str] = field(default_factory=list)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Make the database with the first test (`ready.py`), then run the others: unchanged, and with each mutant."""
        first, *_ = session.items
        first.config.hook.pytest_runtest_protocol(item=first, nextitem=session.items[1])
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if _in_child(lambda: None, session, 3600):
            raise pytest.UsageError("The tests fail without any change.")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        allowed = int(max(_LEAST_CPU_SECONDS, _TIMES_LONGER * took))
        for mutant in self.mutants:
            status = _in_child(lambda mutant=mutant: _exchange(mutant), session, allowed)  # type: ignore[misc]
            if status == _CANNOT:
                raise pytest.UsageError(f"{mutant.name}: cannot be tried")
            if status == 0:
                self.survivors.append(mutant.name)
        return True


def _in_child(prepare: Callable[[], None], session: pytest.Session, allowed: int) -> int:
    """Run the tests in a child of its own; return its exit status: 0 where all pass, negative where it never ended."""
    connection.close()
    child = os.fork()
    if not child:
        status = _CANNOT
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (allowed, allowed))
            signal.alarm(allowed * 10)  # for one that waits for ever
            _own_database()
            prepare()
            status = _failed(session)
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    _database_of(child).unlink(missing_ok=True)
    return status


def _failed(session: pytest.Session) -> int:
    """Run the collected tests up to the first that fails; return 1 when one does."""
    for item, following in zip(session.items[1:], [*session.items[2:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            print("\nfailed:", item.nodeid, flush=True)
            return 1
    return 0


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
    for function in [each for each in gc.get_objects() if isinstance(each, FunctionType)]:
        code = function.__code__
        if code.co_filename == file and len(codes[_key(code)].co_freevars) == len(code.co_freevars):
            function.__code__ = codes[_key(code)]
            exchanged += 1
    if not exchanged:
        raise LookupError(f"no function of {file} is found in memory")


def _assign_changed(module: ModuleType, tree: ast.Module) -> None:
    """Assign anew the one value that the mutant changes; who imported it from the module keeps the old one."""
    original = ast.parse(Path(str(module.__file__)).read_text())
    for before, after in zip(original.body, tree.body, strict=True):
        if ast.dump(before) != ast.dump(after):
            exec(compile(ast.Module([after], []), str(module.__file__), "exec"), vars(module))


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
