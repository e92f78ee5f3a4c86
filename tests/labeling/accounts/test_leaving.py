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
from tests import factories
from tests.labeling.cast import claim, shows

pytestmark = pytest.mark.django_db


def accepted(now: datetime, **given: Any) -> User:
    """Who was invited as Nora, and came."""
    secret = invite(email="nora@example.org", language="de", now=now, **given).secret
    return invitation_accept(
        secret=secret, username="nora", password="correct horse battery", now=now, rng=Random(str(given["role"]))
    )


@pytest.fixture
def nora(olga: User, now: datetime) -> Tasker:
    """Somebody who came by an invitation, signed in, once mistyped, has a token, a language and keys of their own."""
    user = accepted(now, role=Role.TASKER, by=olga)
    Tasker.objects.update(state="qualified", time_zone="Europe/Berlin", preferences={"keys": {"undo": "u"}})
    issue_token(user, now=now)
    for password in ("wrong", "correct horse battery"):
        Client().post("/sign-in/", {"username": "nora", "password": password})
    return Tasker.objects.get(user=user)


def leave(tasker: Tasker, now: datetime) -> str:
    assert tasker.user is not None
    return account_delete(user=tasker.user, now=now)


def test_nothing_leads_from_the_public_id_to_the_person(nora: Tasker, otto: Tasker, olga: User, now: datetime) -> None:
    """The record of others stays; the address and the name may be used again."""
    Client().post("/sign-in/", {"username": "otto", "password": "wrong"})
    assert leave(nora, now) == nora.public_id
    left = Tasker.objects.get(pk=nora.pk)
    assert (left.user, left.left_at) == (None, now)
    assert (left.language, left.time_zone, left.preferences) == ("", "", {})
    assert not User.objects.filter(username="nora").exists()
    assert list(Invitation.objects.values_list("email", "user")) == [("", None)]
    assert not UserSession.objects.exists() and not ApiToken.objects.exists()
    for table in (AccessAttempt, AccessLog, AccessFailureLog):
        assert not table.objects.filter(username="nora").exists()
    assert AccessAttempt.objects.filter(username="otto").exists() and Tasker.objects.get(pk=otto.pk).user
    assert accepted(now, role=Role.BOARD, by=olga).groups.get().name == "review board"
    assert Tasker.objects.get(pk=nora.pk).user is None


@pytest.mark.both("locks the row of the tasker")
def test_answers_stay_and_pictures_at_hand_go_to_others(nora: Tasker, now: datetime) -> None:
    answered, free = factories.panel(), factories.panel()
    response = factories.response(nora, answered, now=now)
    held = claim(nora, now)
    assert Panel.objects.get(pk=free.pk).leased == 1
    leave(nora, now)
    assert (Response.objects.get(), Response.objects.get().tasker.public_id) == (response, nora.public_id)
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


# The pages.


def delete(client: Client, **fields: str) -> Any:
    return client.post("/account/delete/", {"password": factories.PASSWORD} | fields)


def test_password_and_id_confirm_and_the_id_is_shown_for_good(tara: Tasker, rita: User, signed_in: Any) -> None:
    """Who has no ID confirms with the user name."""
    factories.response(tara, factories.panel())
    client = signed_in(tara)
    shows(client.get("/account/delete/"), tara.public_id, "the 1 answer you gave", "your e-mail address")
    answer = delete(client, confirmation=tara.public_id.lower())
    assert answer.status_code == 200 and tara.public_id in answer.content.decode()
    assert client.get("/api/v1/me/").status_code == 401
    assert delete(signed_in(rita), confirmation="rita").status_code == 200
    assert not User.objects.filter(username__in=("tara", "rita")).exists()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"confirmation": "T-WRONG"}, "to confirm"),
        ({"confirmation": ""}, "to confirm"),
        ({"password": "wrong"}, "This is not your password"),
    ],
)
def test_without_both_nothing_is_deleted(fields: dict[str, str], words: str, tara: Tasker, signed_in: Any) -> None:
    shows(delete(signed_in(tara), **({"confirmation": tara.public_id} | fields)), words, status=400)
    assert User.objects.filter(username="tara").exists()


def test_an_organizer_deletes_for_a_tasker_who_asks(tara: Tasker, olga: User, signed_in: Any) -> None:
    client, address = signed_in(olga), f"/organizer/people/{tara.public_id}/delete/"
    assert "tara" in client.get(address).content.decode()
    right = {"confirmation": tara.public_id, "password": factories.PASSWORD}
    forms = ({"confirmation": "x"}, {"password": "wrong"}, {})
    assert [client.post(address, right | wrong).status_code for wrong in forms] == [400, 400, 303]
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
