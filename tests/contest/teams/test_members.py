"""Who is in a team: making one, inviting, accepting, leaving, removing, handing over. Each person is in one team at
most, and each team has one captain (R25)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, IntegrityError, transaction

from accounts.leaving import account_delete
from accounts.roles import ORGANIZERS, REVIEW_BOARD, role_give
from common.times import to_the_second
from contest.core.models import Member, Team
from contest.core.teams import team_of
from contest.teams.invitations import (
    MAX_OPEN,
    MAX_PER_DAY,
    VALID_FOR,
    team_invitation_accept,
    team_invitation_register,
    team_invitation_withdraw,
    team_invite,
)
from contest.teams.models import PastMember, TeamInvitation
from contest.teams.names import name_problem, tidy_name
from contest.teams.selectors import captain_of
from contest.teams.services import captain_hand_over, member_add, member_leave, member_remove, team_create
from labeling.enums import TaskerState
from labeling.models import Tasker
from labeling.taskers import tasker_register
from tests.contest.board.at_once import at_once, codes
from tests.contest.teams.conftest import link_in, researcher
from tests.refusals import refused
from tests.tables import cases

pytestmark = pytest.mark.django_db
NEW = "correct horse battery"
AGAIN = 5


def names(team: Team) -> list[str]:
    """The members, the captain first."""
    return list(team.members.order_by("-captain", "pk").values_list("user__username", flat=True))


def invited(by: User, email: str, now: datetime) -> str:
    return team_invite(by=by, email=email, now=now).secret


# Making a team


@cases(
    "typed good why",
    ("red", True, "plain"),
    ("Team 7", True, "blanks and digits"),
    ("A&M Lab's R.E.D_1-2+", True, "every mark that is allowed"),
    ("x" * 40, True, "the longest"),
    ("x" * 41, False, "too long"),
    ("x", False, "too short"),
    ("", False, "nothing"),
    (" -red", False, "begins with a mark"),
    ("réd", False, "letters that pass for others"),
    ("rеd", False, "a Cyrillic letter that looks like e"),
    ("red\x00", False, "a control character"),
    ("red/blue", False, "no address"),
    ("Organizers", False, "the contest's own"),
    ("the  Contest", False, "the contest's own, in other blanks"),
)
def test_what_a_team_may_be_called(typed: str, good: bool, why: str) -> None:
    assert (name_problem(tidy_name(typed)) == "") is good, why


@pytest.mark.both("that names differ by more than their case is a constraint")
def test_a_name_is_taken_whatever_its_case(red: Team, fay: User, now: datetime) -> None:
    for name in ("red", "RED", " Red "):
        assert "of this name" in refused("name_taken", team_create, name=name, captain=fay, now=now).message
    assert refused("invalid", team_create, name="rеd", captain=fay, now=now).field == "name"
    assert team_of(fay) is None, "a bad name makes nothing"
    with pytest.raises(IntegrityError), transaction.atomic():
        Team.objects.create(name="Red", created_at=now)


def test_a_person_is_in_one_team(red: Team, blue: Team, carl: User, rosa: User, now: datetime) -> None:
    refused("in_a_team", team_create, name="green", captain=carl, now=now)
    refused("in_a_team", member_add, team=blue, user=rosa, now=now)
    assert not Team.objects.filter(name="green").exists()


# One account, one role (R8)


def test_a_tasker_gets_no_other_role(red: Team, carl: User, tara: Tasker, now: datetime) -> None:
    for role in (ORGANIZERS, REVIEW_BOARD):
        refused("is_tasker", role_give, user=tara.user, role=role)
    refused("is_tasker", team_create, name="green", captain=tara.user, now=now)
    accepts = partial(team_invitation_accept, secret=invited(carl, "tara@example.org", now), user=tara.user, now=now)
    assert "never organizes, judges or competes" in refused("is_tasker", accepts).message
    assert (Team.objects.get(), TeamInvitation.objects.get().accepted_at) == (red, None), "nothing is left behind"


def test_who_organizes_judges_or_competes_never_labels(
    red: Team, carl: User, olga: User, rita: User, now: datetime
) -> None:
    """R8, and the first two compete in no team."""
    assert captain_of(red) == carl
    for person in (olga, rita, carl):
        refused("has_role", tasker_register, user=person, state=TaskerState.QUALIFIED, now=now, rng=Random(1))
    for person in (olga, rita):
        refused("has_role", member_add, team=red, user=person, now=now)


# Inviting and accepting


def test_an_invitation_brings_somebody_in(red: Team, carl: User, fay: User, now: datetime, sent: Any) -> None:
    [letter] = sent(lambda: invited(carl, "Fay@example.org", now))
    assert (letter.to, letter.subject) == (["fay@example.org"], "Team red invites you")
    assert "UTC UTC" not in letter.body and f"until {to_the_second(now + VALID_FOR, 'UTC')}." in letter.body
    secret = link_in(letter).split("/")[-2]
    assert not TeamInvitation.objects.filter(token_sha256=secret).exists(), "only its hash is kept"
    letters = sent(lambda: team_invitation_accept(secret=secret, user=fay, now=now))
    assert names(red) == ["carl", "rosa", "fay"]
    assert {each.to[0] for each in letters} == {f"{name}@example.org" for name in names(red)}
    assert TeamInvitation.objects.get().email == "", "who joined is a member; the address is not kept twice"


@cases(
    "end typed why",
    (lambda secret, red, now: None, "x", "forged"),
    (
        lambda secret, red, now: team_invitation_accept(secret=secret, user=researcher("first"), now=now),
        *("", "accepted by somebody"),
    ),
    (
        lambda secret, red, now: team_invitation_withdraw(
            by=captain_of(red), invitation_id=TeamInvitation.objects.get().pk, now=now
        ),
        *("", "withdrawn"),
    ),
    (lambda secret, red, now: TeamInvitation.objects.update(ends_at=now), "", "14 days old"),
    (
        lambda secret, red, now: [member_leave(user=each.user, now=now) for each in red.members.order_by("captain")],
        *("", "everybody has left"),
    ),
)
def test_a_link_that_is_over_brings_nobody_in(
    end: Callable[[str, Team, datetime], object], typed: str, why: str, red: Team, carl: User, fay: User, now: datetime
) -> None:
    secret = invited(carl, "fay@example.org", now)
    end(secret, red, now)
    refused("link_over", team_invitation_accept, secret=secret + typed, user=fay, now=now)
    assert team_of(fay) is None, why


def test_the_last_second_of_a_link(red: Team, carl: User, fay: User, now: datetime) -> None:
    """And then the address is invited anew."""
    accepts = partial(team_invitation_accept, secret=invited(carl, "fay@example.org", now), user=fay)
    refused("link_over", accepts, now=now + VALID_FOR)
    with transaction.atomic():
        accepts(now=now + VALID_FOR - timedelta(microseconds=1))
        assert team_of(fay) == red
        transaction.set_rollback(True)
    invited(carl, "fay@example.org", now + VALID_FOR)
    assert TeamInvitation.objects.filter(withdrawn_at=None).count() == 1


def test_who_is_not_invited(red: Team, carl: User, now: datetime) -> None:
    refused("is_member", invited, carl, "rosa@example.org", now)
    for number in range(MAX_OPEN):
        invited(carl, f"n{number}@example.org", now)
    refused("invited_already", invited, carl, "n0@example.org", now)
    assert "at most" in refused("too_many", invited, carl, "more@example.org", now).message


def test_a_team_sends_so_many_invitations_a_day(red: Team, carl: User, now: datetime) -> None:
    for number in range(MAX_PER_DAY):
        invited(carl, f"n{number}@example.org", now)
        TeamInvitation.objects.update(withdrawn_at=now)
    assert "40 invitations" in refused("letters_today", invited, carl, "fay@example.org", now).message
    assert invited(carl, "fay@example.org", now + timedelta(days=1))


def test_only_the_captain_invites_withdraws_removes_and_hands_over(
    red: Team, carl: User, rosa: User, bea: User, blue: Team, now: datetime
) -> None:
    invited(carl, "fay@example.org", now)
    member = Member.objects.get(user=carl).pk
    acts: list[tuple[Callable[..., Any], str]] = [
        (partial(team_invitation_withdraw, invitation_id=TeamInvitation.objects.get().pk, now=now), "invitation_over"),
        (partial(member_remove, member_id=member, now=now), "not_found"),
        (partial(captain_hand_over, member_id=member, now=now), "not_found"),
    ]
    refused("not_captain", invited, rosa, "x@example.org", now)
    for act, code in acts:
        refused("not_captain", act, by=rosa)
        refused(code, act, by=bea)  # the captain of another team
    assert names(red) == ["carl", "rosa"]


def test_the_link_makes_an_account_for_an_address_without_one(red: Team, carl: User, fay: User, now: datetime) -> None:
    registers = partial(team_invitation_register, password=NEW, now=now)
    nora = registers(secret=invited(carl, "nora@example.org", now), username="nora")
    assert (nora.email, team_of(nora)) == ("nora@example.org", red)
    error = refused("has_account", registers, secret=invited(carl, "fay@example.org", now), username="other")
    assert "sign in with it" in error.message and not User.objects.filter(username="other").exists()


# Leaving, removing, handing over


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
    refused("hand_over_first", member_leave, user=carl, now=now)
    with pytest.raises(IntegrityError), transaction.atomic():
        Member.objects.filter(user=rosa).update(captain=True)  # the database refuses a second captain
    captain_hand_over(by=carl, member_id=Member.objects.get(user=rosa).pk, now=now)
    member_leave(user=User.objects.get(pk=carl.pk), now=now)
    assert (names(red), captain_of(red)) == (["rosa"], rosa)


def test_the_last_one_leaves_a_team_without_members(blue: Team, bea: User, now: datetime) -> None:
    invited(bea, "fay@example.org", now)
    member_leave(user=bea, now=now)
    assert (names(blue), captain_of(blue), TeamInvitation.objects.get().withdrawn_at) == ([], None, now)
    assert "in no team" in refused("no_team", member_leave, user=bea, now=now).message


def test_a_captain_removes_others_and_never_themselves(
    red: Team, carl: User, rosa: User, now: datetime, sent: Any
) -> None:
    removes = partial(member_remove, by=carl, now=now)
    told = {each.to[0] for each in sent(lambda: removes(member_id=Member.objects.get(user=rosa).pk))}
    assert "rosa@example.org" in told, "who is removed is told"
    assert (names(red), PastMember.objects.get().user) == (["carl"], rosa)
    refused("not_found", removes, member_id=Member.objects.get(user=carl).pk)


# Accounts that are deleted


def test_the_captaincy_passes_to_who_has_been_there_longest(red: Team, carl: User, rosa: User, now: datetime) -> None:
    member_add(team=red, user=researcher("zoe"), now=now - timedelta(days=3))
    account_delete(user=carl, now=now)
    assert (names(red)[0], PastMember.objects.values_list("team", "user").get()) == ("zoe", (red.pk, None))


def test_of_a_person_who_left_no_address_stays_and_no_link_works(
    red: Team, blue: Team, carl: User, bea: User, fay: User, now: datetime
) -> None:
    invited(carl, "fay@example.org", now)
    account_delete(user=fay, now=now)
    assert TeamInvitation.objects.values_list("email", "withdrawn_at").get() == ("", now)
    secret = invited(bea, "fay@example.org", now)
    account_delete(user=bea, now=now)
    assert names(blue) == []
    refused("link_over", team_invitation_accept, secret=secret, user=researcher("fay"), now=now)


# At the same moment

BESIDE = pytest.mark.postgres("several at once: SQLite has one writer")


@BESIDE
@pytest.mark.django_db(transaction=True)
def test_of_two_accepts_by_one_person_one_counts(
    red: Team, blue: Team, carl: User, bea: User, fay: User, now: datetime
) -> None:
    for day in range(AGAIN):  # one address gets few letters a day
        at = now + timedelta(day)
        secrets = [invited(by, "fay@example.org", at) for by in (carl, bea)]
        accepts = [partial(team_invitation_accept, secret=secret, user=fay, now=at) for secret in secrets]
        assert codes(at_once(*accepts)) == ["", "in_a_team"]
        assert Member.objects.filter(user=fay).count() == 1
        member_leave(user=fay, now=at)
        TeamInvitation.objects.update(withdrawn_at=at)
    assert (red.members.count(), blue.members.count()) == (2, 1)


@BESIDE
@pytest.mark.django_db(transaction=True)
def test_of_two_persons_with_one_link_one_joins(red: Team, carl: User, fay: User, bea: User, now: datetime) -> None:
    for _ in range(AGAIN):
        accepts = partial(team_invitation_accept, secret=invited(carl, "n@example.org", now), now=now)
        assert codes(at_once(*(partial(accepts, user=user) for user in (fay, bea)))) == ["", "link_over"]
        assert red.members.count() == 3
        member_leave(user=red.members.latest("pk").user, now=now)


@BESIDE
@pytest.mark.django_db(transaction=True)
def test_handing_over_and_leaving_at_once_leave_one_captain(red: Team, carl: User, rosa: User, now: datetime) -> None:
    for _ in range(AGAIN):
        at_once(
            partial(captain_hand_over, by=carl, member_id=Member.objects.get(user=rosa).pk, now=now),
            partial(member_leave, user=rosa, now=now),
            partial(member_leave, user=carl, now=now),
        )
        assert red.members.filter(captain=True).count() == (1 if red.members.exists() else 0)
        Member.objects.all().delete()
        for user in (carl, rosa):
            member_add(team=red, user=user, captain=user == carl, now=now)


@BESIDE
@pytest.mark.django_db(transaction=True)
def test_of_two_teams_with_one_name_one_is_made(carl: User, bea: User, now: datetime) -> None:
    makes = [partial(team_create, name=name, captain=user, now=now) for name, user in (("Red", carl), ("red", bea))]
    assert codes(at_once(*makes)) == ["", "name_taken"]
