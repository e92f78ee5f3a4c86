"""What the pages of money say of debts, and of a defense that lost its award (R22, R37)."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from contest.enums import AccountKind, DefenseStanding
from contest.models import Attack, Break, Stake, Team
from contest.money.figures import debts, entries, money_figures
from contest.money.ledger import account, move
from contest.stakes.selectors import standing_of, standings
from tests import factories
from tests.contest.awards.test_awards import HALF, NOW, all_met, found_late, give, makers, stake, sweep
from tests.contest.money import cast

__all__ = ["makers", "stake"]
pytestmark = pytest.mark.django_db


def test_what_was_paid_out_of_a_lost_award_is_a_debt(stake: Stake, makers: Team, rita: User) -> None:
    give(all_met(stake), rita)
    own, outside = account(AccountKind.TEAM, team=makers), account(AccountKind.OUTSIDE)
    move(own, outside, HALF - 5, rule="R34", why="Paid.", causes={}, now=NOW)
    assert list(debts()) == []
    found_late(stake, cast.team("red"))
    sweep()
    assert [(each.team, each.stake, each.cents) for each in debts()] == [(makers, stake, HALF - 5)]
    assert money_figures(told_at=NOW).debts == (), "the late break is of a week that is not released"
    cast.released(*{each.week for each in Attack.objects.all()})
    assert money_figures(told_at=NOW).debts == tuple(debts())


def test_a_defense_that_lost_its_award_is_broken_to_who_may_know_of_it(stake: Stake, rita: User) -> None:
    give(all_met(stake), rita)
    assert standing_of(stake.defense, now=factories.NOW) is DefenseStanding.WON
    found_late(stake, cast.team("red"))
    assert standing_of(stake.defense, now=factories.NOW) is DefenseStanding.BROKEN
    untold = standings([stake.defense], breaks=Break.objects.none(), now=factories.NOW)
    assert untold[stake.defense_id] is DefenseStanding.WON, "the week of the break is not released"


def test_a_picture_sent_when_the_time_was_over_takes_no_award(stake: Stake, rita: User) -> None:
    give(all_met(stake), rita)
    cast.broken(stake.defense, cast.attack(cast.team("red"), days=90))
    assert standing_of(stake.defense, now=factories.NOW) is DefenseStanding.WON


def test_a_longer_list_of_entries_asks_nothing_more(
    stake: Stake, olga: User, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(20) as few:
        listed, _ = entries(told_at=NOW)
    for _ in range(5):
        cast.deposit(100, olga)
    with django_assert_max_num_queries(len(few)):
        assert len(entries(told_at=NOW)[0]) > len(listed)
