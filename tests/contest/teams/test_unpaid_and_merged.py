"""Association with the contest (R27), two teams that are one, and accounts that may be one person (R25)."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from axes.models import AccessLog
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import DatabaseError, transaction
from django.test import Client

from accounts.leaving import account_delete
from contest.core.models import Member, Team
from contest.core.teams import final_team, team_of, teams_counted_together
from contest.teams.associations import association_declare, association_end, association_mistaken
from contest.teams.entitlements import (
    entitlement_accept,
    entitlement_answer,
    entitlement_grant,
    entitlement_question,
    entitlement_refuse,
)
from contest.teams.inboxes import inbox
from contest.teams.invitations import team_invite
from contest.teams.models import (
    Association,
    AssociationMistake,
    Entitlement,
    PastMember,
    SamePersonHint,
    TeamInvitation,
    TeamMerge,
)
from contest.teams.same_person import (
    MAX_ACCOUNTS_PER_ADDRESS,
    same_persons,
    same_persons_find,
    same_persons_find_periodically,
)
from contest.teams.selectors import captain_of, is_entitled, is_paid, is_paid_throughout
from contest.teams.services import captain_hand_over, member_add, member_leave, team_create, teams_merge
from labeling.models import Tasker
from tests import factories
from tests.contest.board.at_once import at_once, codes
from tests.contest.teams.conftest import PAPER, asked, researcher
from tests.refusals import refused
from tests.tables import cases

pytestmark = pytest.mark.django_db
DAY, TICK = timedelta(days=1), timedelta(microseconds=1)


def associated(team: Team, olga: User, since: datetime, until: datetime | None, now: datetime) -> Association:
    return association_declare(team=team, since=since, until=until, reason="An organizer's lab.", by=olga, now=now)


# Associated with the contest


def test_an_association_covers_its_time(red: Team, blue: Team, olga: User, now: datetime) -> None:
    """R27: from its first moment to its last; another team is another team."""
    associated(red, olga, now, now + DAY, now + 5 * DAY)
    moments = [now - TICK, now, now + DAY - TICK, now + DAY]
    paid = {team.name: [is_paid(team, moment) for moment in moments] for team in (red, blue)}
    assert paid == {"red": [True, False, False, True], "blue": [True] * 4}


@pytest.mark.both("the association is locked while it ends")
def test_an_association_without_an_end_goes_on_until_one_is_recorded(red: Team, olga: User, now: datetime) -> None:
    """And an end is never put into the past."""
    ends = partial(association_end, association_id=associated(red, olga, now, None, now).pk, by=olga)
    assert not is_paid(red, now + 1000 * DAY)
    refused("invalid", ends, until=now + DAY, now=now + DAY)
    ends(until=now + 2 * DAY, now=now + DAY)
    assert [is_paid(red, now + days * DAY) for days in (0, 1, 2)] == [False, False, True]
    refused("over_already", ends, until=now + 9 * DAY, now=now + 3 * DAY)
    refused("not_found", association_end, association_id=0, until=now + DAY, by=olga, now=now)


def test_the_team_is_told_of_an_association(red: Team, olga: User, now: datetime, sent: Any) -> None:
    letters = sent(lambda: associated(red, olga, now, None, now))
    assert {each.to[0] for each in letters} == {"carl@example.org", "rosa@example.org"}
    assert "never paid" in letters[0].body and "An organizer's lab." in letters[0].body


def test_what_is_no_association(red: Team, olga: User, now: datetime) -> None:
    declares = partial(association_declare, team=red, by=olga, now=now)
    for days, reason, field in ((0, "x", "until"), (-1, "x", "until"), (1, " ", "reason"), (1, "x" * 1001, "reason")):
        assert refused("invalid", declares, since=now, until=now + days * DAY, reason=reason).field == field
    for since in (day(1900), day(1999, 12, 31)):
        error = refused("invalid", declares, since=since, until=None, reason="x")
        assert "Give a day in 2000 or later" in error.message
    assert declares(since=day(2000), until=None, reason="x") == Association.objects.get()


def test_only_organizers_declare_end_correct_and_merge(
    red: Team, blue: Team, carl: User, rita: User, olga: User, now: datetime
) -> None:
    row = associated(red, olga, now, None, now)
    for by in (carl, rita):
        refused("not_an_organizer", associated, red, by, now, None, now)
        refused("not_an_organizer", association_end, association_id=row.pk, until=now + DAY, by=by, now=now)
        refused("not_an_organizer", association_mistaken, association_id=row.pk, reason="x", by=by, now=now)
        refused("not_an_organizer", merged, red, blue, by, now)


def day(year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


LATE = day(2026, 11)


@cases(
    "first second taken why",
    ((day(2024), day(2025)), (day(2025), None), True, "one begins when the other ends"),
    ((day(2024), day(2025)), (day(2023), day(2024)), True, "one ends when the other begins"),
    ((day(2024), day(2025)), (day(2024, 6), None), False, "it begins within the other"),
    ((day(2024), day(2025)), (day(2023), day(2024, 6)), False, "it ends within the other"),
    ((day(2024), day(2025)), (day(2023), None), False, "it goes on over the other"),
    ((day(2024), None), (day(2030), None), False, "the other has no end"),
    ((day(2024), None), (day(2023), day(2024)), True, "before one without an end"),
)
def test_two_do_not_cover_the_same_time(
    first: tuple[datetime, datetime | None],
    second: tuple[datetime, datetime | None],
    taken: bool,
    why: str,
    red: Team,
    olga: User,
) -> None:
    associated(red, olga, *first, LATE)
    if taken:
        associated(red, olga, *second, LATE)
    else:
        said = "associated already since Mon 1 Jan 2024"
        assert said in refused("overlaps", associated, red, olga, *second, LATE).message, why
    assert Association.objects.count() == 1 + taken, why


def test_one_in_error_and_one_of_another_team_are_in_nobodys_way(red: Team, blue: Team, olga: User) -> None:
    association_mistaken(
        association_id=associated(red, olga, day(2024), None, LATE).pk, reason="Another red.", by=olga, now=LATE
    )
    for team in (red, blue):
        associated(team, olga, day(2024), None, LATE)
    assert Association.objects.count() == 3


def test_one_does_not_end_within_the_next(red: Team, olga: User) -> None:
    first = associated(red, olga, day(2024), day(2027), LATE)
    associated(red, olga, day(2028), day(2029), LATE)
    ends = partial(association_end, association_id=first.pk, by=olga, now=LATE)
    assert "2028" in refused("overlaps", ends, until=day(2028, 6)).message
    assert ends(until=day(2028)).until == day(2028)


# Declared in error


def test_an_association_in_error_covers_nothing_and_stays_on_record(
    red: Team, olga: User, now: datetime, sent: Any
) -> None:
    row = associated(red, olga, now - 60 * DAY, now - DAY, now)
    letters = sent(lambda: association_mistaken(association_id=row.pk, reason="Another red.", by=olga, now=now))
    assert (is_paid(red, now - 10 * DAY), is_paid_throughout(red, now - 60 * DAY, now)) == (True, True)
    kept, mistake = Association.objects.get(), AssociationMistake.objects.get()
    assert (kept.reason, kept.mistake, mistake.reason) == ("An organizer's lab.", mistake, "Another red.")
    assert (mistake.declared_by, mistake.declared_at) == (olga, now)
    assert {each.subject for each in letters} == {"Team red was marked in error"}
    assert "Another red." in letters[0].body and "An organizer's lab." not in letters[0].body


def test_another_association_of_the_same_time_still_counts(red: Team, olga: User, now: datetime) -> None:
    associated(red, olga, now, None, now)
    # From before two for one time were refused.
    Association.objects.create(team=red, since=now, reason="Also.", declared_by=olga, declared_at=now)
    for row, paid in zip(Association.objects.order_by("pk"), (False, True), strict=True):
        association_mistaken(association_id=row.pk, reason="Wrong.", by=olga, now=now)
        assert is_paid(red, now) is paid


def test_an_error_is_recorded_once_with_a_reason(red: Team, olga: User, now: datetime) -> None:
    number = associated(red, olga, now, None, now).pk
    mistaken = partial(association_mistaken, by=olga, now=now)
    for reason in (" ", "x" * 1001):
        refused("invalid", mistaken, association_id=number, reason=reason)
    refused("not_found", mistaken, association_id=0, reason="x")
    mistaken(association_id=number, reason="x")
    refused("mistaken_already", mistaken, association_id=number, reason="x")
    refused("mistaken_already", association_end, association_id=number, until=now + DAY, by=olga, now=now)
    for change in (lambda: AssociationMistake.objects.update(reason="y"), AssociationMistake.objects.all().delete):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_two_organizers_who_decide_or_declare_at_once_do_it_once(
    red: Team, carl: User, olga: User, now: datetime
) -> None:
    """R25, R27."""
    number, olaf = asked(carl, now).pk, factories.user("olaf", "organizers")
    accepts = partial(entitlement_accept, number=number, by=olga, now=now)
    refuses = partial(entitlement_refuse, number=number, words="Another Carl.", by=olaf, now=now)
    assert codes(at_once(accepts, refuses)) == ["", "decided_already"]
    assert codes(at_once(*(partial(associated, red, by, now, None, now) for by in (olga, olaf)))) == ["", "overlaps"]


# Two teams that are one


def merged(team: Team, into: Team, olga: User, now: datetime) -> TeamMerge:
    return teams_merge(team=team, into=into, reason="One lab.", by=olga, now=now)


@pytest.mark.both("a trigger keeps a merging as it is")
def test_the_members_move_and_one_captain_stays(
    red: Team, blue: Team, carl: User, olga: User, now: datetime, sent: Any
) -> None:
    """And both teams are told."""
    team_invite(by=carl, email="fay@example.org", now=now)
    letters = sent(lambda: merged(red, blue, olga, now))
    members = Member.objects.values_list("team__name", "user__username", "captain")
    assert set(members) == {("blue", "bea", True), ("blue", "carl", False), ("blue", "rosa", False)}
    assert set(PastMember.objects.values_list("team__name", "user__username")) == {("red", "carl"), ("red", "rosa")}
    red.refresh_from_db()
    assert (red.merged_into, red.merged_at, TeamMerge.objects.get().reason) == (blue, now, "One lab.")
    assert (team_of(carl), final_team(red), TeamInvitation.objects.get().withdrawn_at) == (blue, blue, now)
    assert {each.to[0]: each.subject for each in letters} == {
        "carl@example.org": "Team blue is your team now",
        "rosa@example.org": "Team blue is your team now",
        "bea@example.org": "Team blue takes in team red",
    }
    assert all("One lab." in each.body for each in letters)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        TeamMerge.objects.update(reason="another")


def test_the_captain_comes_along_into_a_team_without_members(
    red: Team, blue: Team, bea: User, carl: User, olga: User, now: datetime
) -> None:
    member_leave(user=bea, now=now)
    merged(red, blue, olga, now)
    assert captain_of(blue) == carl


def test_what_is_counted_together(red: Team, blue: Team, olga: User, now: datetime) -> None:
    green, other = (team_create(name=name, captain=researcher(f"of {name}"), now=now) for name in ("green", "other"))
    assert teams_counted_together(red) == [red]
    merged(red, blue, olga, now)
    merged(blue, green, olga, now)
    for team in Team.objects.exclude(pk=other.pk):
        assert (teams_counted_together(team), final_team(team)) == ([green, blue, red], green)
    assert teams_counted_together(other) == [other]


@pytest.mark.parametrize("turned", [False, True], ids=["of the one that goes", "of the one that stays"])
def test_the_entitlement_of_either_holds(
    turned: bool, red: Team, blue: Team, carl: User, olga: User, now: datetime
) -> None:
    entitlement_accept(number=asked(carl, now).pk, by=olga, now=now)
    merged(*((blue, red) if turned else (red, blue)), olga, now)
    assert [is_entitled(team, now) for team in Team.objects.all()] == [True, True]


def test_a_grant_holds_through_a_merging(red: Team, blue: Team, rita: User, olga: User, now: datetime) -> None:
    grants = partial(entitlement_grant, team=red, by=factories.mandate("grant", rita, now), now=now)
    grants(reason="A lab.")
    merged(red, blue, olga, now)
    assert is_entitled(blue, now)
    assert "part of another one" in refused("merged", grants, reason="Again.").message


def test_a_request_that_waits_goes_on(red: Team, blue: Team, bea: User, carl: User, olga: User, now: datetime) -> None:
    number = asked(carl, now).pk
    merged(red, blue, olga, now)
    entitlement_question(number=number, words="Who?", by=olga, now=now)
    entitlement_answer(by=bea, words="Rosa, who is with us now.", now=now)
    entitlement_accept(number=number, by=olga, now=now)
    assert is_entitled(blue, now)


def test_nobody_becomes_paid_by_a_merging(red: Team, blue: Team, olga: User, now: datetime) -> None:
    """R27, whichever of the two is associated."""
    associated(red, olga, now - 10 * DAY, None, now)
    with transaction.atomic():
        merged(blue, red, olga, now)
        blue.refresh_from_db()
        assert [is_paid(blue, now - TICK), is_paid(blue, now)] == [True, False]
        transaction.set_rollback(True)
    blue.refresh_from_db()
    merged(red, blue, olga, now)
    assert [is_paid(blue, now - DAY), is_paid(blue, now)] == [True, False], "what blue won alone stays paid"
    assert not is_paid(red, now - DAY)


def test_what_is_not_merged(red: Team, blue: Team, olga: User, now: datetime) -> None:
    refused("same_team", merged, red, red, olga, now)
    refused("invalid", teams_merge, team=red, into=blue, reason=" ", by=olga, now=now)
    merged(red, blue, olga, now)
    for pair in ((red, blue), (blue, red)):
        refused("merged", merged, *pair, olga, now)
    assert Member.objects.filter(team=blue).count() == 3


# Accounts that may be one person: shown to organizers, and nothing follows


@cases(
    "one other same why",
    ("a.b@gmail.com", "ab@gmail.com", True, "dots"),
    ("ab+contest@gmail.com", "AB@googlemail.com", True, "plus, case, two names of one provider"),
    ("a.b@proton.me", "a_b@protonmail.com", True, "dots and underscores"),
    ("ab+1@outlook.com", "ab@outlook.com", True, "plus"),
    ("a.b@outlook.com", "ab@outlook.com", False, "dots count there"),
    ("ab@outlook.com", "ab@hotmail.com", False, "two providers"),
    ("ab@me.com", "ab+x@icloud.com", True, "two names of one provider"),
    ("a.b@uni.example", "ab@uni.example", False, "nobody knows what others ignore"),
    ("a+b@uni.example", "a@uni.example", False, "nobody knows whether others ignore it"),
    ("Ab@uni.example", "ab@uni.example", True, "case"),
)
def test_which_addresses_lead_to_one_inbox(one: str, other: str, same: bool, why: str) -> None:
    assert (inbox(one) == inbox(other)) is same, why


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
    assert SamePersonHint.objects.get().figures == {"provider": "gmail.com", "accounts": 2}


def test_a_tasker_who_competes_under_another_name_is_seen(tara: Tasker, otto: Tasker, now: datetime) -> None:
    User.objects.filter(username="tara").update(email="t.ara@gmail.com")
    User.objects.filter(username="otto").update(email="o+1@gmail.com")
    researcher("ringer", "tara@gmail.com")
    User.objects.create(username="none", email="o@gmail.com")
    assert found(now) == {("tara", "ringer", "email")}, "of the other pair nobody competes"


def test_one_client_address(red: Team, carl: User, rosa: User, bea: User, fay: User, now: datetime) -> None:
    """Which is forgotten with the record of sign-ins."""
    for user, address in ((carl, "192.0.2.1"), (bea, "192.0.2.1"), (fay, "192.0.2.2"), (rosa, None), (fay, None)):
        signed_in(user, address, now)
    AccessLog.objects.create(username="long gone", ip_address="192.0.2.2", attempt_time=now)
    assert found(now) == {("carl", "bea", "address")}
    figures = SamePersonHint.objects.get().figures
    assert (figures["addresses"], "192.0.2.1" in str(figures)) == (1, False)


def test_what_signing_in_leaves_is_looked_at(carl: User, tara: Tasker, fay: User, now: datetime) -> None:
    for name, address in (("carl", "192.0.2.1"), ("tara", "192.0.2.1"), ("fay", "192.0.2.2")):
        form = {"username": name, "password": factories.PASSWORD}
        assert Client(REMOTE_ADDR=address).post("/sign-in/", form).status_code == 302
    assert {frozenset(pair[:2]) for pair in found(now)} == {frozenset({"carl", "tara"})}


@pytest.mark.parametrize(("sharing", "pairs"), [(MAX_ACCOUNTS_PER_ADDRESS, 6), (MAX_ACCOUNTS_PER_ADDRESS + 1, 0)])
def test_an_address_of_many_says_nothing(sharing: int, pairs: int, now: datetime) -> None:
    for number in range(sharing):
        signed_in(researcher(f"r{number}"), "192.0.2.1", now)
    assert len(found(now)) == pairs


def test_one_author_s_address_in_two_teams(
    red: Team, blue: Team, carl: User, rosa: User, bea: User, now: datetime
) -> None:
    asked(carl, now)
    member_leave(user=rosa, now=now)
    member_add(team=blue, user=rosa, now=now)
    asked(bea, now, paper="1801.00001")
    assert found(now) == {("carl", "bea", "paper")}, "the author is one account; who asked may be one person"
    teams = sorted([red.public_id, blue.public_id])
    assert SamePersonHint.objects.get().figures == {"papers": ["1801.00001", PAPER], "teams": teams}


def test_two_spellings_of_one_author_in_two_teams(red: Team, blue: Team, carl: User, bea: User, now: datetime) -> None:
    for user, email in ((carl, "au.thor@gmail.com"), (bea, "author@gmail.com")):
        User.objects.filter(pk=user.pk).update(email=email)
        asked(user, now, email)
    assert found(now) == {("carl", "bea", "paper"), ("carl", "bea", "email")}


def test_one_team_asking_twice_is_no_hint(red: Team, carl: User, rosa: User, now: datetime) -> None:
    asked(carl, now)
    Entitlement.objects.update(state="refused")
    captain_hand_over(by=carl, member_id=Member.objects.get(user=rosa).pk, now=now)
    asked(rosa, now)
    assert found(now) == set()


@pytest.mark.both("what was found already is passed over by the database")
def test_looking_twice_finds_nothing_new_and_sweeps_look_now_and_then(red: Team, now: datetime) -> None:
    researcher("a", "jo.do@gmail.com")
    other, members = researcher("b", "jodo@gmail.com"), Member.objects.order_by("pk").values("team", "user", "captain")
    before = list(members)
    assert [same_persons_find(now=now) for _ in range(2)] == [1, 0]
    assert list(members.all()) == before, "nothing follows"
    assert not User.objects.filter(is_active=False).exists()
    SamePersonHint.objects.all().delete()
    assert [same_persons_find_periodically(now=now) for _ in range(2)] == [1, 0]
    SamePersonHint.objects.all().delete()
    cache.clear()
    assert same_persons_find_periodically(now=now) == 1
    account_delete(user=other, now=now)
    assert not SamePersonHint.objects.exists(), "a pair is forgotten with either account"
