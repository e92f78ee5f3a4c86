"""Small changes to a module, each of which some test must notice.

Changed is what functions do, and the numbers that stand at the head of a module. Words, annotations, defaults and
decorators stay.
"""

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In},
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult},
    **{ast.Mod: ast.FloorDiv, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr},
}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "filter": "exclude", "exclude": "filter"}
# A condition less: what a query finds, and what it writes.
_QUERIES = {"filter", "exclude", "update", "get"}
HEAD = "<module>"

# What is changed, in the words of lists, and how.
Change = tuple[str, Callable[[ast.AST], None]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change to the module at `path`: in a function of it, or (`HEAD`) in what it assigns outside of functions.

    `name` does not depend on the line it is in.
    """

    name: str
    path: str
    function: str
    tree: ast.Module


def mutants_of(root: Path, path: str) -> Iterator[Mutant]:
    """Yield every change to the module at `path`, in the order of its text."""
    tree = ast.parse((root / path).read_text())
    seen: Counter[str] = Counter()
    for function, route in _places(tree):
        for words, change in _changes(_at(tree, route)):
            changed = copy.deepcopy(tree)
            change(_at(changed, route))
            ast.fix_missing_locations(changed)
            name = f"{path} {function}: {words}"
            seen[name] += 1
            yield Mutant(f"{name} ({seen[name]})" if seen[name] > 1 else name, path, function, changed)


def reporting(root: Path, path: str) -> Mutant:
    """Return the module at `path`, each of whose functions says that it is reached, and does what it did."""
    tree = ast.parse((root / path).read_text())
    for name, function in _functions(tree):
        function.body.insert(
            0, ast.parse(f"__import__('tests.mutants.hunt').mutants.hunt.reached.add({name!r})").body[0]
        )
    return Mutant(f"{path}: reporting", path, "", tree)


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions of a module and the methods of its classes, with their names."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            yield statement.name, statement
        elif isinstance(statement, ast.ClassDef):
            for member in statement.body:
                if isinstance(member, ast.FunctionDef):
                    yield f"{statement.name}.{member.name}", member


Route = tuple[tuple[str, int | None], ...]


def _places(tree: ast.Module) -> Iterator[tuple[str, Route]]:
    """Yield all places that may be changed: the function they are in, and the way to them from the tree's root."""
    for index, statement in enumerate(tree.body):
        step = (("body", index),)
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            for route in _below(statement.value, (*step, ("value", None))):
                yield HEAD, route
        elif isinstance(statement, ast.FunctionDef):
            yield from _function(statement, step, statement.name)
        elif isinstance(statement, ast.ClassDef):
            for inner, member in enumerate(statement.body):
                if isinstance(member, ast.FunctionDef):
                    yield from _function(member, (*step, ("body", inner)), f"{statement.name}.{member.name}")


def _function(function: ast.FunctionDef, step: Route, name: str) -> Iterator[tuple[str, Route]]:
    for index, statement in enumerate(function.body):
        for route in _below(statement, (*step, ("body", index))):
            yield name, route


def _below(node: ast.AST, route: Route) -> Iterator[Route]:
    yield route
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_comment", "ctx", "op", "ops"):
            continue
        if isinstance(node, ast.Raise | ast.JoinedStr):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST):
                yield from _below(child, (*route, (field, index)))


def _at(tree: ast.AST, route: Route) -> ast.AST:
    for field, index in route:
        value = getattr(tree, field)
        tree = value if index is None else value[index]
    return tree


def _changes(node: ast.AST) -> Iterator[Change]:
    """Yield what can be changed in this one node."""
    text = _short(node)
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            other = _COMPARE[type(operator)]
            yield f"{text}: {type(operator).__name__} is {other.__name__}", _set_in("ops", index, other())
    elif isinstance(node, ast.BoolOp):
        yield f"{text}: and is or, or is and", _set("op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _ARITHMETIC and not _is_text(node):
        other_operator = _ARITHMETIC[type(node.op)]
        yield f"{text}: {type(node.op).__name__} is {other_operator.__name__}", _set("op", other_operator())
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        value = not node.value if isinstance(node.value, bool) else node.value + 1
        yield f"{node.value} is {value}", _set("value", value)
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.If | ast.IfExp | ast.While) and not _inverted_below(node.test):
        yield f"{_short(node.test)}: inverted", _set("test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Return) and not _is_nothing(node.value):
        yield f"{text}: None", _set("value", ast.Constant(None))
    elif isinstance(node, ast.comprehension):
        for index, condition in enumerate(node.ifs):
            yield f"if {_short(condition)}: always", _set_in("ifs", index, ast.Constant(True))


def _calls(node: ast.Call) -> Iterator[Change]:
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    field = "id" if isinstance(node.func, ast.Name) else "attr"
    if name in _CALLS and (field == "id") == (name not in _QUERIES):
        yield f"{_short(node)}: {_CALLS[name]}", lambda place: setattr(_call(place).func, field, _CALLS[name])
    if name in _QUERIES and field == "attr" and len(node.keywords) + len(node.args) > 1:
        for index, keyword in enumerate(node.keywords):
            yield f"{name}({ast.unparse(keyword)}): left out", _without(index)


def _without(index: int) -> Callable[[ast.AST], None]:
    return lambda place: _call(place).keywords.__delitem__(index)


def _call(place: ast.AST) -> ast.Call:
    assert isinstance(place, ast.Call)
    return place


def _inverted_below(test: ast.expr) -> bool:
    """Whether another change to the test comes to the same as inverting it."""
    unordered = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
    return isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], unordered)


def _is_text(node: ast.BinOp | ast.AugAssign) -> bool:
    """Whether `+` or `%` makes words."""
    left = node.left if isinstance(node, ast.BinOp) else node.value
    words = isinstance(left, ast.Constant | ast.JoinedStr) and not isinstance(getattr(left, "value", ""), int)
    return words or (isinstance(left, ast.Call) and getattr(left.func, "id", "") == "_")


def _is_nothing(value: ast.expr | None) -> bool:
    """Whether nothing else than nothing is returned, or what is changed as a constant."""
    return value is None or (isinstance(value, ast.Constant) and value.value in (None, True, False))


def _set(field: str, value: object) -> Callable[[ast.AST], None]:
    return lambda place: setattr(place, field, value)


def _set_in(field: str, index: int, value: object) -> Callable[[ast.AST], None]:
    return lambda place: getattr(place, field).__setitem__(index, value)


def _short(node: ast.AST) -> str:
    """Return a node's first line as Python writes it, its beginning and its end at least."""
    line = "" if isinstance(node, ast.comprehension) else ast.unparse(node).split("\n")[0]
    return line if len(line) <= 80 else f"{line[:50]} … {line[-27:]}"
