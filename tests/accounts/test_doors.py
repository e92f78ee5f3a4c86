"""Who comes in by which door with what, and what a passkey has to be: its challenge, its counter, its owner."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyotp
import pytest
from allauth.mfa.models import Authenticator
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.core import mail
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from accounts.models import ApiToken, UserSession
from accounts.passkeys import CEREMONY_WITHIN
from accounts.second_factor import code_take, enrolment, recovery_codes_left, second_factor_turn_on
from common.mail import wait_until_sent
from labeling.models import Tasker
from tests.accounts.security_key import FLAG, SecurityKey
from tests.factories import PASSWORD
from tests.labeling.cast import shows

pytestmark = pytest.mark.django_db

FACTOR = "/account/second-factor/"
PAGE, DIALOG, OUTLINE, TOKEN = "/sign-in/", "the dialog over the outline", "/label/", "/api/v1/token/"


def knock(door: str, client: Client | None = None, **fields: str) -> Any:
    """Try to come in as Tara."""
    values = {"username": "tara", "password": PASSWORD, **fields}
    if door == DIALOG:  # it sends what its form has, empty or not, to the page
        return (client or Client()).post(PAGE, {"otp": "", "passkey": ""} | values)
    json_body = {"content_type": "application/json"} if door == TOKEN else {}
    return (client or Client()).post(door, values, **json_body)


def is_in() -> bool:
    """Say whether somebody came in; sessions of a stranger who was asked for a passkey have no user."""
    return UserSession.objects.filter(user__isnull=False).exists() or ApiToken.objects.exists()


def add_passkey(client: Client, key: SecurityKey, **fields: str) -> Any:
    begun = client.post(FACTOR, {"action": "passkey_begin", "name": "Key", "password": PASSWORD} | fields)
    assert begun.status_code == 200, begun.content.decode()
    sent = {"action": "passkey_add", "name": "Key", "credential": key.make(begun.context["options"])}
    return client.post(FACTOR, sent)


@pytest.fixture
def key(tara: Tasker, client: Client) -> SecurityKey:
    """Tara's only factor."""
    made = SecurityKey()
    assert client.post(PAGE, {"username": "tara", "password": PASSWORD}).status_code == 302
    assert len(add_passkey(client, made).context["codes"]) == 10
    client.post("/sign-out/")
    return made


def options_of(answer: Any) -> dict[str, Any]:
    options: dict[str, Any] = json.loads(answer["Passkey-Options"])
    return options


def by_passkey(key: SecurityKey, door: str = PAGE) -> Any:
    client = Client()
    asked = knock(door, client)
    options = asked.context["form"].passkey_options if door == OUTLINE else options_of(asked)
    return knock(door, client, passkey=key.sign(options))


def _app(user: User) -> str:
    begun, then = enrolment(user), timezone.now() - timedelta(hours=1)
    second_factor_turn_on(user=user, signed=begun.signed, code=pyotp.TOTP(begun.secret).at(then), now=then)
    return pyotp.TOTP(begun.secret).now()


# Whether the password comes in: alone, with the code of the app, with the passkey.
DOORS = [
    (door, factors, opens)
    for door in (PAGE, DIALOG, OUTLINE, TOKEN)
    for factors, opens in {
        "none": (True, None, None),
        "app": (False, True, None),
        # A program brings a code: of recovery, or of an app beside the passkey.
        "passkey": (False, None, None if door == TOKEN else True),
        "app and passkey": (False, True, None if door == TOKEN else True),
        "a closed account": (False, False, None if door == TOKEN else False),
        "a locked account": (False, False, None if door == TOKEN else False),
    }.items()
]


