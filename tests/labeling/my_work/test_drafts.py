"""Drafts of forms that are not submitted yet: they follow a tasker to another browser, and nobody else sees them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.signals import account_leaving
from labeling.enums import AssignmentState
from labeling.models import Assignment, Draft, Tasker
from labeling.my_work.drafts import KEPT_FOR, drafts_remove
from tests import factories
from tests.at_once import at_once
from tests.factories import NOW
from tests.labeling.cast import NO_TO_BOTH

pytestmark = pytest.mark.django_db

HALF = {"answers": {"contains_bird": "definitely_yes"}, "drawing": {"rings": [], "open": [[1.5, 2]]}}
MORE = HALF | {"cannotOutline": True}
HERE, THERE = (str(UUID(int=number)) for number in (1, 2))


@pytest.fixture
def held(tara: Tasker, signed_in: Any) -> dict[str, Any]:
    """The picture that Tara holds."""
    factories.policy_version()
    for _ in range(2):
        factories.panel()
    return claim(signed_in(tara))


def post(client: Client, path: str, **body: Any) -> Any:
    return client.post(f"/api/v1/assignments/{path}", body, content_type="application/json")


def claim(client: Client, *holding: str) -> dict[str, Any]:
    claimed: dict[str, Any] = post(client, "next/", holding=list(holding)).json()
    return claimed


def keep(client: Client, held: dict[str, Any], revision: int, form: Any, *, base: int = 0, browser: str = HERE) -> Any:
    draft = {"browser": browser, "revision": revision, "base": base, "form": form}
    return post(client, f"{held['id']}/draft/", lease_token=held["lease_token"], **draft)


@pytest.mark.parametrize(
    ("browser", "sent", "kept", "why"),
    [
        (HERE, (3, 0, MORE), (3, MORE), "a later one of the same browser takes the place of an earlier one"),
        (HERE, (1, 0, MORE), (2, HALF), "an earlier one, late on its way, changes nothing"),
        (HERE, (2, 0, HALF), (2, HALF), "the same again, because its answer was lost"),
        (HERE, (0, 0, {}), (2, HALF), "nothing is filled in here"),
        (THERE, (3, 2, MORE), (3, MORE), "another browser began from this one"),
        (THERE, (9, 1, MORE), (2, HALF), "another browser has not seen this one"),
        (THERE, (2, 2, HALF), (2, HALF), "another browser has changed nothing"),
        (THERE, (0, 0, {}), (2, HALF), "nothing is filled in there"),
    ],
)
def test_a_draft_that_was_not_seen_is_never_replaced(
    browser: str,
    sent: tuple[int, int, Any],
    kept: tuple[int, Any],
    why: str,
    tara: Tasker,
    held: dict[str, Any],
    signed_in: Any,
) -> None:
    client = signed_in(tara)
    assert set(keep(client, held, 2, HALF).json()) == {"revision", "saved_at"}
    revision, base, form = sent
    told = keep(client, held, revision, form, base=base, browser=browser).json()
    assert told["revision"] == kept[0], why
    is_own = browser == (HERE if kept[0] == 2 else browser) and revision == kept[0]
    assert told.get("form") == (None if is_own else kept[1]), why
    found = claim(signed_in(tara))["draft"]
    assert (found["revision"], found["form"]) == kept


def test_nothing_is_kept_of_a_form_that_is_empty_everywhere(tara: Tasker, held: dict[str, Any], signed_in: Any) -> None:
    client = signed_in(tara)
    assert (keep(client, held, 0, {}).status_code, Draft.objects.count()) == (204, 0)
    assert "draft" not in claim(client)


def test_another_browser_opens_with_the_draft(tara: Tasker, held: dict[str, Any], signed_in: Any) -> None:
    keep(signed_in(tara), held, 3, HALF)
    page = signed_in(tara).get("/label/")
    assert page.context["page_data"]["assignment"]["draft"]["form"] == HALF


def test_a_lease_that_lapsed_comes_back_with_its_draft(tara: Tasker, held: dict[str, Any], signed_in: Any) -> None:
    client = signed_in(tara)
    keep(client, held, 3, HALF)
    other = claim(client, held["id"])
    post(client, f"{other['id']}/release/")
    Assignment.objects.filter(public_id=held["id"]).update(state=AssignmentState.EXPIRED, ended_at=NOW)
    Assignment.objects.exclude(public_id=held["id"]).update(problem="It does not load.")
    again = claim(client)
    assert (again["id"], again["draft"]["form"]) == (held["id"], HALF)


def test_a_picture_claimed_for_the_first_time_costs_no_search_for_a_draft(
    tara: Tasker, held: dict[str, Any], signed_in: Any
) -> None:
    client = signed_in(tara)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        claim(client, held["id"])
    assert not [each for each in queries if "labeling_draft" in each["sql"]]


@pytest.mark.parametrize("who", ["nobody", "olga", "rita", "stan", "another tasker"])
def test_nobody_else_reads_or_writes_a_draft(
    who: str, tara: Tasker, held: dict[str, Any], signed_in: Any, request: pytest.FixtureRequest
) -> None:
    keep(signed_in(tara), held, 1, HALF)
    people: dict[str, Callable[[], Client]] = {
        "nobody": Client,
        "another tasker": lambda: signed_in(factories.tasker("theo")),
    }
    client = people.get(who, lambda: signed_in(request.getfixturevalue(who)))()
    answer = keep(client, held, 9, MORE)
    expected = {"nobody": 401, "another tasker": 404}.get(who, 403)
    assert answer.status_code == expected
    assert list(Draft.objects.values_list("revision", flat=True)) == [1]


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"lease_token": "0" * 32}, 409, "wrong_token"),
        ({"form": {"drawing": "x" * 300_000}}, 413, "too_large"),
        ({"extra": 1}, 400, "invalid"),
        ({"form": {"seconds": float("nan")}}, 400, "invalid"),
    ],
)
def test_what_cannot_be_kept_is_refused(
    change: dict[str, Any], status: int, code: str, tara: Tasker, held: dict[str, Any], signed_in: Any
) -> None:
    body = {"lease_token": held["lease_token"], "browser": HERE, "revision": 1, "base": 0, "form": HALF} | change
    answer = post(signed_in(tara), f"{held['id']}/draft/", **body)
    assert (answer.status_code, answer.json()["code"], Draft.objects.count()) == (status, code, 0)


def test_no_draft_comes_after_the_answer(tara: Tasker, held: dict[str, Any], signed_in: Any) -> None:
    client = signed_in(tara)
    keep(client, held, 1, HALF)
    post(client, f"{held['id']}/response/", lease_token=held["lease_token"], **NO_TO_BOTH)
    late = keep(client, held, 2, MORE)
    assert (late.status_code, late.json()["code"]) == (409, "already_answered")
    assert (drafts_remove(now=NOW), Draft.objects.count()) == (1, 0)


@pytest.mark.parametrize(
    ("age", "removed", "why"),
    [
        (KEPT_FOR, 0, "as long as a browser keeps its own"),
        (KEPT_FOR + timedelta(seconds=1), 1, "nobody has changed it for a fortnight"),
    ],
)
def test_an_old_draft_is_removed(age: timedelta, removed: int, why: str, tara: Tasker) -> None:
    lease = factories.assignment(tara, factories.panel(), state=AssignmentState.LEASED)
    Draft.objects.create(assignment=lease, browser=HERE, revision=1, form="{}", saved_at=NOW - age)
    assert drafts_remove(now=NOW) == removed, why


def test_who_leaves_leaves_no_draft_behind(tara: Tasker, held: dict[str, Any], signed_in: Any) -> None:
    keep(signed_in(tara), held, 1, HALF)
    account_leaving.send(sender=None, user=tara.user, now=NOW)
    assert not Draft.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres("two browsers in the same moment")
def test_of_two_windows_at_once_the_higher_number_is_kept(tara: Tasker, held: dict[str, Any], signed_in: Any) -> None:
    clients = [signed_in(tara) for _ in range(6)]
    acts = [lambda c=each, n=number: keep(c, held, n, HALF).status_code for number, each in enumerate(clients, start=1)]
    assert at_once(*acts) == [200] * 6
    assert Draft.objects.get().revision == 6
