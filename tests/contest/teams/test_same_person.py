"""What says that two accounts are one person: shown to organizers, and nothing follows (R25)."""

from datetime import datetime

import pytest
from axes.models import AccessLog
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from contest.models import Entitlement, Member, SamePerson, Team
from contest.teams.entitlements import entitlement_ask
from contest.teams.same_person import (
    MOST_SHARING,
    same_persons,
    same_persons_find,
    same_persons_find_now_and_then,
)
from contest.teams.services import captain_hand_over, member_add, member_leave
from labeling.accounts.leaving import account_delete
from labeling.models import Tasker
from tests import factories
from tests.contest.teams.conftest import PAPER, researcher

pytestmark = pytest.mark.django_db


def found(now: datetime) -> set[tuple[str, str, str]]:
    same_persons_find(now=now)
    return {(each.first.username, each.second.username, each.by) for each in same_persons()}


def signed_in(user: User, address: str | None, now: datetime) -> None:
    AccessLog.objects.create(username=user.username, ip_address=address, attempt_time=now)


def test_addresses_that_lead_to_one_inbox(now: datetime) -> None:
    for name, email in (("a", "jo.do@gmail.com"), ("b", "jodo+2@googlemail.com"), ("c", "jo@gmail.com")):
        researcher(name, email)
    for name in ("without an address", "nor this one"):
        User.objects.filter(pk=researcher(name).pk).update(email="")
    assert found(now) == {("a", "b", "email")}
    assert SamePerson.objects.get().figures == {"provider": "gmail.com", "accounts": 2}


def test_a_tasker_who_competes_under_another_name_is_seen(tara: Tasker, otto: Tasker, now: datetime) -> None:
    User.objects.filter(username="tara").update(email="t.ara@gmail.com")
    User.objects.filter(username="otto").update(email="o+1@gmail.com")
    researcher("ringer", "tara@gmail.com")
    User.objects.create(username="none", email="o@gmail.com")
    assert found(now) == {("tara", "ringer", "email")}, "of the other pair nobody competes"


def test_one_client_address(red: Team, carl: User, rosa: User, bea: User, fay: User, now: datetime) -> None:
    for user, address in ((carl, "192.0.2.1"), (bea, "192.0.2.1"), (fay, "192.0.2.2"), (rosa, None), (fay, None)):
        signed_in(user, address, now)
    AccessLog.objects.create(username="long gone", ip_address="192.0.2.2", attempt_time=now)
    assert found(now) == {("carl", "bea", "address")}
    row = SamePerson.objects.get()
    assert row.figures["addresses"] == 1
    assert "192.0.2.1" not in str(row.figures), "it is forgotten with the record of sign-ins"


def test_what_signing_in_leaves_is_looked_at(carl: User, tara: Tasker, fay: User, now: datetime) -> None:
    for name, address in (("carl", "192.0.2.1"), ("tara", "192.0.2.1"), ("fay", "192.0.2.2")):
        form = {"username": name, "password": factories.PASSWORD}
        assert Client(REMOTE_ADDR=address).post("/sign-in/", form).status_code == 302
    assert {frozenset(pair[:2]) for pair in found(now)} == {frozenset({"carl", "tara"})}


@pytest.mark.parametrize(("sharing", "pairs"), [(MOST_SHARING, 6), (MOST_SHARING + 1, 0)])
def test_an_address_of_many_says_nothing(sharing: int, pairs: int, now: datetime) -> None:
    for number in range(sharing):
        signed_in(researcher(f"r{number}"), "192.0.2.1", now)
    assert len(found(now)) == pairs


def test_one_author_s_address_in_two_teams(
    red: Team, blue: Team, carl: User, rosa: User, bea: User, now: datetime
) -> None:
    entitlement_ask(by=carl, arxiv_id=PAPER, paper_email="rosa@example.org", now=now)
    member_leave(user=rosa, now=now)
    member_add(team=blue, user=rosa, now=now)
    entitlement_ask(by=bea, arxiv_id="1801.00001", paper_email="rosa@example.org", now=now)
    assert found(now) == {("carl", "bea", "paper")}, "the author is one account; who asked may be one person"
    assert SamePerson.objects.get().figures == {
        "papers": ["1801.00001", PAPER],
        "teams": sorted([red.public_id, blue.public_id]),
    }


def test_two_spellings_of_one_author_in_two_teams(red: Team, blue: Team, carl: User, bea: User, now: datetime) -> None:
    User.objects.filter(pk=carl.pk).update(email="au.thor@gmail.com")
    User.objects.filter(pk=bea.pk).update(email="author@gmail.com")
    entitlement_ask(by=carl, arxiv_id=PAPER, paper_email="au.thor@gmail.com", now=now)
    entitlement_ask(by=bea, arxiv_id=PAPER, paper_email="author@gmail.com", now=now)
    assert found(now) == {("carl", "bea", "paper"), ("carl", "bea", "email")}


def test_one_team_asking_twice_is_no_hint(red: Team, carl: User, rosa: User, now: datetime) -> None:
    entitlement_ask(by=carl, arxiv_id=PAPER, paper_email="rosa@example.org", now=now)
    Entitlement.objects.update(state="refused")
    captain_hand_over(by=carl, member_id=Member.objects.get(user=rosa).pk, now=now)
    entitlement_ask(by=rosa, arxiv_id=PAPER, paper_email="rosa@example.org", now=now)
    assert found(now) == set()


@pytest.mark.both("what was found already is passed over by the database")
def test_looking_twice_finds_nothing_new_and_sweeps_look_now_and_then(red: Team, now: datetime) -> None:
    researcher("a", "jo.do@gmail.com")
    other, before = researcher("b", "jodo@gmail.com"), list(Member.objects.values("team", "user", "captain"))
    assert [same_persons_find(now=now) for _ in range(2)] == [1, 0]
    assert list(Member.objects.values("team", "user", "captain")) == before, "nothing follows"
    assert not User.objects.filter(is_active=False).exists()
    SamePerson.objects.all().delete()
    assert [same_persons_find_now_and_then(now=now) for _ in range(2)] == [1, 0]
    SamePerson.objects.all().delete()
    cache.clear()
    assert same_persons_find_now_and_then(now=now) == 1
    account_delete(user=other, now=now)
    assert not SamePerson.objects.exists(), "a pair is forgotten with either account"
