"""Making a team, inviting, accepting, leaving, removing, handing over: always exactly one captain."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, IntegrityError, transaction

from common.errors import Conflict, InvalidInput, NotAllowed, NotFound
from common.times import to_the_second
from contest.models import Member, PastMember, Team, TeamInvitation
from contest.teams.invitations import (
    MOST_OPEN,
    VALID_FOR,
    team_invitation_accept,
    team_invitation_register,
    team_invitation_withdraw,
    team_invite,
)
from contest.teams.selectors import captain_of, team_of
from contest.teams.services import (
    captain_hand_over,
    member_add,
    member_leave,
    member_remove,
    team_create,
)
from labeling.accounts.leaving import account_delete
from labeling.models import Tasker
from tests.contest.teams.conftest import link_in, refused, researcher

pytestmark = pytest.mark.django_db
NEW = "correct horse battery"


def names(team: Team) -> list[str]:
    """The members, the captain first."""
    rows = team.members.order_by("-captain", "pk")
    return list(rows.values_list("user__username", flat=True))


def invited(by: User, email: str, now: datetime) -> str:
    return team_invite(by=by, email=email, now=now).secret


@pytest.mark.both("that names differ by more than their case is a constraint")
def test_a_name_is_taken_whatever_its_case(red: Team, fay: User, now: datetime) -> None:
    for name in ("red", "RED", " Red "):
        with pytest.raises(Conflict, match="of this name") as found:
            team_create(name=name, captain=fay, now=now)
        assert found.value.code == "name_taken"
    with pytest.raises(InvalidInput) as wrong:
        team_create(name="rеd", captain=fay, now=now)
    assert (wrong.value.field, team_of(fay)) == ("name", None), "a bad name makes nothing"
    with pytest.raises(IntegrityError), transaction.atomic():
        Team.objects.create(name="Red", created_at=now)


def test_a_person_is_in_one_team(red: Team, blue: Team, carl: User, rosa: User, now: datetime) -> None:
    for again in (
        lambda: team_create(name="green", captain=carl, now=now),
        lambda: member_add(team=blue, user=rosa, now=now),
    ):
        assert refused(Conflict, again).code == "in_a_team"
    assert not Team.objects.filter(name="green").exists()


def test_an_invitation_brings_somebody_in(red: Team, carl: User, fay: User, now: datetime, sent: Any) -> None:
    [letter] = sent(lambda: invited(carl, "Fay@example.org", now))
    assert (letter.to, letter.subject) == (["fay@example.org"], "Team red invites you")
    secret = link_in(letter).split("/")[-2]
    assert "UTC UTC" not in letter.body and f"until {to_the_second(now + VALID_FOR, 'UTC')}." in letter.body
    assert not TeamInvitation.objects.filter(token_sha256=secret).exists(), "only its hash is kept"
    letters = sent(lambda: team_invitation_accept(secret=secret, user=fay, now=now))
    assert names(red) == ["carl", "rosa", "fay"]
    assert {each.to[0] for each in letters} == {f"{name}@example.org" for name in ("carl", "rosa", "fay")}
    assert TeamInvitation.objects.get().email == "", "who joined is a member; the address is not kept twice"


@pytest.mark.parametrize(
    ("make_over", "why"),
    [
        (lambda now, secret, carl, red: secret + "x", "forged"),
        (lambda now, secret, carl, red: _accepted(secret, researcher("first"), now), "accepted by somebody"),
        (lambda now, secret, carl, red: _withdrawn(secret, carl, now), "withdrawn"),
        (lambda now, secret, carl, red: _aged(secret), "14 days old"),
        (lambda now, secret, carl, red: _left(secret, red, now), "everybody has left"),
    ],
)
def test_a_link_that_is_over_brings_nobody_in(
    make_over: Callable[..., str], why: str, red: Team, carl: User, fay: User, now: datetime
) -> None:
    secret = make_over(now, invited(carl, "fay@example.org", now), carl, red)
    with pytest.raises(NotFound) as found:
        team_invitation_accept(secret=secret, user=fay, now=now)
    assert (found.value.code, team_of(fay)) == ("link_over", None), why


def _accepted(secret: str, user: User, now: datetime) -> str:
    team_invitation_accept(secret=secret, user=user, now=now)
    return secret


def _withdrawn(secret: str, carl: User, now: datetime) -> str:
    team_invitation_withdraw(by=carl, invitation_id=TeamInvitation.objects.get().pk, now=now)
    return secret


def _aged(secret: str) -> str:
    row = TeamInvitation.objects.get()
    TeamInvitation.objects.update(ends_at=row.ends_at - VALID_FOR)
    return secret


def _left(secret: str, red: Team, now: datetime) -> str:
    for each in red.members.order_by("captain"):
        member_leave(user=each.user, now=now)
    return secret


def test_the_last_second_of_a_link(red: Team, carl: User, fay: User, now: datetime) -> None:
    """And then the address is invited anew."""
    secret = invited(carl, "fay@example.org", now)
    refused(NotFound, team_invitation_accept, secret=secret, user=fay, now=now + VALID_FOR)
    with transaction.atomic():
        team_invitation_accept(secret=secret, user=fay, now=now + VALID_FOR - timedelta(microseconds=1))
        assert team_of(fay) == red
        transaction.set_rollback(True)
    invited(carl, "fay@example.org", now + VALID_FOR)
    assert TeamInvitation.objects.filter(withdrawn_at=None).count() == 1


@pytest.mark.parametrize(
    ("email", "code"), [("rosa@example.org", "is_member"), ("asked@example.org", "invited_already")]
)
def test_who_is_in_or_invited_is_not_invited(red: Team, carl: User, email: str, code: str, now: datetime) -> None:
    invited(carl, "asked@example.org", now)
    assert refused(Conflict, invited, carl, email, now).code == code


def test_a_team_has_so_many_open_invitations(red: Team, carl: User, now: datetime) -> None:
    for number in range(MOST_OPEN):
        invited(carl, f"n{number}@example.org", now)
    with pytest.raises(Conflict, match="at most"):
        invited(carl, "more@example.org", now)


def test_only_the_captain_invites_withdraws_removes_and_hands_over(
    red: Team, carl: User, rosa: User, bea: User, blue: Team, now: datetime
) -> None:
    invited(carl, "fay@example.org", now)
    invitation, member = TeamInvitation.objects.get().pk, carl.membership.pk  # type: ignore[attr-defined]
    acts: list[Callable[[User], Any]] = [
        lambda by: invited(by, "x@example.org", now),
        lambda by: team_invitation_withdraw(by=by, invitation_id=invitation, now=now),
        lambda by: member_remove(by=by, member_id=member, now=now),
        lambda by: captain_hand_over(by=by, member_id=member, now=now),
    ]
    for act in acts:
        refused(NotAllowed, act, rosa)
    for act in acts[1:]:
        with pytest.raises((NotFound, Conflict)):
            act(bea)
    assert names(red) == ["carl", "rosa"]


def test_a_tasker_does_not_join(red: Team, carl: User, tara: Tasker, now: datetime) -> None:
    secret = invited(carl, "tara@example.org", now)
    assert tara.user is not None
    with pytest.raises(Conflict, match="never organizes, judges or competes"):
        team_invitation_accept(secret=secret, user=tara.user, now=now)
    assert TeamInvitation.objects.get().accepted_at is None


def test_the_link_makes_an_account_for_an_address_without_one(red: Team, carl: User, fay: User, now: datetime) -> None:
    secret = invited(carl, "nora@example.org", now)
    nora = team_invitation_register(secret=secret, username="nora", password=NEW, now=now)
    assert (nora.email, team_of(nora)) == ("nora@example.org", red)
    secret = invited(carl, "fay@example.org", now)
    with pytest.raises(InvalidInput, match="sign in with it"):
        team_invitation_register(secret=secret, username="other", password=NEW, now=now)
    assert not User.objects.filter(username="other").exists()


# Leaving, removing, handing over.


@pytest.mark.both("a trigger keeps who was in a team as it is")
def test_who_leaves_is_remembered_and_may_join_another_team(red: Team, blue: Team, rosa: User, now: datetime) -> None:
    member_leave(user=rosa, now=now + timedelta(days=1))
    past = PastMember.objects.get()
    assert (past.team, past.user, past.joined_at, past.left_at) == (red, rosa, now, now + timedelta(days=1))
    member_add(team=blue, user=rosa, now=now)
    assert (names(red), names(blue)) == (["carl"], ["bea", "rosa"])
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        PastMember.objects.update(left_at=now)


def test_a_captain_hands_over_before_leaving(red: Team, carl: User, rosa: User, now: datetime) -> None:
    assert refused(Conflict, member_leave, user=carl, now=now).code == "hand_over_first"
    with pytest.raises(IntegrityError), transaction.atomic():
        Member.objects.filter(user=rosa).update(captain=True)  # the database refuses a second captain
    captain_hand_over(by=carl, member_id=rosa.membership.pk, now=now)  # type: ignore[attr-defined]
    member_leave(user=User.objects.get(pk=carl.pk), now=now)
    assert (names(red), captain_of(red)) == (["rosa"], rosa)


def test_the_last_one_leaves_a_team_without_members(blue: Team, bea: User, now: datetime) -> None:
    invited(bea, "fay@example.org", now)
    member_leave(user=bea, now=now)
    assert (names(blue), captain_of(blue)) == ([], None)
    assert TeamInvitation.objects.get().withdrawn_at == now
    with pytest.raises(NotFound, match="in no team"):
        member_leave(user=bea, now=now)


def test_a_captain_removes_others_and_never_themselves(
    red: Team, carl: User, rosa: User, now: datetime, sent: Any
) -> None:
    letters = sent(lambda: member_remove(by=carl, member_id=rosa.membership.pk, now=now))  # type: ignore[attr-defined]
    assert "rosa@example.org" in {each.to[0] for each in letters}, "who is removed is told"
    assert (names(red), PastMember.objects.get().user) == (["carl"], rosa)
    with pytest.raises(NotFound):
        member_remove(by=carl, member_id=carl.membership.pk, now=now)  # type: ignore[attr-defined]


# Accounts that are deleted.


def test_the_captaincy_passes_to_who_has_been_there_longest(red: Team, carl: User, rosa: User, now: datetime) -> None:
    member_add(team=red, user=researcher("zoe"), now=now - timedelta(days=3))
    account_delete(user=carl, now=now)
    assert names(red)[0] == "zoe"
    assert list(PastMember.objects.values_list("team", "user")) == [(red.pk, None)]


def test_of_a_person_who_left_no_address_stays_and_no_link_works(
    red: Team, blue: Team, carl: User, bea: User, fay: User, now: datetime
) -> None:
    invited(carl, "fay@example.org", now)
    account_delete(user=fay, now=now)
    row = TeamInvitation.objects.get()
    assert (row.email, row.withdrawn_at) == ("", now)
    secret = invited(bea, "fay@example.org", now)
    account_delete(user=bea, now=now)
    assert names(blue) == []
    refused(NotFound, team_invitation_accept, secret=secret, user=researcher("fay"), now=now)
