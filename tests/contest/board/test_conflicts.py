"""The registry of conflicts: declared, found, ended, dismissed (R21)."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from common.errors import DomainError, WrongFields
from common.models import AuditEntry
from contest.board.conflicts import (
    Ended,
    conflict_declare,
    conflict_dismiss,
    conflict_end,
    conflicts_find,
    ends_of,
    ties_tell,
)
from contest.board.recusal import EVER
from contest.enums import ConflictKind
from contest.models import Conflict, Entitlement, Member, PastMember, Team
from contest.teams.inboxes import institution
from tests import factories
from tests.contest.board import cast
from tests.contest.board.cast import LATER
from tests.contest.money import cast as money

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def refused(code: str, call: Any, **more: Any) -> DomainError:
    with pytest.raises(DomainError) as found:
        call(**more)
    assert found.value.code == code
    return found.value


def declare(member: User, team: Team, by: User | None = None, **more: Any) -> Conflict:
    told: dict[str, Any] = {"kind": ConflictKind.COAUTHOR, "since": LATER - DAY, "words": "A paper of 2025."}
    return conflict_declare(member=member, team=team, by=by or member, now=LATER, **(told | more))


def test_a_member_declares_their_own_and_an_organizer_anybodys(olga: User, rita: User, stan: User) -> None:
    """R21; nobody else declares one, and an end is for who may declare it."""
    ben, green = cast.member("ben"), money.team("green")
    for by in (ben, stan):
        refused("not_yours", declare, member=rita, team=green, by=by)
    refused("invalid", declare, member=stan, team=green, by=olga)
    mine, hers = declare(rita, green), declare(rita, money.team("grey"), by=olga)
    assert (mine.declared_by, hers.declared_by, mine.found) == (rita, olga, False)
    refused("not_yours", end, made=mine, by=ben)
    refused("not_yours", end, made=hers, by=rita)
    assert end(mine, rita).until == end(hers, olga).until == LATER + DAY


@pytest.mark.both("the member and their cases are locked while a conflict is declared")
def test_what_is_refused_of_a_conflict(rita: User) -> None:
    green = money.team("green")
    refused("invalid", declare, member=rita, team=green, since=LATER + DAY)
    refused("invalid", declare, member=rita, team=green, words="x" * 1_001)
    declare(rita, green)
    refused("declared", declare, member=rita, team=green)
    declare(rita, green, kind=ConflictKind.INSTITUTION)


def end(made: Conflict, by: User, reason: str = "The paper is withdrawn.") -> Conflict:
    return conflict_end(conflict_id=made.pk, reason=reason, by=by, now=LATER + DAY)


def test_it_ends_once_and_with_a_reason(rita: User, olga: User) -> None:
    made = declare(rita, money.team("green"))
    for reason in ("", " \n\x00", "x" * 1_001):
        assert refused("invalid", end, made=made, by=rita, reason=reason).field == "reason"
    assert not AuditEntry.objects.filter(action="conflict.end").exists()
    end(made, rita)
    refused("over", end, made=made, by=rita)
    refused("declared", conflict_dismiss, conflict_id=made.pk, reason="No.", by=olga, now=LATER + DAY)
    refused("not_found", end, made=Conflict(pk=0), by=rita)


def test_how_it_ended_stays_in_the_audit_trail(rita: User, olga: User) -> None:
    mine, hers, stands = (declare(rita, money.team(name)) for name in ("green", "grey", "gold"))
    end(mine, rita, " We erred. ")
    end(hers, olga)
    entry = AuditEntry.objects.get(action="conflict.end", subject={"conflict": [mine.pk]})
    assert (entry.user, entry.private["words"], entry.why, entry.published) == (rita, "We erred.", "", False)
    told = {mine.pk: Ended("rita", "We erred."), hers.pk: Ended("olga", "The paper is withdrawn.")}
    rows = Conflict.objects.all()
    assert ends_of(rows) == told and stands.pk not in ends_of(rows)
    AuditEntry.objects.filter(pk=entry.pk).update(user=None)
    assert ends_of(rows)[mine.pk].by == "", "the account is gone"


# What the contest finds -----------------------------------------------------------------------------------------------


def researcher(name: str, email: str, team: Team) -> User:
    user = factories.user(name, "teams")
    user.email = email
    user.save()
    Member.objects.create(team=team, user=user)
    return user


def found(member: User) -> list[tuple[str, str]]:
    conflicts_find(now=LATER)
    rows = Conflict.objects.filter(member=member, found=True).order_by("team__name", "kind")
    return list(rows.values_list("team__name", "kind"))


@pytest.mark.parametrize(
    ("board", "team", "kinds", "why"),
    [
        ("rita@cs.ox.ac.uk", "ann@physics.ox.ac.uk", ["institution"], "two departments are one university"),
        ("rita@ox.ac.uk", "ann@cam.ac.uk", [], "two universities below one ac.uk"),
        ("rita@gmail.com", "ann@gmail.com", [], "anybody has an address there"),
        ("rita@mit.edu", "ann@MIT.EDU", ["institution"], "however it is written"),
        ("", "ann@mit.edu", [], "without an address nothing is found"),
        ("rita@mit.edu", "", [], "nor on the other side"),
    ],
)
def test_one_institution(board: str, team: str, kinds: list[str], why: str, rita: User) -> None:
    rita.email = board
    rita.save()
    researcher("ann", team, money.team("green"))
    assert found(rita) == [("green", kind) for kind in kinds], why


def test_named_people_papers_and_times_in_a_team(rita: User) -> None:
    green, grey, blue = money.team("green"), money.team("grey"), money.team("blue")
    researcher("ann", "ann.lee@gmail.com", green)
    paper = {"kind": "paper", "arxiv_id": "1809.08352", "email": "x@example.org", "asked_at": LATER}
    Entitlement.objects.create(team=grey, **paper)
    PastMember.objects.create(team=blue, user=rita, left_at=LATER)
    ties_tell(member=rita, domains=[], people=["annlee@googlemail.com"], papers=["arXiv:1809.08352v2"], now=LATER)
    assert found(rita) == [("blue", "member"), ("green", "coauthor"), ("grey", "coauthor")]
    assert conflicts_find(now=LATER) == 0, "each is found once"
    assert set(Conflict.objects.values_list("since", flat=True)) == {EVER}


@pytest.mark.both("a conflict is locked while it ends, and members while some are looked for")
def test_an_organizer_dismisses_what_is_none_and_it_is_not_found_again(rita: User, olga: User) -> None:
    rita.email = "rita@mit.edu"
    rita.save()
    researcher("ann", "ann@mit.edu", money.team("green"))
    assert found(rita) == [("green", "institution")]
    row = Conflict.objects.get()
    refused("found", end, made=row, by=rita)
    refused("not_an_organizer", conflict_dismiss, conflict_id=row.pk, reason="No.", by=rita, now=LATER)
    refused("invalid", conflict_dismiss, conflict_id=row.pk, reason=" ", by=olga, now=LATER)
    made = conflict_dismiss(conflict_id=row.pk, reason="Other campus.", by=olga, now=LATER)
    assert (made.dismissed_by, made.dismissed_reason) == (olga, "Other campus.")
    assert conflicts_find(now=LATER + DAY) == 0
    refused("over", conflict_dismiss, conflict_id=row.pk, reason="Again.", by=olga, now=LATER)


def test_what_a_member_names_is_read_or_refused_with_the_field(rita: User) -> None:
    with pytest.raises(WrongFields) as wrong:
        ties_tell(member=rita, domains=["gmail.com"], people=["ann"], papers=["12.3"], now=LATER)
    assert set(wrong.value.fields) == {"domains", "people", "papers"}
    told = {
        "domains": ["www.cs.ox.ac.uk"],
        "people": ["Ann@Example.org "],
        "papers": ["https://arxiv.org/abs/1809.08352"],
    }
    made = ties_tell(member=rita, **told, now=LATER)
    assert (made.domains, made.people, made.papers) == (["ox.ac.uk"], ["ann@example.org"], ["1809.08352"])


@pytest.mark.parametrize(
    ("address", "domain"),
    [
        ("a@b.example.org", "example.org"),
        ("example.co.uk", "example.co.uk"),
        ("dept.example.edu.au", "example.edu.au"),
        ("a@tum.de", "tum.de"),
        ("a@yahoo.co.uk", ""),
        ("a@mail.gmx.de", ""),
        ("localhost", ""),
        ("", ""),
    ],
)
def test_the_institution_of_an_address(address: str, domain: str) -> None:
    assert institution(address) == domain