@pytest.mark.parametrize(("door", "factors", "opens"), DOORS)
def test_what_opens_each_door(door: str, factors: str, opens: tuple[bool | None, ...], tara: Tasker) -> None:
    user, key, code = User.objects.get(username="tara"), SecurityKey(), "123456"
    if factors in ("app", "app and passkey") or factors.endswith("account"):
        code = _app(user)
    asking = Client()
    if factors.endswith("passkey") or factors.endswith("account"):
        owner = Client()
        owner.force_login(user, backend="accounts.session_store.UserBackend")
        add_passkey(owner, key)
        owner.post("/sign-out/")
        if door != TOKEN:
            asked = knock(door, asking)
            passkey = key.sign(asked.context["form"].passkey_options)
    if factors == "a closed account":
        User.objects.update(is_active=False)
    elif factors == "a locked account":
        for _ in range(10):
            knock(PAGE, password="wrong")
    alone, with_code, with_passkey = opens
    for expected, client, fields in (
        (alone, None, {}),
        (with_code, None, {"otp": code}),
        (with_passkey, asking, {} if with_passkey is None else {"passkey": passkey}),
    ):
        if expected is not None:
            # A session that was begun for another ceremony is a stranger's: the asking one is kept for its own.
            knock(door, client, **fields)
            assert is_in() is expected, fields
            UserSession.objects.filter(user__isnull=False).delete()
            ApiToken.objects.all().delete()


def test_a_program_brings_a_recovery_code_where_there_is_no_app(key: SecurityKey, client: Client) -> None:
    answer = knock(TOKEN)
    assert (answer.status_code, answer.json()["code"]) == (400, "code_needed")
    assert knock(TOKEN, passkey="{}").json()["fields"].keys() == {"passkey"}, "a token is never asked for by a passkey"
    by_passkey(key)


def refused_sign_in(key: SecurityKey, prepare: Callable[[SecurityKey, Client], Any]) -> bool:
    """Say whether nobody comes in where `prepare` spoils something between the question and the answer."""
    client = Client()
    options = options_of(knock(PAGE, client))
    answer = prepare(key, client)
    knock(PAGE, client, passkey=answer if isinstance(answer, str) else key.sign(options))
    return not is_in()


def _later(key: SecurityKey, client: Client) -> None:
    session = client.session
    session["passkey.begun"] = (timezone.now() - CEREMONY_WITHIN - timedelta(seconds=1)).isoformat()
    session.save()


_EMPTY = {"clientDataJSON": "e30", "authenticatorData": "AA", "signature": "AA"}
NO_ANSWERS = [
    *("{}", "[]", "null", "1", "{", "[" * 5000, "x" * 20_000),
    *(json.dumps({"id": "x", "rawId": "x", "type": "public-key", "response": each}) for each in ({}, _EMPTY, None)),
]
SPOILT: list[tuple[str, Callable[[SecurityKey, Client], Any]]] = [
    ("another site", lambda key, client: setattr(key, "origin", "http://localhost.example:8000")),
    ("nobody touched it", lambda key, client: setattr(key, "flags", FLAG.UV)),
    ("nobody was verified", lambda key, client: setattr(key, "flags", FLAG.UP)),
    ("another key", lambda key, client: setattr(key, "key", SecurityKey().key)),
    ("an unknown key", lambda key, client: setattr(key, "id", b"x" * 16)),
    ("another session's challenge", lambda key, client: key.sign(options_of(knock(PAGE)))),
    ("a challenge of long ago", _later),
    ("the counter fell", lambda key, client: setattr(key, "count", 0)),
    ("the account is closed", lambda key, client: User.objects.update(is_active=False) and None),
    *((f"no answer: {text[:12]}", lambda key, client, text=text: text) for text in NO_ANSWERS),
]


@pytest.mark.parametrize(("why", "spoil"), SPOILT, ids=[why for why, _ in SPOILT])
def test_a_passkey_is_refused(why: str, spoil: Callable[[SecurityKey, Client], Any], key: SecurityKey) -> None:
    key.count = 5
    assert by_passkey(key)["Location"] == "/"
    UserSession.objects.all().delete()
    assert refused_sign_in(key, spoil), why


