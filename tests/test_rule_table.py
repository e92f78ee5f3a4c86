"""The table of rules and their tests: what counts as a proof, and that every rule has one."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

from policy.numbers import Policy
from tests.rule_table import ROOT, main, proofs, rules

BOOK = "- **R1** One (decided: 7).\n- **R2** *Two*: and more.\n- **R3** Three.\n- **R4** Four\n"
STATUS = "| rules | state |\n|---|---|\n| R1-R3 | in force |\n| R4 | not built yet |\n"
TESTS = '''"""A module about R5."""
TABLE = [(1, "R6, a reason in a table")]


def test_r2_is_in_the_name():
    assert True, "R7 in a reason"


@pytest.mark.parametrize("row", TABLE)
class TestIt:
    """R1-R2."""

    def test_by_a_table(self):
        for row in TABLE:
            """R9 is no docstring here."""


def helper():
    """R8 is no test's."""
'''


def made(folder: Path, status: str = STATUS) -> Path:
    for name, text in (("docs/rules.md", BOOK), ("docs/status.md", status), ("tests/test_it.py", TESTS)):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_a_mention_counts_where_it_says_what_is_proved(tmp_path: Path) -> None:
    module = "tests/test_it.py"
    assert proofs(made(tmp_path) / "tests") == {
        1: [f"{module}::TestIt"],
        2: [f"{module}::test_r2_is_in_the_name", f"{module}::TestIt"],
        5: [module],
        6: [f"{module}::TestIt::test_by_a_table"],
        7: [f"{module}::test_r2_is_in_the_name"],
    }
    assert rules(BOOK) == {1: "One", 2: "Two", 3: "Three", 4: "Four"}


def test_a_rule_that_is_built_and_has_no_test_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(made(tmp_path)) == 1
    said = capsys.readouterr()
    assert said.err == "Without a test: R3\n" and "R2  Two: 2\n      tests/test_it.py::test_r2_is" in said.out
    assert main(made(tmp_path, STATUS.replace("R4", "R3, R4"))) == 0


@pytest.mark.slow("reads every test that mentions a rule")
def test_every_rule_that_is_built_has_a_test(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0, capsys.readouterr().err
    written = rules((ROOT / "docs/rules.md").read_text(encoding="utf-8"))
    assert set(written) == set(range(1, len(written) + 1)) and len(written) >= 41


def defined(path: str) -> set[str]:
    body = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
    return {each.name for each in body if isinstance(each, ast.FunctionDef | ast.ClassDef)}


def test_the_index_names_what_is_there_and_each_number_once() -> None:
    """Each rule is found in the code, and each number of the policy has one rule."""
    index = (ROOT / "docs/rule-index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| R(\d+) \| (.*?) \| (.*?) ?\|$", index, re.MULTILINE)
    assert [int(number) for number, _, _ in rows] == sorted(rules((ROOT / "docs/rules.md").read_text(encoding="utf-8")))
    for path, names in re.findall(r"`([\w/]+\.py): ([^;|]*)", index):
        assert set(re.findall(r"\w+", names)) <= defined(path), path
    numbers = [name for _, _, cell in rows for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(numbers) == sorted(each.name for each in fields(Policy) if each.name != "name")
