"""The command that makes the first accounts."""

import io
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from labeling.models import AccountRole

pytestmark = pytest.mark.django_db
GOOD = "correct horse battery"


def add(monkeypatch: pytest.MonkeyPatch, *arguments: str, password: str = GOOD) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(password + "\n"))
    call_command("add_user", *arguments, "--password-stdin", stdout=io.StringIO())


@pytest.mark.parametrize("role", ["tasker", "organizer", "board"])
def test_an_account_has_the_role_and_the_address_it_was_given(role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    add(monkeypatch, "nora", "--role", role, "--email", "Nora@Example.org")
    user = User.objects.get()
    assert (user.email, user.check_password(GOOD)) == ("nora@example.org", True)
    assert AccountRole.objects.get(user=user).role == role


@pytest.mark.parametrize(
    ("typed", "differ", "reason"),
    [
        ([GOOD, GOOD], 0, "twice the same"),
        ([GOOD, "correct hose battery", GOOD, GOOD], 1, "a slip, and then twice the same"),
        ([GOOD, "", "", GOOD, GOOD, GOOD], 2, "nothing typed is another password"),
    ],
)
def test_a_typed_password_is_asked_for_twice(
    typed: list[str], differ: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = iter(typed)
    monkeypatch.setattr("getpass.getpass", lambda prompt: next(keys))  # tests have no terminal
    said = io.StringIO()
    call_command("add_user", "nora", "--role", "board", stdout=io.StringIO(), stderr=said)
    assert User.objects.get().check_password(GOOD) and next(keys, None) is None, reason
    assert said.getvalue().count("The two passwords differ.") == differ, reason


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"password": "short"}, "a password that the rules refuse"),
        ({"email": "nora"}, "no address"),
        ({"email": "olga@example.org"}, "somebody else's address"),
        ({"name": "olga"}, "somebody else's name"),
    ],
)
def test_what_will_not_do_makes_no_account(
    values: dict[str, str], reason: str, olga: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    User.objects.filter(pk=olga.pk).update(email="olga@example.org")
    given: dict[str, Any] = {"name": "nora", "email": "nora@example.org", "password": GOOD} | values
    with pytest.raises(CommandError):
        add(monkeypatch, given["name"], "--role", "board", "--email", given["email"], password=given["password"])
    assert User.objects.count() == 1, reason
