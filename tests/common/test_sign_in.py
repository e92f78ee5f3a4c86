"""Signing in, staying signed in at one query a request, and every way in which a session ends."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from axes.utils import reset
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from common.models import UserSession
from labeling.models import Tasker
from tests.factories import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture
def client_of_tara(tara: Tasker) -> Client:
    client = Client()
    assert client.post("/sign-in/", {"username": "tara", "password": PASSWORD}).status_code == 302
    return client


def who(client: Client) -> int:
    return client.get("/api/v1/me/").status_code


def test_one_query_tells_which_session_and_who_and_a_stranger_costs_none(client_of_tara: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        page = client_of_tara.get("/sign-in/").content.decode()  # a page that asks nothing but who is there
    assert "You are signed in as tara" in page
    assert len(queries) == 1
    with CaptureQueriesContext(connection) as queries:
        Client().get("/healthz")
    assert len(queries) == 0


@pytest.mark.parametrize(
    ("asked", "led"),
    [
        ("/api/docs/", "/api/docs/"),
        # Nobody is led to another site.
        ("https://elsewhere.example/", "/"),
        ("//elsewhere.example/", "/"),
        ("javascript:alert(1)", "/"),
    ],
)
def test_it_leads_back_to_the_page_asked_for(asked: str, led: str, tara: Tasker, client: Client) -> None:
    answer = client.post("/sign-in/", {"username": "tara", "password": PASSWORD, "next": asked})
    assert answer["Location"] == led


def test_a_wrong_password_is_answered_with_what_to_do(tara: Tasker, client: Client) -> None:
    answer = client.post("/sign-in/", {"username": "tara", "password": "wrong"})
    page = answer.content.decode()
    assert "do not belong together" in page
    assert ('value="tara"' in page, "wrong" in page) == (True, False), "the name is kept, the password is not"


def test_the_sign_ins_are_printed_in_the_demo_alone(client: Client, settings: Any) -> None:
    assert "demo-only" not in client.get("/sign-in/").content.decode()
    settings.DEMO = True
    assert "demo-only" in client.get("/sign-in/").content.decode()


def test_signing_out_ends_the_session_and_takes_a_post(client_of_tara: Client) -> None:
    assert (client_of_tara.get("/sign-out/").status_code, who(client_of_tara)) == (405, 200)
    assert (client_of_tara.post("/sign-out/")["Location"], who(client_of_tara)) == ("/sign-in/", 401)
    assert not UserSession.objects.exists()


def test_a_session_outlives_a_change_of_the_secret_key(client_of_tara: Client, settings: Any) -> None:
    before, key = settings.SECRET_KEY, client_of_tara.cookies["sessionid"].value
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "the next secret key" * 3, [before]
    assert who(client_of_tara) == 200
    assert client_of_tara.cookies["sessionid"].value != key
    assert [each.user.username for each in UserSession.objects.all()] == ["tara"]
    settings.SECRET_KEY_FALLBACKS = []  # it was used meanwhile, and so belongs to the present key
    assert who(client_of_tara) == 200


def _another_password() -> None:
    user = User.objects.get(username="tara")
    user.set_password("another-password")
    user.save()


ENDS: list[tuple[str, Callable[[], object]]] = [
    ("another password", _another_password),
    ("a closed account", lambda: User.objects.filter(username="tara").update(is_active=False)),
    ("its time is over", lambda: UserSession.objects.update(expire_date=timezone.now() - timedelta(seconds=1))),
    # Somebody who can write the table and has not the key: another user's number beside the session's own content.
    ("another's content", lambda: UserSession.objects.update(user=User.objects.get(username="otto"))),
    ("unsigned content", lambda: UserSession.objects.update(session_data="eyJfYXV0aF91c2VyX2lkIjoiMSJ9:forged:forged")),
    ("a key that was never given out", lambda: UserSession.objects.update(session_key="x" * 32)),
]


@pytest.mark.parametrize(("what", "end"), ENDS, ids=[row[0] for row in ENDS])
def test_a_session_ends_with(what: str, end: Callable[[], object], client_of_tara: Client, otto: Tasker) -> None:
    assert who(client_of_tara) == 200
    end()
    assert who(client_of_tara) == 401, what


def test_a_session_that_was_not_used_meanwhile_ends_with_its_secret_key(client_of_tara: Client, settings: Any) -> None:
    settings.SECRET_KEY = "the next secret key" * 3
    assert who(client_of_tara) == 401


def test_ten_wrong_passwords_close_the_account_for_an_hour_and_say_so(
    tara: Tasker, otto: Tasker, client: Client
) -> None:
    for _ in range(9):
        assert client.post("/sign-in/", {"username": "tara", "password": "wrong"}).status_code == 200
    tenth = client.post("/sign-in/", {"username": "tara", "password": "wrong"})
    assert (tenth.status_code, tenth["Retry-After"]) == (429, "3600")
    assert re.search("(?s)Wait one hour.*axes_reset_username tara", tenth.content.decode())
    # The right password is refused too, and opens again when an organizer says so.
    right = {"username": "tara", "password": PASSWORD}
    assert client.post("/sign-in/", right).status_code == 429
    assert client.post("/sign-in/", right | {"username": "otto"}).status_code == 302, "it is open for others"
    reset(username="tara")
    assert client.post("/sign-in/", right).status_code == 302


PROXY = "10.0.0.1"  # every request comes from it


@pytest.mark.parametrize(
    ("proxies", "attackers", "taras", "closed", "reason"),
    [
        (0, "192.0.2.66", "198.51.100.7", True, "no proxy is trusted: what a client says of itself counts for nothing"),
        (
            1,
            "192.0.2.66, 203.0.113.5",
            "198.51.100.7, 203.0.113.5",
            True,
            "one proxy: the last one, others are hearsay",
        ),
        (2, "192.0.2.66", "198.51.100.7", True, "fewer addresses than proxies: they were not all passed"),
        (1, "not an address", "unknown", True, "nothing that could be counted"),
        (1, "192.0.2.66", "198.51.100.7", False, "one proxy names the client"),
        (1, "198.51.100.7, 192.0.2.66", "198.51.100.7", False, "an attacker who claims to ask for tara's address"),
        (2, "192.0.2.66, 203.0.113.5", "198.51.100.7, 203.0.113.5", False, "the outer proxy names the client"),
        (1, "2001:db8:0:1::66", "2001:DB8:0:2::7", False, "two connections of the newer kind"),
    ],
)
def test_wrong_passwords_are_counted_by_the_address_that_a_trusted_proxy_names(
    proxies: int, attackers: str, taras: str, closed: bool, reason: str, tara: Tasker, settings: Any
) -> None:
    settings.TRUSTED_PROXIES = proxies
    for _ in range(10):
        _sign_in(attackers, password="wrong")
    assert _sign_in(attackers) == 429, "from the same address it is closed"
    assert _sign_in(taras) == (429 if closed else 302), reason


def _sign_in(forwarded_for: str, *, password: str = PASSWORD) -> int:
    client = Client(REMOTE_ADDR=PROXY, headers={"X-Forwarded-For": forwarded_for})
    return client.post("/sign-in/", {"username": "tara", "password": password}).status_code


def test_a_form_from_elsewhere_is_refused_with_what_to_do(tara: Tasker) -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post("/sign-in/", {"username": "tara", "password": PASSWORD})
    assert answer.status_code == 403
    assert "reload the page, and send again" in answer.content.decode()
