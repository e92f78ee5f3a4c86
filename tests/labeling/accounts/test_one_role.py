"""One role per account (R8): the services say it in words, and the database refuses whoever writes past them."""

from collections.abc import Callable
from functools import partial
from itertools import permutations
from random import Random
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, connection, transaction

from common.append_only import FORGETTING
from common.errors import Conflict
from contest.models import Member, Team
from contest.teams.services import member_add
from labeling.enums import TaskerState
from labeling.models import AccountRole, StateChange, Tasker, Voiding
from labeling.people import ORGANIZERS, REVIEW_BOARD, TEAMS, role_give, tasker_register
from tests import factories
from tests.labeling.cast import at_once


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
    _sql("INSERT INTO contest_member (team_id, user_id, captain) VALUES (%s, %s, %s)", team.pk, user.pk, False)


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
        with pytest.raises(IntegrityError), transaction.atomic():
            GIVE[second](stan)
    assert AccountRole.objects.get(user=stan).role == _role(first)


@pytest.mark.django_db
@pytest.mark.parametrize("group", [ORGANIZERS, REVIEW_BOARD, TEAMS])
def test_moving_a_row_moves_its_role_or_is_refused(group: str, tara: Tasker, stan: User) -> None:
    in_group(group)(stan)
    for statement, *values in (
        ("UPDATE labeling_tasker SET user_id = %s WHERE id = %s", stan.pk, tara.pk),
        ("UPDATE auth_user_groups SET user_id = %s WHERE user_id = %s", tara.user_id, stan.pk),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            _sql(statement, *values)
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
    for before, after, reason in (
        (ORGANIZERS, "friends", "its members would keep a role that no group gives"),
        ("friends", ORGANIZERS, "its members would organize without being asked"),
        (ORGANIZERS, TEAMS, "its members would change their role"),
    ):
        group = Group.objects.get_or_create(name=before)[0]
        with pytest.raises(IntegrityError), transaction.atomic():
            Group.objects.filter(pk=group.pk).update(name=after)
            pytest.fail(reason)
    assert tara.user is not None
    in_group("friends")(tara.user)
    Group.objects.filter(name="friends").update(name="good friends")
    assert AccountRole.objects.get(user=tara.user).role == "tasker"


@pytest.mark.django_db
def test_one_address_has_one_account(stan: User, olga: User) -> None:
    User.objects.filter(pk=stan.pk).update(email="stan@example.org")
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.filter(pk=olga.pk).update(email="Stan@Example.org")


def _as_tasker(user: User) -> None:
    tasker_register(user=user, state=TaskerState.LEARNING, now=factories.NOW, rng=Random(1))


def _as_organizer(user: User) -> None:
    role_give(user=user, role=ORGANIZERS)


def _as_board(user: User) -> None:
    role_give(user=user, role=REVIEW_BOARD)


def _as_member(user: User) -> None:
    member_add(team=Team.objects.get(name="red"), user=user, now=factories.NOW)


@pytest.mark.postgres("two roles at once, refused by a trigger that waits")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "ways",
    [(_as_tasker, _as_organizer), (_as_tasker, _as_member), (_as_tasker, _as_board), (_as_board, _as_organizer)],
    ids=["organizer", "team", "board", "board or organizer"],
)
def test_of_two_roles_given_at_once_one_is_refused_in_words(ways: tuple[Callable[[User], None], ...]) -> None:
    Team.objects.create(name="red", created_at=factories.NOW)
    for name in (ORGANIZERS, REVIEW_BOARD, TEAMS):
        Group.objects.get_or_create(name=name)
    people, start = [factories.user(f"person{number}") for number in range(20)], Barrier(2)
    taken = at_once(*[partial(_take, way, people, start) for way in ways])
    assert [sum(pair) for pair in zip(*taken, strict=True)] == [1] * len(people)
    assert AccountRole.objects.count() == len(people)


def _take(way: Callable[[User], None], people: list[User], start: Barrier) -> list[int]:
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
@pytest.mark.parametrize(("table", "model"), [("labeling_statechange", StateChange), ("labeling_voiding", Voiding)])
def test_every_column_but_the_account_is_protected(table: str, model: Any) -> None:
    """A column that is added later has to be named there too, or it could be changed."""
    who, kept = FORGETTING[table]
    assert {who, *kept} == {field.column for field in model._meta.concrete_fields}


@pytest.mark.both("a trigger refuses")
@pytest.mark.django_db
def test_a_fact_forgets_who_decided_and_nothing_else(tara: Tasker, olga: User, stan: User) -> None:
    change = StateChange.objects.create(
        tasker=tara, before="qualified", after="paused", code="x", reason="y", by=olga, changed_at=factories.NOW
    )
    row = StateChange.objects.filter(pk=change.pk)
    for values in ({"by": stan}, {"reason": "z"}, {"by": None, "reason": "z"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            row.update(**values)
    olga.delete()
    assert row.get().by is None
    with pytest.raises(IntegrityError), transaction.atomic():
        row.delete()
