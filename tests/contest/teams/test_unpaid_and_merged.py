"""Association with the contest (R27), and two teams that are one (R25)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction

from common.errors import Conflict, InvalidInput, NotAllowed, NotFound
from contest.models import Association, AssociationMistake, Member, PastMember, Team, TeamInvitation, TeamMerge
from contest.teams.associations import association_declare, association_end, association_mistaken
from contest.teams.entitlements import entitlement_accept, entitlement_answer, entitlement_ask, entitlement_grant
from contest.teams.entitlements import entitlement_question as question
from contest.teams.invitations import team_invite
from contest.teams.merging import teams_merge
from contest.teams.selectors import (
    captain_of,
    final_team,
    is_entitled,
    is_paid,
    is_paid_throughout,
    team_of,
    teams_counted_together,
)
from contest.teams.services import member_leave, team_create
from tests.contest.teams.conftest import PAPER, refused, researcher
from tests.factories import mandate

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)


def associated(team: Team, olga: User, since: datetime, until: datetime | None, now: datetime) -> Association:
    return association_declare(team=team, since=since, until=until, reason="An organizer's lab.", by=olga, now=now)


def merged(team: Team, into: Team, olga: User, now: datetime) -> TeamMerge:
    return teams_merge(team=team, into=into, reason="One lab.", by=olga, now=now)


def test_an_association_covers_its_time(red: Team, blue: Team, olga: User, now: datetime) -> None:
    """R27: from its first moment to its last."""
    associated(red, olga, now, now + DAY, now + 5 * DAY)
    moments = [now - TICK, now, now + DAY - TICK, now + DAY]
    assert [is_paid(red, moment) for moment in moments] == [True, False, False, True]
    assert [is_paid(blue, moment) for moment in moments] == [True] * 4, "another team is another team"


@pytest.mark.both("the association is locked while it ends")
def test_an_association_without_an_end_goes_on_until_one_is_recorded(red: Team, olga: User, now: datetime) -> None:
    """And an end is never put into the past."""
    row = associated(red, olga, now, None, now)
    assert not is_paid(red, now + 1000 * DAY)
    refused(InvalidInput, association_end, association_id=row.pk, until=now + DAY, by=olga, now=now + DAY)
    association_end(association_id=row.pk, until=now + 2 * DAY, by=olga, now=now + DAY)
    assert [is_paid(red, now + days * DAY) for days in (0, 1, 2)] == [False, False, True]
    refused(Conflict, association_end, association_id=row.pk, until=now + 9 * DAY, by=olga, now=now + 3 * DAY)
    refused(NotFound, association_end, association_id=0, until=now + DAY, by=olga, now=now)


def test_the_team_is_told_of_an_association(red: Team, olga: User, now: datetime, sent: Any) -> None:
    letters = sent(lambda: associated(red, olga, now, None, now))
    assert {each.to[0] for each in letters} == {"carl@example.org", "rosa@example.org"}
    assert "never paid" in letters[0].body and "An organizer's lab." in letters[0].body


def test_what_is_no_association(red: Team, olga: User, now: datetime) -> None:
    for days, reason, field in ((0, "x", "until"), (-1, "x", "until"), (1, " ", "reason"), (1, "x" * 1001, "reason")):
        with pytest.raises(InvalidInput) as found:
            association_declare(team=red, since=now, until=now + days * DAY, reason=reason, by=olga, now=now)
        assert found.value.field == field


def test_only_organizers_declare_end_correct_and_merge(
    red: Team, blue: Team, carl: User, rita: User, olga: User, now: datetime
) -> None:
    row = associated(red, olga, now, None, now)
    for by in (carl, rita):
        refused(NotAllowed, associated, red, by, now, None, now)
        refused(NotAllowed, association_end, association_id=row.pk, until=now + DAY, by=by, now=now)
        refused(NotAllowed, association_mistaken, association_id=row.pk, reason="x", by=by, now=now)
        refused(NotAllowed, merged, red, blue, by, now)


def day(year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


def declare(team: Team, by: User, since: datetime, until: datetime | None = None) -> Association:
    return association_declare(team=team, since=since, until=until, reason="Lab.", by=by, now=day(2026, 11))


def test_it_begins_when_there_could_be_a_contest(red: Team, olga: User) -> None:
    for since in (day(1900), day(1999, 12, 31)):
        with pytest.raises(InvalidInput, match="Give a day in 2000 or later"):
            declare(red, olga, since)
    assert declare(red, olga, day(2000)) == Association.objects.get()


@pytest.mark.parametrize(
    ("first", "second", "taken", "why"),
    [
        ((day(2024), day(2025)), (day(2025), None), True, "one begins when the other ends"),
        ((day(2024), day(2025)), (day(2023), day(2024)), True, "one ends when the other begins"),
        ((day(2024), day(2025)), (day(2024, 6), None), False, "it begins within the other"),
        ((day(2024), day(2025)), (day(2023), day(2024, 6)), False, "it ends within the other"),
        ((day(2024), day(2025)), (day(2023), None), False, "it goes on over the other"),
        ((day(2024), None), (day(2030), None), False, "the other has no end"),
        ((day(2024), None), (day(2023), day(2024)), True, "before one without an end"),
    ],
)
def test_two_do_not_cover_the_same_time(
    first: tuple[datetime, datetime | None],
    second: tuple[datetime, datetime | None],
    taken: bool,
    why: str,
    red: Team,
    olga: User,
) -> None:
    declare(red, olga, *first)
    if taken:
        declare(red, olga, *second)
    else:
        with pytest.raises(Conflict, match="associated already since .* 1 Jan 2024") as found:
            declare(red, olga, *second)
        assert found.value.code == "overlaps", why
    assert Association.objects.count() == 1 + taken, why


def test_one_in_error_and_one_of_another_team_are_in_nobodys_way(red: Team, blue: Team, olga: User) -> None:
    wrong = declare(red, olga, day(2024))
    association_mistaken(association_id=wrong.pk, reason="Another red.", by=olga, now=day(2026, 11))
    declare(red, olga, day(2024))
    declare(blue, olga, day(2024))
    assert Association.objects.count() == 3


def test_one_does_not_end_within_the_next(red: Team, olga: User) -> None:
    now = day(2026, 11)
    first = declare(red, olga, day(2024), day(2027))
    declare(red, olga, day(2028), day(2029))
    with pytest.raises(Conflict, match="since .* 2028"):
        association_end(association_id=first.pk, until=day(2028, 6), by=olga, now=now)
    assert association_end(association_id=first.pk, until=day(2028), by=olga, now=now).until == day(2028)


# Merging.


@pytest.mark.both("a trigger keeps a merging as it is")
def test_the_members_move_and_one_captain_stays(
    red: Team, blue: Team, carl: User, olga: User, now: datetime, sent: Any
) -> None:
    """And both teams are told."""
    team_invite(by=carl, email="fay@example.org", now=now)
    letters = sent(lambda: merged(red, blue, olga, now))
    moved = {("bea", True), ("carl", False), ("rosa", False)}
    assert set(blue.members.values_list("user__username", "captain")) == moved and not red.members.exists()
    assert set(PastMember.objects.values_list("team__name", "user__username")) == {("red", "carl"), ("red", "rosa")}
    assert TeamInvitation.objects.get().withdrawn_at == now
    red.refresh_from_db()
    assert (red.merged_into, red.merged_at, TeamMerge.objects.get().reason) == (blue, now, "One lab.")
    assert (team_of(carl), final_team(red)) == (blue, blue)
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
    green = team_create(name="green", captain=researcher("gus"), now=now)
    other = team_create(name="other", captain=researcher("otto2"), now=now)
    assert teams_counted_together(red) == [red]
    merged(red, blue, olga, now)
    merged(blue, green, olga, now)
    for team in (Team.objects.get(pk=each.pk) for each in (red, blue, green)):
        assert teams_counted_together(team) == [green, blue, red]
        assert final_team(team) == green
    assert teams_counted_together(other) == [other]


@pytest.mark.parametrize("turned", [False, True], ids=["of the one that goes", "of the one that stays"])
def test_the_entitlement_of_either_holds(
    turned: bool, red: Team, blue: Team, carl: User, rita: User, olga: User, now: datetime
) -> None:
    row = entitlement_ask(by=carl, arxiv_id=PAPER, paper_email="rosa@example.org", now=now)
    entitlement_accept(number=row.pk, by=olga, now=now)
    gone, stays = (blue, red) if turned else (red, blue)
    merged(gone, stays, olga, now)
    assert is_entitled(Team.objects.get(pk=stays.pk), now)
    assert is_entitled(Team.objects.get(pk=gone.pk), now)


def test_a_grant_holds_through_a_merging(red: Team, blue: Team, rita: User, olga: User, now: datetime) -> None:
    entitlement_grant(team=red, reason="A lab.", by=mandate("grant", rita, now), now=now)
    merged(red, blue, olga, now)
    assert is_entitled(blue, now)
    with pytest.raises(Conflict, match="part of another one"):
        entitlement_grant(team=red, reason="Again.", by=mandate("grant", rita, now), now=now)


def test_a_request_that_waits_goes_on(red: Team, blue: Team, bea: User, carl: User, olga: User, now: datetime) -> None:
    row = entitlement_ask(by=carl, arxiv_id=PAPER, paper_email="rosa@example.org", now=now)
    merged(red, blue, olga, now)
    question(number=row.pk, words="Who?", by=olga, now=now)
    entitlement_answer(by=bea, words="Rosa, who is with us now.", now=now)
    entitlement_accept(number=row.pk, by=olga, now=now)
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
    assert refused(Conflict, merged, red, red, olga, now).code == "same_team"
    refused(InvalidInput, teams_merge, team=red, into=blue, reason=" ", by=olga, now=now)
    merged(red, blue, olga, now)
    for pair in ((red, blue), (blue, red)):
        assert refused(Conflict, merged, *pair, olga, now).code == "merged"
    assert Member.objects.filter(team=blue).count() == 3


# Declared in error.


def test_an_association_in_error_covers_nothing_and_stays_on_record(
    red: Team, olga: User, now: datetime, sent: Any
) -> None:
    row = associated(red, olga, now - 60 * DAY, now - DAY, now)
    letters = sent(lambda: association_mistaken(association_id=row.pk, reason="Another red.", by=olga, now=now))
    assert is_paid(red, now - 10 * DAY)
    assert is_paid_throughout(red, now - 60 * DAY, now)
    kept = Association.objects.get()
    assert (kept.reason, kept.mistake.reason) == ("An organizer's lab.", "Another red.")
    assert (kept.mistake.declared_by, kept.mistake.declared_at) == (olga, now)
    assert {each.subject for each in letters} == {"Team red was marked in error"}
    assert "Another red." in letters[0].body and "An organizer's lab." not in letters[0].body


def test_another_association_of_the_same_time_still_counts(red: Team, olga: User, now: datetime) -> None:
    wrong = associated(red, olga, now, None, now)
    # From before two for one time were refused.
    right = Association.objects.create(team=red, since=now, reason="Also.", declared_by=olga, declared_at=now)
    association_mistaken(association_id=wrong.pk, reason="Twice.", by=olga, now=now)
    assert not is_paid(red, now)
    association_mistaken(association_id=right.pk, reason="Wrong too.", by=olga, now=now)
    assert is_paid(red, now)


def test_an_error_is_recorded_once_with_a_reason(red: Team, olga: User, now: datetime) -> None:
    row = associated(red, olga, now, None, now)
    for reason in (" ", "x" * 1001):
        refused(InvalidInput, association_mistaken, association_id=row.pk, reason=reason, by=olga, now=now)
    refused(NotFound, association_mistaken, association_id=0, reason="x", by=olga, now=now)
    association_mistaken(association_id=row.pk, reason="x", by=olga, now=now)
    refused(Conflict, association_mistaken, association_id=row.pk, reason="x", by=olga, now=now)
    refused(Conflict, association_end, association_id=row.pk, until=now + DAY, by=olga, now=now)
    for change in (lambda: AssociationMistake.objects.update(reason="y"), AssociationMistake.objects.all().delete):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()
