"""Guessing: each door, what it counts, and when it closes."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import structlog
from axes.models import AccessAttempt
from django.db.models import F
from django.test import Client, RequestFactory
from django.test.client import MULTIPART_CONTENT

from common import client_address
from common.guessing import MOST_LETTERS_TO_ONE, MOST_NAMES, MOST_NAMES_A_MINUTE, MOST_TRIES
from labeling.models import Tasker
from tests import factories

pytestmark = pytest.mark.django_db
PAGE, API = "/sign-in/", "/api/v1/token/"
WRONG = "wrong-password"


def sign_in(name: str, password: str = WRONG, *, door: str = PAGE, address: str = "192.0.2.7") -> int:
    return Client(REMOTE_ADDR=address).post(door, {"username": name, "password": password}, _type(door)).status_code


def _type(door: str) -> Any:
    return "application/json" if door.startswith("/api/") else MULTIPART_CONTENT


@pytest.mark.parametrize("door", [PAGE, API])
def test_one_password_tried_with_many_names_ends_after_ten(door: str, tara: Tasker) -> None:
    refused = {PAGE: 200, API: 400}[door]
    tried = [sign_in(f"name-{number}", door=door) for number in range(14)]
    assert tried == [refused] * MOST_NAMES_A_MINUTE + [429] * 4
    assert sign_in("tara", factories.PASSWORD, door=door) == 429, "a right guess is not found out either"
    assert sign_in("tara", factories.PASSWORD, door=door, address="192.0.2.8") in (200, 302), "from elsewhere it opens"


def test_names_that_failed_already_have_their_own_limit(tara: Tasker) -> None:
    """Somebody of the office mistyped before; neighbours who guess do not close the account to its owner."""
    sign_in("tara")
    for number in range(MOST_NAMES_A_MINUTE - 1):
        sign_in(f"name-{number}")
    assert sign_in("another") == 429
    assert sign_in("tara", factories.PASSWORD) == 302


def test_an_office_whose_people_mistype_and_then_sign_in_stays_open(db: None) -> None:
    people = [factories.tasker(f"person-{number}") for number in range(MOST_NAMES_A_MINUTE + 5)]
    for each in people:
        assert each.user is not None
        assert (sign_in(each.user.username), sign_in(each.user.username, factories.PASSWORD)) == (200, 302)


def test_an_own_account_takes_nothing_back_that_failed_with_others(tara: Tasker) -> None:
    for number in range(MOST_NAMES_A_MINUTE - 1):
        sign_in(f"name-{number}")
        assert sign_in("tara", factories.PASSWORD) == 302
    sign_in("the last")
    assert sign_in("one more") == 429


def test_an_office_that_mistypes_its_names_waits_a_minute_and_a_sprayer_an_hour(tara: Tasker) -> None:
    for beginning in range(0, MOST_NAMES, MOST_NAMES_A_MINUTE):
        for number in range(beginning, beginning + MOST_NAMES_A_MINUTE):
            assert sign_in(f"name-{number}", door=(PAGE, API)[number % 2]) in (200, 400), "both doors count together"
        assert (sign_in("another"), sign_in("another", door=API)) == (429, 429), "too many within a minute"
        answer = Client(REMOTE_ADDR="192.0.2.7").post(PAGE, {"username": "tara", "password": WRONG})
        assert answer["Retry-After"] in {"60", "3600"} and "different accounts" in answer.content.decode()
        AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(minutes=2))
        is_open = beginning + MOST_NAMES_A_MINUTE < MOST_NAMES
        assert sign_in("tara", factories.PASSWORD) == (302 if is_open else 429)
    answer = Client(REMOTE_ADDR="192.0.2.7").post(PAGE, {"username": "tara", "password": WRONG})
    assert answer["Retry-After"] == "3600" and f"with {MOST_NAMES} different accounts" in answer.content.decode()


def test_a_proxy_that_nobody_told_of_is_in_the_log_once(
    rf: RequestFactory, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_address, "log", structlog.get_logger("proxies"))
    client_address._warn_of_a_proxy.cache_clear()
    with structlog.testing.capture_logs() as logged:
        client_address.client_address(rf.get("/"))
        settings.TRUSTED_PROXIES = 1
        client_address.client_address(rf.get("/", HTTP_X_FORWARDED_FOR="192.0.2.1"))
        assert not logged
        settings.TRUSTED_PROXIES = 0
        for _ in range(2):
            client_address.client_address(rf.get("/", HTTP_X_FORWARDED_FOR="192.0.2.1"))
    assert [line["event"] for line in logged] == ["proxy_not_trusted"]


def test_who_is_signed_in_confirms_things_whatever_neighbours_do(tara: Tasker, signed_in: Any) -> None:
    for number in range(MOST_NAMES_A_MINUTE):
        sign_in(f"name-{number}", address="127.0.0.1")
    client = signed_in(tara)
    wrong = client.post("/account/email/", {"email": "tara@example.org", "password": WRONG})
    assert "This is not your password" in wrong.content.decode()


def _post(address: str, **fields: str) -> Callable[[Client, int], Any]:
    def knock(client: Client, number: int) -> Any:
        return client.post(address, {name: each.format(n=number) for name, each in fields.items()}, _type(address))

    return knock


def _get(address: str) -> Callable[[Client, int], Any]:
    return lambda client, number: client.get(address.format(n=number))


DOORS = [
    ("a password of one account", _post(PAGE, username="tara", password="w-{n}"), MOST_TRIES, False),
    ("names, one password", _post(PAGE, username="w-{n}", password="w"), MOST_NAMES_A_MINUTE, False),
    ("the API's names", _post(API, username="w-{n}", password="w"), MOST_NAMES_A_MINUTE, False),
    ("the own password", _post("/account/email/", email="a@example.org", password="w-{n}"), MOST_TRIES, True),
    ("the own password, for another", _post("/account/password/", password="w-{n}"), MOST_TRIES, True),
    ("the own password, to leave", _post("/account/delete/", confirmation="{n}", password="w"), None, True),
    ("invitations", _get("/join/w-{n}/"), MOST_TRIES, False),
    ("invitations to a team", _get("/team/join/w-{n}/"), MOST_TRIES, False),
    ("registrations", _get("/register/w-{n}/"), MOST_TRIES, False),
    ("links to a new password", _get("/password/MQ/w-{n}/"), MOST_TRIES, False),
    ("links that confirm an address", _get("/account/email/w-{n}/"), MOST_TRIES, True),
    ("links that confirm a subscription", _get("/releases/mail/confirm/w-{n}/"), MOST_TRIES, False),
    ("requests for a new password", _post("/password/", email="a@example.org"), MOST_LETTERS_TO_ONE, False),
    ("requests for an account", _post("/register/", email="a@example.org"), MOST_LETTERS_TO_ONE, False),
    ("subscriptions", _post("/releases/mail/", email="a@example.org"), MOST_LETTERS_TO_ONE, False),
    (
        "requests for another address",
        _post("/account/email/", email="a@example.org", password=factories.PASSWORD),
        MOST_LETTERS_TO_ONE,
        True,
    ),
    (
        "requests for other addresses",
        _post("/account/email/", email="a{n}@example.org", password=factories.PASSWORD),
        MOST_TRIES,
        True,
    ),
]


@pytest.mark.parametrize(("door", "knock", "most", "inside"), DOORS, ids=[each[0] for each in DOORS])
def test_each_door_closes(
    door: str, knock: Callable[[Client, int], Any], most: int | None, inside: bool, tara: Tasker, signed_in: Any
) -> None:
    client = signed_in(tara) if inside else Client()
    statuses = [knock(client, number).status_code for number in range((most or MOST_TRIES) + 1)]
    if most is None:
        assert 429 not in statuses, "nothing is guessed before the confirmation is typed"
        return
    assert statuses[-1] == 429, statuses
    assert 429 not in statuses[: most - 1], statuses


def test_what_is_kept_of_a_wrong_link_opens_nothing(client: Client) -> None:
    """A link that lost a letter on its way is nearly the secret itself."""
    client.get("/join/nearly-the-secret/")
    assert AccessAttempt.objects.get().path_info == "/join/…"
