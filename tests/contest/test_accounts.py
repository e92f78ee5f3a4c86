"""Accounts: their tokens and calls of the API, and the command that makes the first ones."""

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from accounts.models import AccountRole, ApiToken
from common.errors import DomainError
from contest.core.models import Member, Team
from labeling.models import Tasker
from tests import factories

pytestmark = pytest.mark.django_db
TOKEN = "/api/v1/token/"


def post(client: Client, **body: Any) -> Any:
    return client.post(TOKEN, body, content_type="application/json")


def token_of(tasker: Tasker) -> str:
    return str(post(Client(), username=tasker.user.get_username(), password=factories.PASSWORD).json()["token"])


def bearer(token: str) -> Client:
    return Client(headers={"Authorization": f"Token {token}"})


def me(client: Client) -> Any:
    return client.get("/api/v1/me/")


def opens(token: str) -> bool:
    """Whether the token opens the API; the only other answer is 401."""
    answer = me(bearer(token))
    assert answer.status_code == 200 or (answer.status_code, answer.json()["code"]) == (401, "authentication_failed")
    return bool(answer.status_code == 200)


def test_a_name_and_a_password_give_a_token_of_which_the_hash_alone_is_kept(tara: Tasker) -> None:
    answer = post(bearer("long-gone"), username="tara", password=factories.PASSWORD)
    assert answer.status_code == 200, "also to who holds one that is over"
    token = answer.json()["token"]
    assert me(bearer(token)).json() == {
        "username": "tara",
        "roles": ["tasker"],
        "tasker_id": tara.public_id,
        "teams": [],
        "quota_left": None,
    }
    assert token not in json.dumps(list(ApiToken.objects.values("digest")))


WRONG = [
    ({"username": "tara"}, "password"),
    ({"password": "demo-only"}, "username"),
    ({"username": "tara", "password": ""}, "password"),
    ({"username": ["tara"], "password": "x"}, "username"),
    ({"username": "t" * 151, "password": "x"}, "username"),
    ({"username": "tara", "password": "demo-only", "remember": True}, "remember"),
]


def test_a_wrong_body_is_refused_by_the_name_of_the_field(tara: Tasker, client: Client) -> None:
    for body, field in WRONG:
        answer = post(client, **body)
        found = answer.json()
        assert (answer.status_code, found["code"], list(found["fields"])) == (400, "invalid", [field]), body
    for text in ("[1, 2]", "null", '"tara"', "{", "NaN"):
        answer = client.post(TOKEN, text, content_type="application/json")
        assert answer.status_code == 400 and set(answer.json()) >= {"code", "detail"}, text


def test_a_wrong_password_gets_no_token_and_ten_close_the_account(tara: Tasker, otto: Tasker, client: Client) -> None:
    for _ in range(9):
        answer = post(client, username="tara", password="wrong")
        assert (answer.status_code, answer.json()["code"]) == (400, "wrong_credentials")
    tenth = post(client, username="tara", password="wrong")
    assert (tenth.status_code, tenth.json()["code"], tenth["Retry-After"]) == (429, "locked_out", "3600")
    assert post(client, username="tara", password=factories.PASSWORD).status_code == 429
    User.objects.filter(pk=otto.user_id).update(is_active=False)  # nor does who has a closed account
    assert post(Client(), username="otto", password=factories.PASSWORD).status_code == 400
    assert not ApiToken.objects.exists()


def test_a_token_is_sent_as_token_or_bearer_and_as_nothing_else(tara: Tasker) -> None:
    token = token_of(tara)
    statuses = {
        scheme: me(Client(headers={"Authorization": f"{scheme} {token}"})).status_code
        for scheme in ("Token", "token", "Bearer", "BEARER", "Basic", "Bearers")
    }
    assert statuses == {"Token": 200, "token": 200, "Bearer": 200, "BEARER": 200, "Basic": 401, "Bearers": 401}


def test_a_token_ends_with_its_time_and_with_the_password(tara: Tasker, otto: Tasker) -> None:
    tokens, of_somebody_else = [token_of(tara), token_of(tara)], token_of(otto)
    tara.user.set_password("another-password")
    tara.user.save()
    assert [opens(each) for each in (*tokens, of_somebody_else)] == [False, False, True]
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert not opens(of_somebody_else)


def test_a_token_is_revoked_by_itself_and_alone(tara: Tasker, signed_in: Any) -> None:
    lost, kept = token_of(tara), token_of(tara)
    assert signed_in(tara).delete(TOKEN).status_code == 401, "a session has none"
    answer = bearer(lost).delete(TOKEN)
    assert (answer.status_code, answer.content, opens(lost), opens(kept)) == (204, b"", False, True)
    assert bearer(lost).delete(TOKEN).status_code == 401


def test_a_token_outlives_a_change_of_the_secret_key_where_it_was_used_meanwhile(tara: Tasker, settings: Any) -> None:
    used, unused = token_of(tara), token_of(tara)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "the next secret key" * 3, [settings.SECRET_KEY]
    assert opens(used)
    settings.SECRET_KEY_FALLBACKS = []  # the one that was used belongs to the present key
    assert (opens(used), opens(unused)) == (True, False)


def test_every_role_is_told(olga: User, rita: User, stan: User, signed_in: Any, client: Client) -> None:
    team = Team.objects.create(name="red", created_at=timezone.now())
    Member.objects.create(team=team, user=stan)
    told = [me(signed_in(each)).json() for each in (olga, rita, stan)]
    assert [each["roles"] for each in told] == [["organizer"], ["board"], ["team"]]
    assert told[2]["teams"] == [{"id": team.public_id, "name": "red"}]
    stranger, nowhere = me(client), client.get("/api/v1/nothing/")
    assert (stranger.status_code, stranger.json()["code"]) == (401, "not_authenticated")
    assert (nowhere.status_code, nowhere.json()["code"]) == (404, "not_found")


# The command that makes the first accounts ----------------------------------------------------------------------------

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
    with pytest.raises((CommandError, DomainError)):
        add(monkeypatch, given["name"], "--role", "board", "--email", given["email"], password=given["password"])
    assert User.objects.count() == 1, reason
