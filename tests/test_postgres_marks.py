"""What depends on the database is shown on PostgreSQL within `make test`, by a test marked `postgres` or `both`.

A module depends on it that sends SQL of its own, has prepared statements (`common.lookups`), locks rows, or makes
triggers.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("adjudication", "common", "contest", "labeling", "scoring")
MARKS = {"postgres", "both"}
PREPARED = {"Lookup", "Change", "Statement"}

# module -> a marked test that runs its statements
SHOWN_BY: dict[str, str] = {}


def depends_on_the_database(tree: ast.Module) -> bool:
    """Say whether a module has SQL of its own, prepared statements, locks or triggers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("cursor", "select_for_update", "copy_expert"):
            return True
        if isinstance(node, ast.ImportFrom) and node.module == "common.lookups":
            return True
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "CREATE TRIGGER" in node.value:
            return True
    return False


def modules() -> Iterator[tuple[str, ast.Module]]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            if "migrations" not in path.parts:
                yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def is_marked(test: str) -> bool:
    """Say whether a test, its class or its module has one of the marks; a test that is not there has none."""
    path, *names = test.split("::")
    body = ast.parse((ROOT / path).read_text()).body
    marks = [
        node.value for node in body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    for name in names:
        named = (node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name)
        found = next(named, None)
        if found is None:
            return False
        marks += found.decorator_list
        body = found.body
    attributes = (node for mark in marks for node in ast.walk(mark) if isinstance(node, ast.Attribute))
    return any(node.attr in MARKS for node in attributes)


def test_each_module_that_depends_on_the_database_is_shown_on_postgresql() -> None:
    dependent = {path for path, tree in modules() if depends_on_the_database(tree)}
    assert dependent == set(SHOWN_BY)


def test_the_tests_named_are_marked() -> None:
    assert [test for test in SHOWN_BY.values() if not is_marked(test)] == []


@pytest.mark.parametrize(
    ("text", "depends", "why"),
    [
        ("Team.objects.select_for_update()", True, "it locks rows"),
        ("connection.cursor()", True, "it sends SQL of its own"),
        ("from common.lookups import Lookup", True, "it prepares statements"),
        ("SQL = 'CREATE TRIGGER t'", True, "it makes triggers"),
        ("Team.objects.filter(pk=1).update(name='a')", False, "the ORM writes the same for both"),
    ],
)
def test_what_depends_on_the_database(text: str, depends: bool, why: str) -> None:
    assert depends_on_the_database(ast.parse(text)) is depends, why