@pytest.mark.both("the second of two requests waits for the row of the first")
@pytest.mark.parametrize("count", [1, 0], ids=["counts", "shared by devices, counts nothing"])
def test_an_answer_opens_once(count: int, tara: Tasker, client: Client) -> None:
    """Also to who has the cookie, and to a second request that began with the same session."""
    key = SecurityKey()
    key.count = count
    client.post(PAGE, {"username": "tara", "password": PASSWORD})
    add_passkey(client, key)
    client.post("/sign-out/")
    stranger = Client()
    answer = key.sign(options_of(knock(PAGE, stranger)))
    held = UserSession.objects.get()
    assert knock(PAGE, stranger, passkey=answer).status_code == 302
    before = stranger.cookies["sessionid"].value
    assert before != held.session_key, "the session has another name once somebody is in"
    UserSession.objects.all().delete()
    held.save(force_insert=True)
    again = Client()
    again.cookies["sessionid"] = held.session_key
    knock(PAGE, again, passkey=answer)
    assert not is_in()


def test_wrong_passkeys_are_counted_as_wrong_passwords_are(key: SecurityKey) -> None:
    assert [knock(PAGE, passkey="{}").status_code for _ in range(10)] == [200] * 9 + [429]
    assert AccessAttempt.objects.get().failures_since_start == 10
    assert knock(PAGE).status_code == 429, "the question is not asked any more either"


def test_guessed_codes_do_not_keep_the_owner_of_a_passkey_out(key: SecurityKey) -> None:
    user = User.objects.get(username="tara")
    for _ in range(10):
        code_take(user=user, code="000000", now=timezone.now())
    assert by_passkey(key).status_code == 302


def test_a_passkey_is_added_with_the_password_alone_and_told(
    tara: Tasker, otto: Tasker, client: Client, django_capture_on_commit_callbacks: Any
) -> None:
    User.objects.filter(username="tara").update(email="tara@example.org")
    client.post(PAGE, {"username": "tara", "password": PASSWORD})
    shows(client.post(FACTOR, {"action": "passkey_begin", "password": "wrong"}), "not your password", status=400)
    key, other = SecurityKey(), SecurityKey()
    unasked = {"action": "passkey_add", "credential": key.make({"rp": {"id": "localhost"}, "challenge": "AAAA"})}
    shows(client.post(FACTOR, unasked), "The passkey was not made", status=400)
    with django_capture_on_commit_callbacks(execute=True):
        assert len(add_passkey(client, key).context["codes"]) == 10
        assert add_passkey(client, other).status_code == 303, "the codes stay as they are"
    first, second = Authenticator.objects.filter(type="webauthn").order_by("pk")
    stranger = Client()
    stranger.post(PAGE, {"username": "otto", "password": PASSWORD})
    remove = {"action": "passkey_remove", "password": PASSWORD, "passkey": str(first.pk)}
    shows(stranger.post(FACTOR, remove), "removed already", status=400)
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(FACTOR, remove | {"password": "wrong"}).status_code == 400
        assert client.post(FACTOR, remove)["Location"] == FACTOR
        assert client.post(FACTOR, remove | {"passkey": str(second.pk)})["Location"] == "/account/"
    assert not Authenticator.objects.exists(), "recovery codes go with the last factor"
    wait_until_sent()
    told = ["A passkey was added"] * 2 + ["A passkey was removed", "The second factor is off"]
    assert [each.subject for each in mail.outbox] == told


def test_a_passkey_is_one_accounts_and_added_once(tara: Tasker, client: Client) -> None:
    client.post(PAGE, {"username": "tara", "password": PASSWORD})
    key = SecurityKey()
    add_passkey(client, key)
    assert add_passkey(client, key).status_code == 400
    key.flags = FLAG.UP
    key.id = b"y" * 16
    assert add_passkey(client, key).status_code == 400, "who made it was not verified"


def test_an_organizer_removes_passkeys_too(key: SecurityKey) -> None:
    call_command("second_factor_off", "tara")
    assert knock(PAGE).status_code == 302
    assert recovery_codes_left(User.objects.get(username="tara")) == 0
