"""What a body may hold: anything else is refused before a call looks at it, for strangers too."""

from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from common.parsers import MOST_LEVELS
from labeling.models import Assignment, Tasker
from labeling.policy import Policy
from labeling.services import assignment_next
from tests import factories
from tests.contest.stakes import cast

pytestmark = pytest.mark.django_db
UNREADABLE = [
    pytest.param("[" * 8_000, id="so deep that no reader follows"),
    pytest.param("[" * (MOST_LEVELS + 1) + "]" * (MOST_LEVELS + 1), id="deeper than any call needs"),
    pytest.param('{"a":' * 500 + "1" + "}" * 500, id="deep objects"),
    pytest.param(r'{"username": "ta\u0000ra", "password": "x"}', id="NUL in a value"),
    pytest.param(r'{"user\u0000name": "tara", "password": "x"}', id="NUL in a name"),
    pytest.param(r'{"username": "\ud800", "password": "x"}', id="half a character in a value"),
    pytest.param(r'{"\udfff": "tara", "password": "x"}', id="half a character in a name"),
    pytest.param(r'{"username": [["\ud83d"]], "password": "x"}', id="half a character further in"),
    pytest.param('{"username": "tara"', id="cut off"),
    pytest.param(b'{"username": "\xff"}', id="not UTF-8"),
]


def claim(tasker: Tasker) -> Assignment:
    factories.policy_version()
    factories.panel()
    held = assignment_next(tasker=tasker, holding=(), policy=Policy(), now=timezone.now(), rng=Random(1))
    assert isinstance(held, Assignment)
    return held


@pytest.mark.parametrize("body", UNREADABLE)
def test_a_body_that_no_call_can_use_is_refused_to_strangers(body: str | bytes, client: Client) -> None:
    answer = client.post("/api/v1/token/", body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "parse_error")
    assert answer.json()["detail"]


@pytest.mark.parametrize("body", UNREADABLE)
@pytest.mark.parametrize("call", ["next", "{id}/heartbeat", "{id}/release", "{id}/response"])
def test_every_call_refuses_it(call: str, body: str | bytes, tara: Tasker, signed_in: Any) -> None:
    held = claim(tara)
    address = f"/api/v1/assignments/{call.format(id=held.public_id)}/"
    answer = signed_in(tara).post(address, body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "parse_error")


@pytest.mark.parametrize(
    ("address", "sent", "taken"),
    [
        ("/api/v1/token/", "application/x-www-form-urlencoded", "Send application/json, "),
        ("/api/v1/token/", "multipart/form-data; boundary=x", "Send application/json, "),
        ("/api/v1/token/", "text/plain", "Send application/json, "),
        ("/api/v1/attacks/", "application/json", "Send multipart/form-data, "),
        ("/api/v1/defenses/", "text/plain", "Send multipart/form-data or application/json, "),
    ],
)
def test_a_type_that_is_not_taken_is_refused_with_those_that_are(
    address: str, sent: str, taken: str, signed_in: Any
) -> None:
    answer = signed_in(cast.captain(cast.team("blue"))).post(address, "username=tara", content_type=sent)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert taken in answer.json()["detail"] and sent.partition(";")[0] in answer.json()["detail"]


def test_characters_beyond_the_first_plane_are_text(client: Client) -> None:
    answer = client.post("/api/v1/token/", r'{"username": "\ud83d\udeb2", "password": "x"}', "application/json")
    assert answer.json()["code"] == "wrong_credentials"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400])
@pytest.mark.parametrize("field", ["outline", "seconds"])
def test_a_number_that_is_none_is_refused_by_the_name_of_its_field(
    field: str, number: str, tara: Tasker, signed_in: Any
) -> None:
    held = claim(tara)
    outline = number if field == "outline" else "10"
    body = f"""{{
      "lease_token": "{held.lease_token}", "contains_bird": "definitely_yes", "contains_bicycle": "definitely_no",
      "outline": [[[{outline}, 10], [200, 10], [200, 200]]], "complete": true, "unoccluded": true, "real": true,
      "seconds": {number if field == "seconds" else 4.2}
    }}"""
    address = f"/api/v1/assignments/{held.public_id}/response/"
    answer = signed_in(tara).post(address, body, content_type="application/json")
    assert answer.status_code == 400
    assert list(answer.json()["fields"]) == [field]


@pytest.mark.parametrize("text", ["\x00", "[[[\x00, 1]]]", "[" * 30_000, "[" * 900 + "]" * 900, "\ud800"])
def test_the_form_without_scripts_survives_it_too(text: str, tara: Tasker, signed_in: Any) -> None:
    held, client = claim(tara), signed_in(tara)
    fields: dict[str, str | bytes] = {
        "assignment": str(held.public_id), "lease_token": held.lease_token, "contains_bird": "definitely_yes",
        "contains_bicycle": "definitely_no", "outline": "10,10\n200,10\n200,200", "complete": "true",
        "unoccluded": "true", "real": "true", "seconds": "4.2",
    }  # fmt: skip
    sent = text.encode("utf-8", "surrogatepass")
    names = (*fields, "shown", "cannot_outline", "action", "problem", "more")
    answers = {}
    for name in names:
        with transaction.atomic():
            for action in ({}, {"action": "report", "problem": sent}):
                body = urlencode(fields | {name: sent} | action)
                taken = client.post("/label/", body, "application/x-www-form-urlencoded")
                answers[name, *action] = (taken.status_code in {303, 400}, client.get("/label/").status_code)
            transaction.set_rollback(True)
    assert answers == {(name, *more): (True, 200) for name in names for more in ((), ("action", "problem"))}


def test_a_stranger_with_a_filled_in_form_survives_it_too(client: Client, tara: Tasker) -> None:
    fields = {"contains_bird": "definitely_yes\x00", "username": "ta\x00ra", "password": "\x00"}
    assert client.post("/label/", fields).status_code == 401


@pytest.mark.parametrize("key", [r'"\000aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"', r'"\377aaaaaaaaaaaaaaaa"'])
def test_a_session_that_cannot_be_stored_is_nobodys(key: str) -> None:
    answer = Client(headers={"Cookie": f"sessionid={key}"}).get("/api/v1/me/")
    assert answer.status_code == 401
