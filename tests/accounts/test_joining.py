"""Who joins, by an invitation that works once for seven days (R5, R8), and the one role that each account has (R8)."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from itertools import permutations
from random import Random
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core import mail
from django.db import connection, transaction
from django.test import Client, override_settings
from django.utils import timezone

from accounts.enums import Role
from accounts.invitations import (
    NewInvitation,
    invitation_accept,
    invitation_of,
    invitation_renew,
    invitation_revoke,
    invitation_state,
    invite,
)
from accounts.models import AccountRole, Invitation
from accounts.roles import ORGANIZERS, REVIEW_BOARD, TEAMS, role_give
from common.errors import Conflict, InvalidInput, NotFound, WrongFields
from contest.core.models import Member, Team
from contest.teams.services import member_add
from labeling.enums import TaskerState
from labeling.models import StateChange, Tasker, Voiding
from labeling.taskers import tasker_register
from tests import factories
from tests.at_once import at_once
from tests.labeling.cast import refused, refused_by_database, shows

GOOD = "correct horse battery"


def invited(by: User, *, role: Role = Role.TASKER, email: str = "nora@example.org") -> NewInvitation:
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
    assert len(secret) >= 40 and secret not in str(list(Invitation.objects.values_list()))
    user = accept(secret)
    assert (user.email, user.check_password(GOOD)) == ("nora@example.org", True)
    assert [each.name for each in user.groups.all()] == groups
    assert list(Tasker.objects.values_list("state", "language")) == tasker


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
    if fields:
        assert sorted(refused(WrongFields, accept, secret, username=username, password=password).fields) == fields
        assert accept(secret), "the link still works"
    else:
        assert accept(secret, username=username, password=password)


@pytest.mark.django_db
@pytest.mark.parametrize("how", ["used", "revoked", "renewed"])
def test_a_link_that_was_used_revoked_or_renewed_is_over(how: str, olga: User, now: datetime) -> None:
    """What is over for good is neither renewed nor revoked."""
    given = invited(olga)
    renew, revoke = (
        partial(act, invitation_id=given.invitation.pk, by=olga, now=now)
        for act in (invitation_renew, invitation_revoke)
    )
    {"used": partial(accept, given.secret), "revoked": revoke, "renewed": renew}[how]()
    refused(NotFound, accept, given.secret, username="somebody-else")
    for act in (renew, revoke):
        act() if how == "renewed" else refused(Conflict, act)


@pytest.mark.django_db
def test_a_link_is_over_after_seven_days_and_can_be_renewed(olga: User, now: datetime) -> None:
    given, over = invited(olga), now + timedelta(days=7)
    assert invitation_of(given.secret, now=over - timedelta(seconds=1))
    refused(NotFound, accept, given.secret, now=over)
    assert invitation_state(given.invitation, now=over) == "expired"
    assert accept(invitation_renew(invitation_id=given.invitation.pk, by=olga, now=over).secret, now=over)


@pytest.mark.both("a constraint that ignores case")
@pytest.mark.django_db
def test_an_address_is_invited_once_at_a_time(olga: User) -> None:
    secret = invited(olga).secret
    assert refused(Conflict, invited, olga, email=" Nora@Example.org ").code == "invited_already"
    accept(secret)
    assert refused(Conflict, invited, olga).code == "has_account"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("values", "field"),
    [({"email": "nora"}, "email"), ({"email": ""}, "email"), ({"role": Role.TEAM}, "role")],
    ids=["no address", "empty", "teams are joined otherwise"],
)
def test_a_wrong_invitation_is_refused_by_field(values: dict[str, Any], field: str, olga: User) -> None:
    assert refused(InvalidInput, invited, olga, **values).field == field


@pytest.mark.postgres("one link used at once, with a row lock")
@pytest.mark.django_db(transaction=True)
def test_of_two_who_use_one_link_at_once_one_joins(olga: User) -> None:
    secret = invited(olga).secret
    joined = at_once(*[partial(accept, secret, username=name) for name in "abcd"])
    assert [User.objects.exclude(pk=olga.pk).get()] == [each for each in joined if isinstance(each, User)]


@pytest.fixture
def organizer(olga: User, signed_in: Any) -> Any:
    return signed_in(olga)


def send(client: Client, **fields: str) -> Any:
    form = {"action": "invite", "email": "nora@example.org", "role": "tasker", "language": "en"} | fields
    return client.post("/organizer/people/", form, follow=True)


def link() -> str:
    return str(re.findall(r"http://localhost:8000(/join/\S+)", mail.outbox[-1].body)[0])


def join_by(address: str, **fields: str) -> Any:
    form = {"username": "nora", "new_password": GOOD, "new_password_again": GOOD} | fields
    return Client().post(address, form)


@pytest.mark.django_db
def test_the_letter_leads_to_the_account(organizer: Client) -> None:
    """In the language of the invitation, unless somebody chose another; sent again, the former link is over."""
    before = timezone.now()
    shows(send(organizer, language="de"), "The invitation was sent to nora@example.org")
    row = Invitation.objects.get()
    assert before <= row.invited_at <= timezone.now() and row.expires_at - row.invited_at == timedelta(days=7)
    former = link()
    organizer.post("/organizer/people/", {"action": "renew", "invitation": str(row.pk)})
    assert (mail.outbox[0].to, Client().get(former).status_code) == (["nora@example.org"], 404)
    shows(Client().get(link()), '<html lang="de"')
    in_english = Client(headers={"cookie": "django_language=en"}).get(link())
    shows(in_english, '<html lang="en"', "at least 12 characters", "nora@example.org")
    joined = join_by(link())
    assert (joined.status_code, joined["Location"]) == (303, "/")
    me = Client()
    me.cookies = joined.cookies
    assert me.get("/api/v1/me/").json()["username"] == "nora"
    shows(organizer.get("/organizer/people/"), "accepted")
    assert Client().get(link()).status_code == 404


@pytest.mark.django_db
def test_a_letter_that_could_not_be_sent_is_told_and_sent_again(organizer: Client, settings: Any) -> None:
    """Its link works until the organizer revokes it."""
    with override_settings(EMAIL_BACKEND="common.mail.EmailBackend", EMAIL_HOST="127.0.0.1", EMAIL_PORT=1):
        shows(send(organizer), "has no letter yet", "Send again")
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
        ({"role": "emperor"}, "Choose tasker, organizer or review board"),
        ({"language": "xx"}, "Choose a language"),
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
    assert GOOD not in shows(answer, 'value="nora"', "not the same", status=400)


@pytest.mark.django_db
def test_guessing_links_ends_after_ten(organizer: Client, client: Client) -> None:
    send(organizer)
    assert [client.get(f"/join/guess-{n}/").status_code for n in range(10)] == [404] * 9 + [429]
    shows(client.get("/join/guess/"), "Too many links that open nothing", status=429)
    assert client.get(link()).status_code == 200, "one that works opens to everybody of the address"
    assert Client(REMOTE_ADDR="192.0.2.7").get("/join/guess/").status_code == 404


@pytest.mark.django_db
def test_people_finds_accounts_and_names_their_roles(organizer: Client, tara: Tasker, rita: User, stan: User) -> None:
    told = ("tara", tara.public_id, "review board", "none", 'href="/organizer/"')
    shows(organizer.get("/organizer/people/"), *told)
    assert ">rita<" not in shows(organizer.get("/organizer/people/", {"find": tara.public_id}), "tara")
    shows(organizer.get("/organizer/people/", {"find": "nobody"}), "No account fits")


@pytest.mark.django_db
def test_nobody_else_invites_people(tara: Tasker, rita: User, stan: User, signed_in: Any) -> None:
    told = [signed_in(who).post("/organizer/people/", {"action": "invite"}).status_code for who in (tara, rita, stan)]
    assert (told, Invitation.objects.count()) == ([403, 403, 404], 0)


def _sql(statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def make_tasker(user: User) -> None:
    _sql(
        "INSERT INTO labeling_tasker (public_id, user_id, state, shuffle_seed, language, time_zone, passed, created_at)"
        " VALUES (%s, %s, 'learning', 1, '', '', '{}', %s)",
        f"T-{user.pk}",
        user.pk,
        factories.NOW,
    )


def in_group(name: str) -> Callable[[User], None]:
    def give(user: User) -> None:
        group = Group.objects.get_or_create(name=name)[0]
        _sql("INSERT INTO auth_user_groups (user_id, group_id) VALUES (%s, %s)", user.pk, group.pk)

    return give


def make_member(user: User) -> None:
    team = Team.objects.get_or_create(name="red", defaults={"created_at": factories.NOW})[0]
    _sql("INSERT INTO core_member (team_id, user_id, captain) VALUES (%s, %s, %s)", team.pk, user.pk, False)


GIVE: dict[str, Callable[[User], None]] = {
    "tasker": make_tasker,
    "organizer": in_group(ORGANIZERS),
    "board": in_group(REVIEW_BOARD),
    "team by group": in_group(TEAMS),
    "team by membership": make_member,
}


def _role(way: str) -> str:
    return way.split()[0]


@pytest.mark.both("triggers refuse")
@pytest.mark.django_db
@pytest.mark.parametrize(("first", "second"), sorted(permutations(GIVE, 2)))
def test_the_database_gives_one_role(first: str, second: str, stan: User) -> None:
    GIVE[first](stan)
    if _role(first) == _role(second):
        GIVE[second](stan)
    else:
        refused_by_database(GIVE[second], stan)
    assert AccountRole.objects.get(user=stan).role == _role(first)


@pytest.mark.django_db
@pytest.mark.parametrize("group", [ORGANIZERS, REVIEW_BOARD, TEAMS])
def test_moving_a_row_moves_its_role_or_is_refused(group: str, tara: Tasker, stan: User) -> None:
    in_group(group)(stan)
    for statement, *values in (
        ("UPDATE labeling_tasker SET user_id = %s WHERE id = %s", stan.pk, tara.pk),
        ("UPDATE auth_user_groups SET user_id = %s WHERE user_id = %s", tara.user_id, stan.pk),
    ):
        refused_by_database(_sql, statement, *values)
    board = Group.objects.get_or_create(name=REVIEW_BOARD)[0]
    _sql("UPDATE auth_user_groups SET group_id = %s WHERE user_id = %s", board.pk, stan.pk)
    assert AccountRole.objects.get(user=stan).role == "board"


@pytest.mark.both("triggers take the role away")
@pytest.mark.django_db
def test_a_role_ends_with_its_last_reason(stan: User, tara: Tasker) -> None:
    make_member(stan)
    in_group(TEAMS)(stan)
    stan.groups.clear()
    assert AccountRole.objects.get(user=stan).role == "team", "still a member"
    Member.objects.filter(user=stan).delete()
    Tasker.objects.filter(pk=tara.pk).update(user=None)
    assert not AccountRole.objects.exists()
    in_group(ORGANIZERS)(stan)


@pytest.mark.both("a trigger refuses")
@pytest.mark.django_db
def test_groups_that_give_a_role_keep_their_names(tara: Tasker) -> None:
    for before, after in (
        (ORGANIZERS, "friends"),  # its members would keep a role that no group gives
        ("friends", ORGANIZERS),  # its members would organize without being asked
        (ORGANIZERS, TEAMS),  # its members would change their role
    ):
        Group.objects.get_or_create(name=before)
        refused_by_database(Group.objects.filter(name=before).update, name=after)
    in_group("friends")(tara.user)  # type: ignore[arg-type]
    Group.objects.filter(name="friends").update(name="good friends")
    assert AccountRole.objects.get(user=tara.user).role == "tasker"


@pytest.mark.django_db
def test_one_address_has_one_account(stan: User, olga: User) -> None:
    User.objects.filter(pk=stan.pk).update(email="stan@example.org")
    refused_by_database(User.objects.filter(pk=olga.pk).update, email="Stan@Example.org")


# How the services give a role.
TAKE: dict[str, Callable[[User], Any]] = {
    "tasker": lambda user: tasker_register(user=user, state=TaskerState.LEARNING, now=factories.NOW, rng=Random(1)),
    "organizer": lambda user: role_give(user=user, role=ORGANIZERS),
    "board": lambda user: role_give(user=user, role=REVIEW_BOARD),
    "team": lambda user: member_add(team=Team.objects.get(name="red"), user=user, now=factories.NOW),
}


@pytest.mark.postgres("two roles at once, refused by a trigger that waits")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "ways", [("tasker", "organizer"), ("tasker", "team"), ("tasker", "board"), ("board", "organizer")]
)
def test_of_two_roles_given_at_once_one_is_refused_in_words(ways: tuple[str, str]) -> None:
    Team.objects.create(name="red", created_at=factories.NOW)
    for name in (ORGANIZERS, REVIEW_BOARD, TEAMS):
        Group.objects.get_or_create(name=name)
    people, start = [factories.user(f"person{number}") for number in range(20)], Barrier(2)
    taken = at_once(*[partial(_take, TAKE[way], people, start) for way in ways])
    assert [sum(pair) for pair in zip(*taken, strict=True)] == [1] * len(people)
    assert AccountRole.objects.count() == len(people)


def _take(way: Callable[[User], Any], people: list[User], start: Barrier) -> list[int]:
    """Give each person the role, and stay in the transaction until the other thread has had its chance."""
    taken = []
    for person in people:
        start.wait()
        try:
            with transaction.atomic():
                way(person)
                _sql("SELECT pg_sleep(0.02)")
            taken.append(1)
        except Conflict as refusal:
            assert refusal.code in {"has_role", "is_tasker"}
            taken.append(0)
    return taken


@pytest.mark.django_db
@pytest.mark.parametrize(("model", "account"), [(StateChange, "by_id"), (Voiding, "voided_by_id")])
def test_every_column_but_the_account_is_protected(model: Any, account: str) -> None:
    """A migration that adds a column has to protect the table again, or the column could be changed."""
    name = f"{model._meta.db_table}_no_update"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = %s", [name])
        else:
            cursor.execute("SELECT sql FROM sqlite_master WHERE name = %s", [name])
        (trigger,) = cursor.fetchone()
    compared = set(re.findall(r'old\."?(\w+)', trigger, re.IGNORECASE))
    assert {account, *compared} == {field.column for field in model._meta.concrete_fields}


@pytest.mark.both("a trigger refuses")
@pytest.mark.django_db
def test_a_fact_forgets_who_decided_and_nothing_else(tara: Tasker, olga: User, stan: User) -> None:
    told = {"before": "qualified", "after": "paused", "code": "x", "reason": "y", "changed_at": factories.NOW}
    StateChange.objects.create(tasker=tara, by=olga, **told)
    facts = StateChange.objects.all()
    for values in ({"by": stan}, {"reason": "z"}, {"by": None, "reason": "z"}):
        refused_by_database(facts.update, **values)
    olga.delete()
    assert facts.get().by is None
    refused_by_database(facts.delete)
