"""What a team owes that was merged into another: it is taken from whatever either of them has (R22, R35, R37)."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from contest.awards.settling import prizes_settle
from contest.enums import AccountKind
from contest.models import LedgerEntry, Stake, Team
from contest.money.correcting import correction_confirm, owed, repayment_ask
from contest.money.due import payables, payables_of
from contest.money.ledger import account, check, move
from contest.money.settlement import accounts_of
from contest.stakes.ends import stakes_end
from tests import factories
from tests.contest.awards.test_awards import NOW, all_met, found_late
from tests.contest.awards.test_awards import give as award
from tests.contest.money import cast
from tests.contest.money.cast import CLOSED, MONDAY, PRIZE, SETTLED, balance

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(60)


@pytest.fixture
def olaf(db: None) -> User:
    return factories.user("olaf", "organizers")


@pytest.fixture(autouse=True)
def nothing_is_lost(db: None) -> object:
    yield
    assert check().wrong == ()


@pytest.fixture
def red(olga: User) -> Team:
    factories.policy_version()
    cast.deposit(40 * PRIZE, olga)
    return cast.team("red")


@pytest.fixture
def blue(red: Team) -> Team:
    return cast.team("blue")


def merged(team: Team, into: Team) -> None:
    Team.objects.filter(pk=team.pk).update(merged_into=into, merged_at=CLOSED)
    team.refresh_from_db()


def broken_by(team: Team, name: str, at: datetime = MONDAY) -> Stake:
    stake = cast.staked(cast.defense(name, cast.team(f"makers of {name}")), at=at)
    cast.broken(stake.defense, cast.attack(team, days=(at - MONDAY).days + 1))
    cast.ended(stake, at=at + timedelta(12))
    for each in Stake.objects.all():
        cast.caught_up(each.defense)
    sweep(at + timedelta(12))
    return stake


def sweep(now: datetime) -> None:
    while prizes_settle(now=now):
        pass


def owes_of_a_stake(red: Team, rita: User) -> None:
    """It was paid for a break that was overruled: the attackers' half advanced it."""
    broken_by(red, "first")
    paid_out(red)
    cast.overruled(red.attacks.get().image)


def owes_of_an_award(red: Team, rita: User) -> None:
    """It won, was paid, and a break was found late."""
    stake = cast.staked(cast.defense("first", red))
    award(all_met(stake), rita)
    paid_out(red)
    found_late(stake, cast.team("green"))


def paid_out(team: Team) -> None:
    own, outside = account(AccountKind.TEAM, team=team), account(AccountKind.OUTSIDE)
    move(own, outside, balance(team), rule="R34", why="Paid.", causes={}, now=CLOSED)


Debt = Callable[[Team, User], None]
DEBTS = [(owes_of_a_stake, AccountKind.ATTACKERS), (owes_of_an_award, AccountKind.DEFENDERS)]
each_debt = pytest.mark.parametrize(("debt", "half"), DEBTS, ids=["of a stake", "of an award"])


@pytest.fixture
def owing(red: Team, blue: Team, rita: User, debt: Debt) -> int:
    """Red owes, and is merged into blue before that is known; returns how much."""
    debt(red, rita)
    merged(red, blue)
    stakes_end(now=LATER), sweep(LATER)
    (found,) = owed()
    assert found.team == blue and balance(red) == balance(blue) == 0
    return found.cents


def due(*teams: Team) -> int:
    return sum(row.due for row in payables(now=LATER) if row.team in teams)


@each_debt
def test_what_the_one_gives_back_that_is_left_is_taken_for_the_debt(
    debt: Debt, half: AccountKind, red: Team, blue: Team, owing: int, olga: User, olaf: User
) -> None:
    had = balance(half)
    asked = repayment_ask(team=blue, cents=owing, reason="Wire 9.", by=olga, now=LATER)
    correction_confirm(correction_id=asked.pk, by=olaf, now=LATER)
    assert (balance(blue), due(red, blue)) == (owing, 0), "it is not the team's, and not paid before it is taken"
    sweep(LATER)
    assert (owed(), balance(red), balance(blue), balance(half)) == ([], 0, 0, had + owing)
    back = LedgerEntry.objects.get(source__team=blue)
    assert back.corrects is not None and back.corrects.target.team == red


