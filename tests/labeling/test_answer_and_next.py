"""An answer that asks for the next picture in the same call (R8): both are kept, whatever happens in between."""

from collections.abc import Sequence
from datetime import datetime
from random import Random
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from labeling import leases
from labeling.enums import AssignmentState, TaskerState
from labeling.models import Assignment, Response, Tasker
from tests import factories, tables
from tests.at_once import at_once
from tests.labeling.cast import NO_TO_BOTH, POLICY, people

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(signed_in: Any, tara: Tasker) -> Client:
    """Tara's, with three pictures in the queue."""
    factories.policy_version()
    for _ in range(3):
        factories.panel()
    client: Client = signed_in(tara)
    return client


def post(client: Client, path: str, **body: Any) -> Any:
    return client.post(f"/api/v1/assignments/{path}", body, content_type="application/json")


def held_by(client: Client, *ids: str) -> dict[str, Any]:
    answer: dict[str, Any] = post(client, "next/", holding=list(ids)).json()
    return answer


def answer(client: Client, held: dict[str, Any], **besides: Any) -> Any:
    form = {"lease_token": held["lease_token"], **NO_TO_BOTH, **besides}
    return post(client, f"{held['id']}/response/", **form)


def without_address(assignment: dict[str, Any]) -> dict[str, Any]:
    """An assignment as told, but for the picture's address, which is encrypted each time, and the end of the lease."""
    image = {name: value for name, value in assignment["image"].items() if name != "url"}
    return assignment | {"image": image, "expires_at": None}


def test_the_next_picture_comes_with_the_receipt(client: Client) -> None:
    told = answer(client, held_by(client), next=True)
    receipt = told.json()
    following = receipt.pop("next")
    assert (told.status_code, set(receipt)) == (201, {"id", "received_at", "receipt", "counted"})
    assert without_address(following) == without_address(held_by(client)), "as the call for the next one gives it"
    assert following["image"]["url"].startswith("/pictures/")


def test_the_same_again_gives_the_same_receipt_and_the_same_picture(client: Client) -> None:
    held = held_by(client)
    first, again = answer(client, held, next=True), answer(client, held, next=True)
    assert (first.status_code, again.status_code) == (201, 200)
    told = [each.json() | {"next": without_address(each.json()["next"])} for each in (first, again)]
    assert told[0] == told[1]
    assert Assignment.objects.filter(state=AssignmentState.LEASED).count() == 1


def test_without_asking_the_receipt_comes_alone(client: Client) -> None:
    for besides in ({}, {"next": False}, {"next": False, "holding": []}):
        assert "next" not in answer(client, held_by(client), **besides).json()


def test_what_is_at_hand_already_does_not_come_again(client: Client) -> None:
    first = held_by(client)
    second = held_by(client, first["id"])
    third = answer(client, first, next=True, holding=[second["id"]]).json()["next"]
    assert third["id"] not in (first["id"], second["id"])


@tables.cases(
    "besides field why",
    ({"next": "yes"}, "next", "no truth value"),
    ({"next": 1}, "next", "a number"),
    ({"next": True, "holding": "x"}, "holding", "no list"),
    ({"next": True, "holding": ["x"]}, "holding", "no id"),
    ({"next": True, "following": 1}, "following", "no field of this call"),
)
def test_what_cannot_be_read_is_refused_before_anything_is_kept(
    besides: dict[str, Any], field: str, why: str, client: Client
) -> None:
    refused = answer(client, held_by(client), **besides)
    assert (refused.status_code, list(refused.json()["fields"]), Response.objects.count()) == (400, [field], 0), why


@pytest.mark.parametrize(("others", "seconds"), [(False, None), (True, 10)])
def test_nothing_left_says_whether_to_ask_again_soon(others: bool, seconds: int | None, client: Client) -> None:
    ids: list[str] = []
    for _ in range(2):
        ids.append(held_by(client, *ids)["id"])
    last = held_by(client, *ids)
    if others:
        panel = factories.panel()
        for each in people("ann", "bob", "cleo"):
            leases.assignment_lease(tasker=each, panel=panel, policy=POLICY, now=timezone.now(), rng=Random(1))
    told = answer(client, last, next=True, holding=ids).json()
    assert (told["next"], told["retry_after"], "next_error" in told) == (None, seconds, False)
    alone = client.post("/api/v1/assignments/next/", {"holding": ids}, content_type="application/json")
    held = [alone.get(name) for name in ("Retry-After", "Held-By-Others")]
    assert (alone.status_code, held) == (204, ["10", "1"] if others else [None, None])
    if others:
        last_end = Assignment.objects.filter(panel=panel).latest("expires_at").expires_at
        assert datetime.fromisoformat(alone["Held-Until"]) == last_end


def test_who_may_have_no_more_is_told_why_beside_the_receipt(client: Client, tara: Tasker) -> None:
    held = held_by(client)
    Tasker.objects.filter(pk=tara.pk).update(state=TaskerState.PAUSED)
    told = answer(client, held, next=True)
    assert (told.status_code, told.json()["next"], told.json()["next_error"]["code"]) == (201, None, "paused")
    assert Response.objects.get().receipt == told.json()["receipt"]


def test_a_crash_between_the_two_loses_neither(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    held = held_by(client)
    with monkeypatch.context() as patched:
        patched.setattr(leases, "_next", Mock(side_effect=OperationalError("the database went away")))
        assert answer(client, held, next=True).status_code == 503
    assert Response.objects.count() == 1
    again = answer(client, held, next=True)
    assert (again.status_code, again.json()["receipt"]) == (200, Response.objects.get().receipt)
    assert again.json()["next"]["id"] == str(Assignment.objects.get(state=AssignmentState.LEASED).public_id)


@pytest.mark.postgres("two requests of one page at once")
@pytest.mark.django_db(transaction=True)
def test_sent_twice_at_once_one_picture_follows(client: Client) -> None:
    held = held_by(client)
    told: Sequence[Any] = at_once(*[lambda: answer(client, held, next=True)] * 4)
    assert sorted(each.status_code for each in told) == [200, 200, 200, 201]
    assert len({(each.json()["receipt"], each.json()["next"]["id"]) for each in told}) == 1
    assert Assignment.objects.filter(state=AssignmentState.LEASED).count() == 1
