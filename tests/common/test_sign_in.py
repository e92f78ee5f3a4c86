"""Signing in, staying signed in at one query a request, and every way in which a session ends."""

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


def test_one_query_tells_which_session_and_who(client_of_tara: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        page = client_of_tara.get("/sign-in/").content.decode()  # a page that asks nothing but who is there
    assert "You are signed in as tara" in page
    assert len(queries) == 1


def test_a_stranger_costs_no_query(client: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        client.get("/healthz")
    assert len(queries) == 0


def test_it_leads_back_to_the_page_asked_for(tara: Tasker, client: Client) -> None:
    answer = client.post("/sign-in/", {"username": "tara", "password": PASSWORD, "next": "/api/docs/"})
    assert answer["Location"] == "/api/docs/"


@pytest.mark.parametrize("elsewhere", ["https://elsewhere.example/", "//elsewhere.example/", "javascript:alert(1)"])
def test_it_leads_nobody_to_another_site(elsewhere: str, tara: Tasker, client: Client) -> None:
    answer = client.post("/sign-in/", {"username": "tara", "password": PASSWORD, "next": elsewhere})
    assert answer["Location"] == "/"


def test_a_wrong_password_is_answered_with_what_to_do(tara: Tasker, client: Client) -> None:
    answer = client.post("/sign-in/", {"username": "tara", "password": "wrong"})
    page = answer.content.decode()
    assert "do not belong together" in page
    assert 'value="tara"' in page  # the name is kept
    assert "wrong" not in page.replace("do not belong", "")  # the password is not


def test_the_sign_ins_are_printed_in_the_demo_alone(client: Client, settings: Any) -> None:
    assert "demo-only" not in client.get("/sign-in/").content.decode()
    settings.DEMO = True
    assert "demo-only" in client.get("/sign-in/").content.decode()


def test_signing_out_ends_the_session_and_takes_a_post(client_of_tara: Client) -> None:
    assert client_of_tara.get("/sign-out/").status_code == 405
    assert who(client_of_tara) == 200
    assert client_of_tara.post("/sign-out/")["Location"] == "/sign-in/"
    assert who(client_of_tara) == 401
    assert not UserSession.objects.exists()


def test_another_password_ends_every_session(client_of_tara: Client, tara: Tasker) -> None:
    assert tara.user is not None
    tara.user.set_password("another-password")
    tara.user.save()
    assert who(client_of_tara) == 401
    assert not UserSession.objects.exists()


def test_a_session_outlives_a_change_of_the_secret_key(client_of_tara: Client, settings: Any) -> None:
    before, key = settings.SECRET_KEY, client_of_tara.cookies["sessionid"].value
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "the next secret key" * 3, [before]
    assert who(client_of_tara) == 200
    assert client_of_tara.cookies["sessionid"].value != key
    assert [each.user.username for each in UserSession.objects.all()] == ["tara"]
    settings.SECRET_KEY_FALLBACKS = []  # it was used meanwhile, and so belongs to the present key
    assert who(client_of_tara) == 200


def test_a_session_that_was_not_used_meanwhile_ends_with_its_secret_key(client_of_tara: Client, settings: Any) -> None:
    settings.SECRET_KEY = "the next secret key" * 3
    assert who(client_of_tara) == 401


def test_a_closed_account_is_signed_out(client_of_tara: Client) -> None:
    User.objects.filter(username="tara").update(is_active=False)
    assert who(client_of_tara) == 401


def test_a_session_ends_by_itself(client_of_tara: Client) -> None:
    UserSession.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert who(client_of_tara) == 401


def test_a_session_key_that_was_never_given_out_opens_nothing(client: Client) -> None:
    client.cookies["sessionid"] = "x" * 32
    assert who(client) == 401


def test_a_session_whose_content_was_forged_opens_nothing(client_of_tara: Client, otto: Tasker) -> None:
    """Somebody who can write the table, not the key: another user's number beside the session's own content."""
    assert otto.user is not None
    UserSession.objects.update(user=otto.user)
    assert who(client_of_tara) == 401


def test_a_session_whose_content_is_not_signed_opens_nothing(client_of_tara: Client) -> None:
    UserSession.objects.update(session_data="eyJfYXV0aF91c2VyX2lkIjoiMSJ9:forged:forged")
    assert who(client_of_tara) == 401


def test_ten_wrong_passwords_close_the_account_for_an_hour_and_say_so(tara: Tasker, client: Client) -> None:
    for _ in range(9):
        assert client.post("/sign-in/", {"username": "tara", "password": "wrong"}).status_code == 200
    tenth = client.post("/sign-in/", {"username": "tara", "password": "wrong"})
    page = tenth.content.decode()
    assert tenth.status_code == 429
    assert tenth["Retry-After"] == "3600"
    assert "Wait one hour" in page
    assert "axes_reset_username tara" in page
    # The right password is refused too, and opens again when an organizer says so.
    right = {"username": "tara", "password": PASSWORD}
    assert client.post("/sign-in/", right).status_code == 429
    reset(username="tara")
    assert client.post("/sign-in/", right).status_code == 302


def test_an_account_closed_for_one_is_open_for_others(tara: Tasker, otto: Tasker, client: Client) -> None:
    for _ in range(10):
        client.post("/sign-in/", {"username": "tara", "password": "wrong"})
    assert client.post("/sign-in/", {"username": "otto", "password": PASSWORD}).status_code == 302
    elsewhere = Client(REMOTE_ADDR="192.0.2.7")
    assert elsewhere.post("/sign-in/", {"username": "tara", "password": PASSWORD}).status_code == 302


PROXY = "10.0.0.1"  # every request comes from it


@pytest.mark.parametrize(
    ("proxies", "attackers", "taras", "reason"),
    [
        (0, "192.0.2.66", "198.51.100.7", "no proxy is trusted: what a client says of itself counts for nothing"),
        (1, "192.0.2.66, 203.0.113.5", "198.51.100.7, 203.0.113.5", "one proxy: the last address, others are hearsay"),
        (2, "192.0.2.66", "198.51.100.7", "fewer addresses than proxies: they were not all passed"),
        (1, "not an address", "unknown", "nothing that could be counted"),
    ],
)
def test_wrong_passwords_are_counted_together(
    proxies: int, attackers: str, taras: str, reason: str, tara: Tasker, settings: Any
) -> None:
    settings.TRUSTED_PROXIES = proxies
    _ten_wrong(attackers)
    assert _sign_in(taras) == 429, reason


@pytest.mark.parametrize(
    ("proxies", "attackers", "taras", "reason"),
    [
        (1, "192.0.2.66", "198.51.100.7", "one proxy names the client"),
        (1, "198.51.100.7, 192.0.2.66", "198.51.100.7", "an attacker who claims to be asking for tara's address"),
        (2, "192.0.2.66, 203.0.113.5", "198.51.100.7, 203.0.113.5", "the outer proxy names the client"),
        (1, "2001:db8:0:1::66", "2001:DB8:0:2::7", "two connections of the newer kind"),
    ],
)
def test_behind_proxies_nobody_closes_an_account_for_others(
    proxies: int, attackers: str, taras: str, reason: str, tara: Tasker, settings: Any
) -> None:
    settings.TRUSTED_PROXIES = proxies
    _ten_wrong(attackers)
    assert _sign_in(attackers) == 429, "from the same address it is closed"
    assert _sign_in(taras) == 302, reason


def _ten_wrong(forwarded_for: str) -> None:
    for _ in range(10):
        _sign_in(forwarded_for, password="wrong")


def _sign_in(forwarded_for: str, *, password: str = PASSWORD) -> int:
    client = Client(REMOTE_ADDR=PROXY, headers={"X-Forwarded-For": forwarded_for})
    return client.post("/sign-in/", {"username": "tara", "password": password}).status_code


def test_an_attacker_cannot_start_anew_by_claiming_other_addresses(tara: Tasker, settings: Any) -> None:
    settings.TRUSTED_PROXIES = 1
    tries = [_sign_in(f"203.0.113.{n}, 192.0.2.66", password="wrong") for n in range(10)]
    assert tries == [200] * 9 + [429]


def test_a_form_from_elsewhere_is_refused_with_what_to_do(tara: Tasker) -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post("/sign-in/", {"username": "tara", "password": PASSWORD})
    assert answer.status_code == 403
    assert "reload the page, and send again" in answer.content.decode()
