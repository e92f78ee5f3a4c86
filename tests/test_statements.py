"""Which tests PostgreSQL's run is left with: of what was sent on SQLite nothing is missing."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, connection, transaction

from tests.statements import Statements, cheapest


def runs(folder: Path, *tests: tuple[str, float, str]) -> list[str]:
    """What is chosen of tests that took so many seconds and sent these statements, a letter each."""
    for number, test in enumerate(tests):
        (folder / f"gw{number}.json").write_text(json.dumps([[test[0], test[1], list(test[2])]]))
    return sorted(cheapest(folder))


@pytest.mark.parametrize(
    ("tests", "chosen", "why"),
    [
        ([], [], "nothing was sent"),
        ([("a", 1, "")], [], "it sends nothing"),
        ([("a", 1, "x"), ("b", 2, "x")], ["a"], "the cheaper of two that send the same"),
        ([("a", 1, "xy"), ("b", 1, "yz"), ("c", 1, "z")], ["a", "b"], "each sends what the other does not"),
        ([("a", 5, "wxyz"), ("b", 1, "wx"), ("c", 1, "yz")], ["b", "c"], "two cheap ones instead of a dear one"),
        ([("a", 9, "wxyz"), ("b", 1, "wxy")], ["a", "b"], "what nobody else sends is shown at any price"),
        ([("a", 0, "x")], ["a"], "one that took no time at all"),
    ],
)
def test_the_cheapest_that_send_everything(
    tests: list[tuple[str, float, str]], chosen: list[str], why: str, tmp_path: Path
) -> None:
    assert runs(tmp_path, *tests) == chosen, why


def sent(act: Any) -> set[str]:
    """What an act sends, as it is told apart."""
    statements = Statements()
    statements.begin("it")
    with connection.execute_wrapper(statements.wrapper):
        act()
    return statements.sent["it"]


def named(*names: str) -> list[User]:
    return list(User.objects.filter(username__in=names)[: len(names)])


@pytest.mark.django_db
def test_how_many_values_or_rows_make_no_other_statement() -> None:
    assert sent(lambda: named("a", "b")) == sent(lambda: named("a", "b", "c"))
    two, three = ([Group(name=f"{size}-{number}") for number in range(size)] for size in (2, 3))
    assert sent(lambda: Group.objects.bulk_create(two)) == sent(lambda: Group.objects.bulk_create(three))


@pytest.mark.parametrize("value", [None, "ä", "a\0", 2**31, ["a", None]], ids=repr)
def test_kinds_of_values_are_told_apart(value: Any) -> None:
    assert shapes([1, "a"]) == shapes([-1, "b"]) != shapes([1, value])


def shapes(values: list[Any]) -> set[str]:
    """One statement with these values, as it is told apart; no database is asked, as PostgreSQL refuses NUL."""
    statements = Statements()
    statements.begin("it")
    statements.wrapper(lambda *_: None, "SELECT %s, %s", values, False, {})
    return statements.sent["it"]


@pytest.mark.django_db
def test_a_refusal_is_one_more() -> None:
    def twice() -> None:
        Group.objects.create(name="one")
        with pytest.raises(IntegrityError), transaction.atomic():
            Group.objects.create(name="one")

    assert sent(twice) > sent(lambda: Group.objects.create(name="two"))


@pytest.mark.django_db
def test_what_is_nobodys_is_no_tests() -> None:
    statements = Statements()
    statements.begin("it")
    with connection.execute_wrapper(statements.wrapper), statements.nobodys():
        named("a")
    assert statements.sent == {"it": set()}


def test_what_was_sent_is_written_for_the_other_run(tmp_path: Path) -> None:
    statements = Statements()
    statements.begin("it")
    statements.wrapper(lambda *_: None, "SELECT 1", (), False, {})
    statements.wrapper(lambda *_: None, 'SAVEPOINT "s1"', (), False, {})
    statements.write(tmp_path / "main.json")
    ((test, _, hashes),) = json.loads((tmp_path / "main.json").read_text())
    assert (test, len(hashes)) == ("it", 1)
    assert cheapest(tmp_path) == ["it"]