@each_debt
def test_what_the_other_earns_is_set_off(debt: Debt, half: AccountKind, red: Team, blue: Team, owing: int) -> None:
    broken_by(blue, "second", at=LATER + timedelta(1))
    now = LATER + timedelta(60)
    sweep(now)
    assert sum(row.cents for row in owed()) == max(owing - PRIZE, 0)
    assert [(row.balance, row.due) for row in payables_of(blue, now=now)] == [(max(PRIZE - owing, 0),) * 2, (0, 0)]


def test_the_account_that_it_came_to_is_drawn_from_first_and_both_are_held(red: Team, blue: Team) -> None:
    stake, other = broken_by(red, "first"), account(AccountKind.TEAM, team=blue)
    own = account(AccountKind.TEAM, team=red)
    told = {"causes": {}, "now": CLOSED}
    move(account(AccountKind.ATTACKERS), other, 500, rule="R35", why="Another.", **told)
    move(own, account(AccountKind.OUTSIDE), 200, rule="R34", why="Paid.", **told)
    merged(red, blue)
    assert {own, other} <= set(accounts_of(stake, [])) and {own, other} <= set(accounts_of(stake, [blue.pk]))
    cast.overruled(red.attacks.get().image)
    stakes_end(now=CLOSED), sweep(CLOSED)
    assert (balance(red), balance(blue), balance(stake), owed()) == (0, 300, PRIZE, [])


def assert_the_books_follow(breakers: list[str], story: list[str], *, both: bool) -> None:
    """What is left and what is owed follow from what was earned and what was paid alone."""
    factories.policy_version()
    cast.deposit(40 * PRIZE, factories.user(f"o{User.objects.count()}", "organizers"), MONDAY)
    teams = {name: cast.team(name) for name in ("red", "blue")}
    makers = cast.team("makers")
    stakes = [cast.staked(cast.defense(f"net {at}", makers)) for at in range(len(breakers))]
    sent = [cast.attack(teams[name], days=1) for name in breakers]
    for stake, attack in zip(stakes, sent, strict=True):
        cast.broken(stake.defense, attack)
    stakes_end(now=SETTLED), sweep(SETTLED)
    paid = 0
    for step in story:
        what, _, which = step.partition(" ")
        if what == "merge":
            merged(teams["red"], teams["blue"])
        elif what == "pay" and (left := balance(teams[which])):
            paid_out(teams[which])
            paid += left
        elif what == "overrule" and (both or which == "0"):
            cast.overruled(sent[int(which)].image)
            stakes_end(now=CLOSED)
        elif what == "sweep":
            sweep(CLOSED)
    sweep(CLOSED)
    earned = PRIZE * (len(breakers) - 1 - both)
    left = balance(teams["red"]) + balance(teams["blue"])
    assert (left, sum(each.cents for each in owed())) == (max(earned - paid, 0), max(paid - earned, 0))
    assert sum(row.due for row in payables(now=CLOSED + timedelta(30))) == left
    assert prizes_settle(now=CLOSED) == 0 and check().wrong == ()


ORDERS = [
    (["pay red", "merge", "overrule 0", "sweep", "pay blue", "overrule 1", "sweep "], False, "one of two overruled"),
    (["pay red", "pay blue", "merge", "sweep", "sweep ", "overrule 1", "overrule 0"], True, "both, after all is paid"),
    (["overrule 0", "sweep", "pay blue", "merge", "overrule 1", "sweep ", "pay red"], True, "paid after an overrule"),
]


@pytest.mark.parametrize(("story", "both", "why"), ORDERS, ids=[row[2] for row in ORDERS])
def test_the_books_say_the_same_in_any_order(story: list[str], both: bool, why: str) -> None:
    assert_the_books_follow(["red", "blue"], story, both=both)


@pytest.mark.long("thirty drawn orders of what two teams are paid, merged and lose")
class AnyOrder(TestCase):
    """Teams are paid and merged, breaks overruled, in whatever order."""

    @settings(max_examples=30)
    @given(
        st.lists(st.sampled_from(["red", "blue"]), min_size=2, max_size=3),
        st.permutations(["merge", "pay red", "pay blue", "overrule 0", "overrule 1", "sweep", "sweep "]),
        st.booleans(),
    )
    def test_the_books_say_the_same(self, breakers: list[str], story: list[str], both: bool) -> None:
        assert_the_books_follow(breakers, story, both=both)
