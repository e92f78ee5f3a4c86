"""Print the rules of docs/rules.md, each with the tests that prove it: `python -m tests.rule_table`.

A test proves the rules (`R29`, `R31-R33`) that its name, its docstring, its reasons and ids or the tables that it uses
mention. A class or a module whose docstring mentions a rule stands for its tests. Exits with 1 when a rule has no test,
unless docs/status.md says that it is not built yet.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RULE = re.compile(r"^- \*\*R(\d+)\*\* (.*)$", re.MULTILINE)
MENTION = re.compile(r"\bR(\d{1,2})\b(?:\s*[-–]\s*R(\d{1,2})\b)?")
IN_A_NAME = re.compile(r"(?:^|_)r(\d{1,2})(?=_|$)")
TITLE = 70


def rules(book: str) -> dict[int, str]:
    """Return the titles of the rules of a rule book: how each of them begins."""
    return {
        int(number): re.split(r" ?[.:;(]", re.sub("[*`]", "", text), maxsplit=1)[0][:TITLE]
        for number, text in RULE.findall(book)
    }


def not_built(status: str) -> set[int]:
    return {
        number
        for cells in re.findall(r"^\|(.*)\| not built yet \|$", status, re.MULTILINE)
        for number in mentioned(cells)
    }


def mentioned(text: str) -> Iterator[int]:
    for first, last in MENTION.findall(text):
        yield from range(int(first), int(last or first) + 1)


def proofs(root: Path) -> dict[int, list[str]]:
    """Return the tests that mention each rule, by their ids."""
    found: dict[int, list[str]] = defaultdict(list)
    for path in sorted(set(root.rglob("test_*.py")) - {root / "test_rule_table.py"}):  # it shows how rules are found
        text = path.read_text(encoding="utf-8")
        if not MENTION.search(text) and not re.search(r"def test_(?:.*_)?r\d", text):
            continue
        module = ast.parse(text)
        name = path.relative_to(root.parent).as_posix()
        tables = {
            target.id: node
            for node in module.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name) and target.id.isupper()
        }
        for test, said in [(name, ast.get_docstring(module) or ""), *_tests(module, name, tables)]:
            for number in sorted(set(mentioned(said))):
                found[number].append(test)
    return found


def _tests(
    of: ast.Module | ast.ClassDef, name: str, tables: dict[str, ast.Assign | ast.AnnAssign]
) -> Iterator[tuple[str, str]]:
    for node in of.body:
        own = f"{name}::{getattr(node, 'name', '')}"
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield own, ast.get_docstring(node) or ""
            yield from _tests(node, own, tables)
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            numbers = " ".join(f"R{number}" for number in IN_A_NAME.findall(node.name))
            used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} & set(tables)
            messages = (each.msg for each in ast.walk(node) if isinstance(each, ast.Assert) and each.msg)
            said = map(_reasons, (*node.decorator_list, *(tables[each] for each in used), *messages))
            yield own, "\n".join([numbers, ast.get_docstring(node) or "", *said])


def _reasons(node: ast.AST) -> str:
    """Return every text within a decorator, a table or the message of an assertion."""
    texts = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
    return "\n".join(each for each in texts if isinstance(each, str))


def main(root: Path = ROOT) -> int:
    book, tests = rules((root / "docs/rules.md").read_text(encoding="utf-8")), proofs(root / "tests")
    for number, title in book.items():
        print(f"R{number}  {title}: {len(tests[number])}")
        for test in tests[number]:
            print(f"      {test}")
    later = not_built((root / "docs/status.md").read_text(encoding="utf-8"))
    holes = [f"R{number}" for number in book if not tests[number] and number not in later]
    if holes:
        print(f"Without a test: {', '.join(holes)}", file=sys.stderr)
    return int(bool(holes))


if __name__ == "__main__":
    sys.exit(main())
