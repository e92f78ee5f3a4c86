"""Teams associated with the contest win nothing, whenever the association is declared (R22, R27)."""

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User

from contest.awards.conditions import contenders, why_never
from contest.awards.services import change_of
from contest.awards.settling import prizes_settle
from contest.enums import AccountKind, DefenseStanding
from contest.leaderboard.reading import read_facts
from contest.leaderboard.tables import tables
from contest.models import Association, LedgerEntry, Stake, Team, TeamMerge
from contest.stakes.selectors import standing_of
from contest.teams.selectors import is_paid_throughout
from tests import factories
from tests.contest.awards.test_awards import (
    HALF,
    NOW,
    all_met,
    give,
    lines,
    makers,
    nothing_is_lost,
    stake,
    two,
)
from tests.contest.money import cast
from tests.contest.money.cast import BEFORE, MONDAY, PRIZE, balance

__all__ = ["makers", "nothing_is_lost", "stake", "two"]
pytestmark = pytest.mark.django_db
DAY = timedelta(1)


def associated(team: Team, since: datetime, until: datetime | None = None, declared: datetime = NOW) -> Association:
    return Association.objects.create(team=team, reason="Works here.", since=since, until=until, declared_at=declared)


@pytest.mark.parametrize(
    ("since", "until", "paid", "why"),
    [
        (MONDAY + DAY, MONDAY + 2 * DAY, False, "in the middle of its time"),
        (BEFORE, MONDAY, True, "over when its clock began: the end is not in it"),
        (BEFORE, MONDAY + timedelta(microseconds=1), False, "over just after its clock began"),
        (NOW, None, False, "from the award on"),
        (NOW + timedelta(microseconds=1), None, True, "after the award"),
    ],
)
def test_an_association_anywhere_in_its_time_makes_it_unpaid(
    since: datetime, until: datetime | None, paid: bool, why: str, stake: Stake, makers: Team
) -> None:
    all_met(stake)
    associated(makers, since, until, BEFORE)
    assert lines(stake)["team"] is paid, why
    assert contenders(now=NOW) == ([stake] if paid else [])
    assert bool(why_never(stake, now=NOW)) is not paid


def test_of_a_merged_team_counts_what_it_was_part_of_at_the_time(makers: Team) -> None:
    other = cast.team("other")
    Team.objects.filter(pk=other.pk).update(merged_into=makers, merged_at=MONDAY + 10 * DAY)
    associated(other, MONDAY + DAY, MONDAY + 2 * DAY)
    assert is_paid_throughout(makers, MONDAY, NOW), "it was not part of them yet"
    assert not is_paid_throughout(Team.objects.get(pk=other.pk), MONDAY, NOW)
    associated(other, BEFORE)
    assert not is_paid_throughout(makers, MONDAY, NOW), "from the merge on it is"
    assert is_paid_throughout(makers, MONDAY, MONDAY + 9 * DAY)


def test_one_declared_after_the_award_takes_it_back(stake: Stake, makers: Team, rita: User) -> None:
    (award,) = give(all_met(stake), rita)
    associated(makers, NOW + DAY, declared=NOW + DAY)
    assert prizes_settle(now=NOW + DAY) == 0 and balance(makers) == HALF, "one from after the award changes nothing"
    made = associated(makers, BEFORE, declared=NOW + DAY)
    change = change_of(award.decision)
    assert ([row.stake for row in change.unpaid], change.lost, change.kept) == ([stake], (), ())
    later = NOW + 2 * DAY
    assert prizes_settle(now=later) == 1 and prizes_settle(now=later) == 0
    assert (balance(makers), balance(AccountKind.DEFENDERS)) == (0, HALF)
    back = LedgerEntry.objects.get(corrects__source__kind="defenders")
    assert (back.rule, back.causes) == ("R27", {"award": [award.pk], "team": [makers.pk]})
    assert standing_of(stake.defense, now=factories.NOW) is DefenseStanding.PUBLISHED
    made.until = BEFORE + DAY
    made.save()
    assert prizes_settle(now=later) == 1 and balance(makers) == HALF, "declared wrongly, and corrected"
    assert standing_of(stake.defense, now=factories.NOW) is DefenseStanding.WON


def test_the_leaderboard_tells_it_from_the_day_on_which_it_was_declared(stake: Stake, makers: Team, rita: User) -> None:
    give(all_met(stake), rita)
    other = cast.team("other")
    associated(other, BEFORE, declared=NOW + DAY)
    TeamMerge.objects.create(team=other, into=makers, reason="One.", merged_at=MONDAY + DAY)
    Team.objects.filter(pk=other.pk).update(merged_into=makers, merged_at=MONDAY + DAY)
    facts = read_facts()
    states = [tables(facts, at).defenses[0].state for at in (NOW, NOW + DAY)]
    assert states == [DefenseStanding.WON, DefenseStanding.PUBLISHED]
    assert standing_of(stake.defense, now=factories.NOW) is DefenseStanding.PUBLISHED


def test_a_self_staker_keeps_the_own_stake(makers: Team, rita: User) -> None:
    own = cast.staked(cast.defense("own", makers), by=makers)
    give(all_met(own), rita)
    associated(makers, BEFORE)
    prizes_settle(now=NOW)
    assert balance(makers) == PRIZE, "what it paid itself is no prize"
