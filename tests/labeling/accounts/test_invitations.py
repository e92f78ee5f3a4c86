"""Joining takes an invitation by an organizer: a link that works once, for seven days (R5, R8)."""

import re
from contextlib import nullcontext
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client, override_settings
from django.utils import timezone

from common.errors import Conflict, InvalidInput, NotFound, WrongFields
from labeling.accounts.invitations import (
    Invited,
    invitation_accept,
    invitation_of,
    invitation_renew,
    invitation_revoke,
    invite,
    state_of,
)
from labeling.enums import Role, TaskerState
from labeling.models import Invitation, Tasker
from labeling.people import ORGANIZERS, REVIEW_BOARD
from tests import factories
from tests.labeling.cast import at_once, refused, shows

GOOD = "correct horse battery"


def invited(by: User, *, role: Role = Role.TASKER, email: str = "nora@example.org") -> Invited:
    return invite(email=email, role=role, language="de", by=by, now=factories.NOW)


def accept(secret: str, *, username: str = "nora", password: str = GOOD, now: datetime = factories.NOW) -> User:
    return invitation_accept(secret=secret, username=username, password=password, now=now, rng=Random(1))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("role", "groups", "tasker"),
    [
        (Role.TASKER, [], [(TaskerState.LEARNING, "de")]),
        (Role.ORGANIZER, [ORGANIZERS], []),
        (Role.BOARD, [REVIEW_BOARD], []),
    ],
)
def test_everybody_joins_with_their_role_in_their_language_with_a_confirmed_address(
    role: Role, groups: list[str], tasker: list[tuple[str, str]], olga: User
) -> None:
    """Of the secret in the link, a hash alone is kept."""
    secret = invited(olga, role=role).secret
    assert len(secret) >= 40
    assert secret not in str(list(Invitation.objects.values_list()))
    user = accept(secret)
    assert (user.email, user.check_password(GOOD)) == ("nora@example.org", True)
    assert [each.name for each in user.groups.all()] == groups
    assert list(Tasker.objects.filter(user=user).values_list("state", "language")) == tasker


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("username", "password", "fields"),
    [
        ("nora", "short", ["password"]),
        ("nora", "password1234", ["password"]),
        ("nora.nightingale", "nora.nightingal3", ["password"]),
        ("nora", "nora@example.org", ["password"]),
        ("nora", "482910573648", []),
        ("OLGA", GOOD, ["username"]),
        ("no ra", GOOD, ["username"]),
        ("", GOOD, ["username"]),
        ("n" * 41, GOOD, ["username"]),
        ("olga", "short", ["password", "username"]),
    ],
    ids=["short", "common", "like the name", "like the address", "digits alone", "taken but for its case", "a blank",
         "empty", "too long", "both"],
)  # fmt: skip
def test_what_will_not_do_is_named_by_field(username: str, password: str, fields: list[str], olga: User) -> None:
    secret = invited(olga).secret
    if not fields:
        assert accept(secret, username=username, password=password)
        return
    with pytest.raises(WrongFields) as refused:
        accept(secret, username=username, password=password)
    assert sorted(refused.value.fields) == fields
    assert Invitation.objects.get().accepted_at is None
    assert accept(secret), "the link still works"


@pytest.mark.django_db
@pytest.mark.parametrize("how", ["used", "revoked", "renewed"])
def test_a_link_that_was_used_revoked_or_renewed_is_over(how: str, olga: User, now: datetime) -> None:
    """What is over for good is neither renewed nor revoked."""
    given = invited(olga)
    the_same: dict[str, Any] = {"invitation_id": given.invitation.pk, "by": olga, "now": now}
    if how == "used":
        accept(given.secret)
    elif how == "revoked":
        invitation_revoke(**the_same)
    else:
        invitation_renew(**the_same)
    with pytest.raises(NotFound):
        accept(given.secret, username="somebody-else")
    for act in (invitation_renew, invitation_revoke):
        with nullcontext() if how == "renewed" else pytest.raises(Conflict):
            act(**the_same)


@pytest.mark.django_db
def test_a_link_is_over_after_seven_days_and_can_be_renewed(olga: User, now: datetime) -> None:
    given, over = invited(olga), now + timedelta(days=7)
    assert invitation_of(given.secret, now=over - timedelta(seconds=1))
    with pytest.raises(NotFound):
        accept(given.secret, now=over)
    assert state_of(given.invitation, now=over) == "expired"
    assert accept(invitation_renew(invitation_id=given.invitation.pk, by=olga, now=over).secret, now=over)


@pytest.mark.both("a constraint that ignores case")
@pytest.mark.django_db
def test_an_address_is_invited_once_at_a_time(olga: User) -> None:
    secret = invited(olga).secret
    with pytest.raises(Conflict, match="invited already"):
        invited(olga, email=" Nora@Example.org ")
    accept(secret)
    with pytest.raises(Conflict, match="has an account|an account with this"):
        invited(olga)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("values", "field"),
    [({"email": "nora"}, "email"), ({"email": ""}, "email"), ({"role": Role.TEAM}, "role")],
    ids=["no address", "empty", "teams are joined otherwise"],
)
def test_a_wrong_invitation_is_refused_by_field(values: dict[str, Any], field: str, olga: User) -> None:
    with refused(InvalidInput, field=field):
        invited(olga, **values)


