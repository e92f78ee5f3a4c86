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


def test_a_form_from_elsewhere_is_refused_with_what_to_do(tara: Tasker) -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post("/sign-in/", {"username": "tara", "password": PASSWORD})
    assert answer.status_code == 403
    assert "reload the page, and send again" in answer.content.decode()
