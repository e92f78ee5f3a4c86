"""Leaving: the person goes, the public ID and the answers stay (R4, R8)."""

from datetime import datetime
from random import Random
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib.auth.models import User
from django.test import Client

from common.authentication import issue_token
from common.models import ApiToken, UserSession
from labeling.accounts.invitations import invitation_accept, invite
from labeling.accounts.leaving import account_delete
from labeling.enums import AssignmentState, Role
from labeling.models import Assignment, Invitation, Panel, Response, StateChange, Tasker
from labeling.policy import Policy
from labeling.services import assignment_next
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def nora(olga: User, now: datetime) -> Tasker:
    """Somebody who came by an invitation, signed in, once mistyped, has a token, a language and keys of their own."""
    given = invite(email="nora@example.org", role=Role.TASKER, language="de", by=olga, now=now)
    user = invitation_accept(
        secret=given.secret, username="nora", password="correct horse battery", now=now, rng=Random(1)
    )
    Tasker.objects.update(state="qualified", time_zone="Europe/Berlin", preferences={"keys": {"undo": "u"}})
    issue_token(user, now=now)
    Client().post("/sign-in/", {"username": "nora", "password": "wrong"})
    Client().post("/sign-in/", {"username": "nora", "password": "correct horse battery"})
    return Tasker.objects.get(user=user)


def leave(tasker: Tasker, now: datetime) -> str:
    assert tasker.user is not None
    return account_delete(user=tasker.user, now=now)


def test_nothing_leads_from_the_public_id_to_the_person(nora: Tasker, now: datetime) -> None:
    assert leave(nora, now) == nora.public_id
    left = Tasker.objects.get(pk=nora.pk)
    assert (left.user, left.left_at) == (None, now)
    assert (left.language, left.time_zone, left.preferences) == ("", "", {})
    assert not User.objects.filter(username="nora").exists()
    assert list(Invitation.objects.values_list("email", "user")) == [("", None)]
    for table in (UserSession, ApiToken):
        assert not table.objects.exists()
    for table in (AccessAttempt, AccessLog, AccessFailureLog):
        assert not table.objects.filter(username="nora").exists()


def test_the_record_of_others_stays(nora: Tasker, otto: Tasker, now: datetime) -> None:
    Client().post("/sign-in/", {"username": "otto", "password": "wrong"})
    leave(nora, now)
    assert AccessAttempt.objects.filter(username="otto").exists()
    assert Tasker.objects.get(pk=otto.pk).user is not None


def test_answers_stay_and_pictures_at_hand_go_to_others(nora: Tasker, now: datetime) -> None:
    answered, free = factories.panel(), factories.panel()
    response = factories.response(nora, answered, now=now)
    held = assignment_next(tasker=nora, holding=frozenset(), policy=Policy(), now=now, rng=Random(1))
    assert isinstance(held, Assignment)
    assert Panel.objects.get(pk=free.pk).leased == 1
    leave(nora, now)
    assert Response.objects.get().pk == response.pk
    assert Response.objects.get().tasker.public_id == nora.public_id
    assert Assignment.objects.get(pk=held.pk).state == AssignmentState.RELEASED
    assert Panel.objects.get(pk=free.pk).leased == 0


def test_an_invitation_that_waits_for_the_same_address_ends(stan: User, olga: User, now: datetime) -> None:
    invite(email="stan@example.org", role=Role.TASKER, language="en", by=olga, now=now)
    stan.email = "stan@example.org"
    stan.save()
    account_delete(user=stan, now=now)
    row = Invitation.objects.get()
    assert (row.email, row.revoked_at) == ("", now)


def test_what_an_organizer_decided_stays_without_their_name(olga: User, tara: Tasker, now: datetime) -> None:
    StateChange.objects.create(
        tasker=tara, before="qualified", after="paused", code="x", reason="y", by=olga, changed_at=now
    )
    invite(email="nora@example.org", role=Role.TASKER, language="en", by=olga, now=now)
    assert account_delete(user=olga, now=now) == ""
    assert StateChange.objects.get().by is None
    assert Invitation.objects.get().invited_by is None


def test_the_address_and_the_name_may_be_used_again(nora: Tasker, olga: User, now: datetime) -> None:
    leave(nora, now)
    given = invite(email="nora@example.org", role=Role.BOARD, language="en", by=olga, now=now)
    again = invitation_accept(
        secret=given.secret, username="nora", password="correct horse battery", now=now, rng=Random(2)
    )
    assert Tasker.objects.get(pk=nora.pk).user is None
    assert again.groups.get().name == "review board"


# The pages.


def delete(client: Client, **fields: str) -> Any:
    return client.post("/account/delete/", {"password": factories.PASSWORD} | fields)


def test_the_page_says_what_goes_and_what_stays(tara: Tasker, signed_in: Any, now: datetime) -> None:
    factories.response(tara, factories.panel(), now=now)
    page = signed_in(tara).get("/account/delete/").content.decode()
    assert tara.public_id in page and "the 1 answer you gave" in page and "your e-mail address" in page


def test_password_and_id_confirm_and_the_id_is_shown_for_good(tara: Tasker, signed_in: Any) -> None:
    client = signed_in(tara)
    answer = delete(client, confirmation=tara.public_id.lower())
    assert answer.status_code == 200
    assert tara.public_id in answer.content.decode()
    assert not User.objects.filter(username="tara").exists()
    assert client.get("/api/v1/me/").status_code == 401


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"confirmation": "T-WRONG"}, "to confirm"),
        ({"confirmation": ""}, "to confirm"),
        ({"confirmation": "ID", "password": "wrong"}, "This is not your password"),
    ],
)
def test_without_both_nothing_is_deleted(fields: dict[str, str], words: str, tara: Tasker, signed_in: Any) -> None:
    typed = {name: tara.public_id if value == "ID" else value for name, value in fields.items()}
    answer = delete(signed_in(tara), **typed)
    assert answer.status_code == 400
    assert words in answer.content.decode()
    assert User.objects.filter(username="tara").exists()


def test_others_confirm_with_their_user_name(rita: User, signed_in: Any) -> None:
    assert delete(signed_in(rita), confirmation="rita").status_code == 200
    assert not User.objects.filter(username="rita").exists()


def test_an_organizer_deletes_for_a_tasker_who_asks(tara: Tasker, olga: User, signed_in: Any) -> None:
    client, address = signed_in(olga), f"/organizer/people/{tara.public_id}/delete/"
    assert "tara" in client.get(address).content.decode()
    for wrong in ({"confirmation": "x"}, {"confirmation": tara.public_id, "password": "wrong"}):
        assert client.post(address, {"password": factories.PASSWORD} | wrong).status_code == 400
    right = {"confirmation": tara.public_id, "password": factories.PASSWORD}
    assert client.post(address, right).status_code == 303
    assert not User.objects.filter(username="tara").exists()
    assert client.get(address).status_code == 404


@pytest.mark.parametrize("who", ["otto", "rita", "stan"])
def test_nobody_else_deletes_for_a_tasker(
    who: str, tara: Tasker, request: pytest.FixtureRequest, signed_in: Any
) -> None:
    form = {"confirmation": tara.public_id, "password": factories.PASSWORD}
    client = signed_in(request.getfixturevalue(who))
    assert client.post(f"/organizer/people/{tara.public_id}/delete/", form).status_code in {403, 404}
    assert User.objects.filter(username="tara").exists()
