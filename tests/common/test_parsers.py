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


OF_A_LEASE = ("heartbeat", "release", "response")


def claim(tasker: Tasker) -> Assignment:
    factories.policy_version()
    factories.panel()
    held = assignment_next(tasker=tasker, holding=(), policy=Policy(), now=timezone.now(), rng=Random(1))
    assert isinstance(held, Assignment)
    return held


@pytest.mark.parametrize("body", UNREADABLE)
def test_a_body_that_no_call_can_use_is_refused_to_strangers_and_taskers(
    body: str | bytes, tara: Tasker, signed_in: Any
) -> None:
    held = claim(tara)
    calls = [f"assignments/{call}" for call in ("next", *(f"{held.public_id}/{each}" for each in OF_A_LEASE))]
    for client, call in ((Client(), "token"), *((signed_in(tara), call) for call in calls)):
        answer = client.post(f"/api/v1/{call}/", body, content_type="application/json")
        assert (answer.status_code, answer.json()["code"]) == (400, "parse_error"), call
        assert answer.json()["detail"]


@pytest.mark.parametrize(
    ("call", "body", "field", "why"),
    [
        ("assignments/next/", [], None, "no object"),
        ("assignments/next/", {"holding": ["x"]}, "holding", "no ids"),
        ("assignments/{id}/release/", {"problem": 7}, "problem", "no words"),
        ("qualification/next/", {"holding": "x"}, "holding", "no list"),
    ],
)
def test_a_value_of_another_kind_is_refused_by_the_name_of_its_field(
    call: str, body: Any, field: str | None, why: str, tara: Tasker, signed_in: Any
) -> None:
    held = claim(tara)
    sent = body | {"lease_token": held.lease_token} if field == "problem" else body
    answer = signed_in(tara).post(f"/api/v1/{call.format(id=held.public_id)}", sent, content_type="application/json")
    assert (answer.status_code, list(answer.json().get("fields", {}))) == (400, [field] if field else []), why


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
    reported = ("assignment", "lease_token", "shown", "action", "problem", "more")
    answers: dict[str, list[int]] = {}
    for name in (*fields, "shown", "cannot_outline", "action", "problem", "more"):
        with transaction.atomic():
            for action in ({}, {"action": "report", "problem": sent})[: 1 + (name in reported)]:
                body = urlencode(fields | {name: sent} | action)
                taken = client.post("/label/", body, "application/x-www-form-urlencoded")
                answers.setdefault(name, []).append(taken.status_code)
            if name in reported:
                assert client.get("/label/").status_code == 200
            transaction.set_rollback(True)
    assert {name: told for name, told in answers.items() if set(told) - {303, 400}} == {}


def test_what_cannot_be_stored_is_nobodys(client: Client, tara: Tasker) -> None:
    fields = {"contains_bird": "definitely_yes\x00", "username": "ta\x00ra", "password": "\x00"}
    assert client.post("/label/", fields).status_code == 401, "a filled-in form of a stranger"
    for key in (r'"\000aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"', r'"\377aaaaaaaaaaaaaaaa"'):
        stranger = Client(headers={"Cookie": f"sessionid={key}"})
        assert stranger.get("/api/v1/me/").status_code == 401, "a session"