@pytest.mark.postgres("one link used at once, with a row lock")
@pytest.mark.django_db(transaction=True)
def test_of_two_who_use_one_link_at_once_one_joins(olga: User) -> None:
    secret = invited(olga).secret
    joined = at_once(*[partial(accept, secret, username=name) for name in "abcd"])
    assert list(User.objects.exclude(pk=olga.pk)) == [each for each in joined if isinstance(each, User)]
    assert User.objects.count() == 2


# The pages.


@pytest.fixture
def organizer(olga: User, signed_in: Any) -> Client:
    factories.policy_version()
    client: Client = signed_in(olga)
    return client


def send(client: Client, **fields: str) -> Any:
    form = {"action": "invite", "email": "nora@example.org", "role": "tasker", "language": "en"} | fields
    return client.post("/organizer/people/", form, follow=True)


def link() -> str:
    return str(re.findall(r"http://127\.0\.0\.1:8000(/join/\S+)", mail.outbox[-1].body)[0])


def join_by(address: str, **fields: str) -> Any:
    form = {"username": "nora", "new_password": GOOD, "new_password_again": GOOD} | fields
    return Client().post(address, form)


@pytest.mark.django_db
def test_the_letter_leads_to_the_account(organizer: Client) -> None:
    """In the language of the invitation, unless somebody chose another; sent again, the former link is over."""
    before = timezone.now()
    assert "The invitation was sent to nora@example.org" in send(organizer, language="de").content.decode()
    row = Invitation.objects.get()
    assert before <= row.invited_at <= timezone.now() and row.expires_at - row.invited_at == timedelta(days=7)
    assert mail.outbox[0].to == ["nora@example.org"]
    former = link()
    organizer.post("/organizer/people/", {"action": "renew", "invitation": str(row.pk)})
    assert Client().get(former).status_code == 404
    assert '<html lang="de"' in Client().get(link()).content.decode()
    chosen = Client()
    chosen.cookies["django_language"] = "en"
    shows(chosen.get(link()), '<html lang="en"', "at least 12 characters", "nora@example.org")
    joined = join_by(link())
    assert (joined.status_code, joined["Location"]) == (303, "/")
    me = Client()
    me.cookies = joined.cookies
    assert me.get("/api/v1/me/").json()["username"] == "nora"
    assert "accepted" in organizer.get("/organizer/people/").content.decode()
    assert Client().get(link()).status_code == 404


@pytest.mark.django_db
def test_a_letter_that_could_not_be_sent_is_told_and_sent_again(organizer: Client, settings: Any) -> None:
    """Its link works until the organizer revokes it."""
    with override_settings(
        EMAIL_BACKEND="django.core.mail.backends.smtp.EmailBackend", EMAIL_HOST="127.0.0.1", EMAIL_PORT=1
    ):
        page = send(organizer).content.decode()
    assert "has no letter yet" in page and "Send again" in page
    number = str(Invitation.objects.get().pk)
    organizer.post("/organizer/people/", {"action": "renew", "invitation": number})
    assert Client().get(link()).status_code == 200
    organizer.post("/organizer/people/", {"action": "revoke", "invitation": number})
    assert [Client().get(link()).status_code, join_by(link()).status_code] == [404, 404]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"email": "nora"}, "Write an e-mail address"),
        ({"role": "team"}, "Choose tasker, organizer or review board"),
        ({"role": "emperor"}, "Choose a role"),
        ({"language": "xx"}, "Choose a role and a language"),
        ({"action": "renew", "invitation": "999"}, "no such invitation"),
        ({"action": "revoke", "invitation": "x"}, "no such invitation"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_sent(fields: dict[str, str], words: str, organizer: Client) -> None:
    answer = send(organizer, **fields)
    assert (answer.status_code, words in answer.content.decode(), mail.outbox) == (400, True, [])


@pytest.mark.django_db
def test_a_form_with_something_wrong_comes_back_with_the_name_and_no_password(organizer: Client) -> None:
    send(organizer)
    answer = join_by(link(), new_password_again="something else")
    page = answer.content.decode()
    assert answer.status_code == 400
    assert 'value="nora"' in page and "not the same" in page and GOOD not in page


@pytest.mark.django_db
def test_guessing_links_ends_after_ten(organizer: Client, client: Client) -> None:
    send(organizer)
    statuses = [client.get(f"/join/guess-{n}/").status_code for n in range(10)]
    assert statuses == [404] * 9 + [429]
    shows(client.get("/join/guess/"), "Too many links that open nothing", status=429)
    assert client.get(link()).status_code == 200, "one that works opens to everybody of the address"
    assert Client(REMOTE_ADDR="192.0.2.7").get("/join/guess/").status_code == 404


@pytest.mark.django_db
def test_people_finds_accounts_and_names_their_roles(organizer: Client, tara: Tasker, rita: User, stan: User) -> None:
    page = shows(organizer.get("/organizer/people/"), "tara", tara.public_id, "review board", "none")
    assert 'href="/organizer/"' in page, "the header knows the organizer on this page too"
    found = organizer.get("/organizer/people/", {"find": tara.public_id}).content.decode()
    assert "tara" in found and ">rita<" not in found
    assert "No account fits" in organizer.get("/organizer/people/", {"find": "nobody"}).content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("who", ["tara", "rita", "stan"])
def test_nobody_else_sees_or_invites_people(who: str, request: pytest.FixtureRequest, signed_in: Any) -> None:
    client = signed_in(request.getfixturevalue(who))
    expected = 404 if who == "stan" else 403
    assert client.get("/organizer/people/").status_code == expected
    assert client.post("/organizer/people/", {"action": "invite"}).status_code == expected
    assert not Invitation.objects.exists()
