"""What the public page of money tells of a week that is not released, and that its sums are those of its rows (R24)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from common.errors import Conflict
from contest.awards.settling import prizes_settle
from contest.enums import AccountKind
from contest.leaderboard.reading import read_facts
from contest.models import Account, Attack, BoardDecision, LedgerEntry, Member, Payment, Stake, Team
from contest.money.correcting import correction_ask, correction_confirm, repayment_ask
from contest.money.figures import Money, debts, entries, money_figures
from contest.money.ledger import account, check, move
from contest.money.payments import payment_ask, payment_pay
from contest.money.withholding import money_return, money_withhold
from contest.releases import release_week
from contest.stakes.ends import stakes_end
from contest.weeks import week_at
from tests import factories
from tests.contest.awards.test_awards import all_met, found_late, give, sweep
from tests.contest.money import cast
from tests.contest.money.cast import BEFORE, CLOSED, MONDAY, PRIZE, SETTLED, balance
from tests.factories import mandate

pytestmark = pytest.mark.django_db
OUTSIDE = AccountKind.OUTSIDE
EARLIER = MONDAY - timedelta(7)


@dataclass
class Broken:
    """A staked defense that a team broke in week 2026-W47, and who works with money."""

    stake: Stake
    red: Team
    attack: Attack
    olga: User
    olaf: User
    rita: User

    @property
    def account(self) -> Account:
        return Account.objects.get(team=self.red)

    def settled(self) -> None:
        prizes_settle(now=SETTLED)

    def pays(self) -> Payment:
        asked = payment_ask(team=self.red, by=self.olga, now=CLOSED)
        return payment_pay(payment_id=asked.pk, reference="wire", by=self.olaf, now=CLOSED)

    def overruled(self) -> None:
        cast.overruled(self.attack.image)
        stakes_end(now=CLOSED)
        prizes_settle(now=CLOSED)

    def withholds_share(self, cents: int = PRIZE) -> None:
        of = Account.objects.get(stake=self.stake)
        money_withhold(
            of=of,
            team=self.red,
            cents=cents,
            reason="Looked into.",
            by=mandate("withhold", self.rita, SETTLED),
            now=SETTLED,
        )

    def confirmed(self, asked: Any) -> None:
        correction_confirm(correction_id=asked.pk, by=self.olaf, now=CLOSED)


@pytest.fixture
def broken(olga: User, rita: User) -> Broken:
    factories.policy_version()
    cast.deposit(20 * PRIZE, olga)
    red, stake = cast.team("red"), cast.staked(cast.defense("net", cast.team("makers")))
    attack = cast.attack(red)
    cast.broken(stake.defense, attack)
    cast.ended(stake)
    return Broken(stake, red, attack, olga, factories.user("olaf", "organizers"), rita)


@pytest.fixture(autouse=True)
def nothing_is_lost(db: None) -> object:
    yield
    assert check().wrong == ()


def page() -> str:
    answer = Client().get("/money/")
    assert answer.status_code == 200
    return answer.content.decode()


def adds_up(shown: Money, why: str = "") -> None:
    """All sums are those of the rows that are listed."""
    in_all = sum(shown.balances.values()) + shown.staked + shown.held
    assert shown.received - shown.paid == in_all, why
    assert shown.untold >= 0 and shown.withheld_untold >= 0, why
    rows = [row.entry for row in entries(told_at=CLOSED, most=1000)[0]]
    sides = {"received": 0, "paid": 0}
    for row in rows:
        side = "received" if OUTSIDE in (row.source.kind if row.corrects_id is None else row.target.kind,) else "paid"
        if OUTSIDE in (row.source.kind, row.target.kind):
            sides[side] += row.cents if row.corrects_id is None else -row.cents
    assert (shown.received, shown.paid) == (sides["received"], sides["paid"]), why


def shared(it: Broken) -> None:
    it.settled()


def paid(it: Broken) -> None:
    it.settled()
    it.pays()


def owed(it: Broken) -> None:
    paid(it)
    it.overruled()
    assert [each.team for each in debts()] == [it.red]


def repaid(it: Broken) -> None:
    owed(it)
    it.confirmed(repayment_ask(team=it.red, cents=100, reason="Wire 9.", by=it.olga, now=CLOSED))
    prizes_settle(now=CLOSED)


def came_back(it: Broken) -> None:
    paid(it)
    entry = LedgerEntry.objects.get(target__kind=OUTSIDE)
    it.confirmed(correction_ask(entry=entry.pk, cents=100, reason="Wrong IBAN of red.", by=it.olga, now=CLOSED))


def share_withheld(it: Broken) -> None:
    it.withholds_share()
    it.settled()


def share_withheld_and_less(it: Broken) -> None:
    it.withholds_share()
    cast.broken(it.stake.defense, cast.attack(cast.team("blue"), days=1.1))
    it.settled()
    assert LedgerEntry.objects.filter(why__contains="follows that share").exists()


def share_withheld_and_given_back(it: Broken) -> None:
    it.withholds_share()
    it.settled()
    of = Account.objects.get(stake=it.stake)
    money_return(of=of, team=it.red, reason="Red was right.", by=mandate("return", it.rita, CLOSED), now=CLOSED)
    it.settled()


def withheld_of_its_account(it: Broken) -> None:
    it.settled()
    money_withhold(of=it.account, cents=500, reason="Looked into.", by=mandate("withhold", it.rita, CLOSED), now=CLOSED)


def given_back_to_its_account(it: Broken) -> None:
    withheld_of_its_account(it)
    money_return(of=it.account, reason="Red was right.", by=mandate("return", it.rita, CLOSED), now=CLOSED)


def named_by_the_board(it: Broken) -> None:
    it.settled()
    policy = factories.policy_version()
    decision = BoardDecision.objects.create(
        kind="end", subject={}, reason="As Red broke net.", policy=policy, decided_at=CLOSED
    )
    half, pool = account(AccountKind.ATTACKERS), account(AccountKind.POOL)
    move(half, pool, 1, rule="R34", why="Tests.", causes={}, decision=decision, now=CLOSED)


HAPPENED: list[tuple[Callable[[Broken], None], str]] = [
    (shared, "its share is on its account"),
    (paid, "its share was paid out"),
    (owed, "what was paid is owed"),
    (repaid, "some of what is owed was repaid"),
    (came_back, "some of a payment came back"),
    (share_withheld, "the board withheld its share before it was posted"),
    (share_withheld_and_less, "what is withheld of its share follows it"),
    (share_withheld_and_given_back, "its share was withheld and given back"),
    (withheld_of_its_account, "the board withheld what is on its account"),
    (given_back_to_its_account, "what was withheld of its account was given back"),
    (named_by_the_board, "the board names it in another decision"),
]


def test_until_the_release_the_page_does_not_name_who_broke_it(broken: Broken) -> None:
    for happens, why in HAPPENED:
        with transaction.atomic():
            happens(broken)
            assert_kept_until_the_release(broken, why)
            assert check().wrong == (), why
            transaction.set_rollback(True)


def assert_kept_until_the_release(broken: Broken, why: str) -> None:
    shown = page()
    for secret in (" red", ">red", "Red ", broken.red.public_id, broken.attack.public_id, "2026-W47", "Looked into"):
        assert secret not in shown.split("<main")[1], (secret, why)
    adds_up(money_figures(told_at=CLOSED), why)
    cast.released("2026-W47")
    shown = page()
    assert "team red" in shown and "release of" not in shown, why
    assert money_figures(told_at=CLOSED).paid == money_figures(told_at=None).paid, why
    adds_up(money_figures(told_at=CLOSED), why)


# A team with a share that is told of, and one that is not ----------------------------------------------------------


@pytest.fixture
def both(broken: Broken) -> Broken:
    """The same, and a share of an earlier week that is released."""
    early = cast.staked(cast.defense("early", Team.objects.get(name="makers"), received=BEFORE), at=EARLIER)
    sent = cast.attack(broken.red, days=-6)
    cast.broken(early.defense, sent)
    cast.ended(early)
    for stake in Stake.objects.all():
        cast.caught_up(stake.defense)
    cast.released("2026-W46")
    broken.settled()
    return broken


def test_a_payment_of_both_leaves_what_is_told_as_it_was(both: Broken) -> None:
    before = money_figures(told_at=CLOSED)
    assert [(each.team, each.cents) for each in before.teams] == [(both.red, PRIZE)]
    assert both.pays().cents == 2 * PRIZE
    after = money_figures(told_at=CLOSED)
    assert (after.teams, after.held, after.paid) == (before.teams, before.held, 0)
    assert after.waits and not before.waits
    assert "What a team was paid, gave back or had withheld" in page()
    adds_up(after)
    cast.released("2026-W47")
    told = money_figures(told_at=CLOSED)
    assert (told.teams, told.held, told.paid, told.waits) == ((), 0, 2 * PRIZE, False)


def test_a_payment_from_before_the_share_stays_listed(broken: Broken) -> None:
    cast.released("2026-W47")
    paid(broken)
    late = cast.staked(cast.defense("late", Team.objects.get(name="makers")), at=CLOSED)
    cast.broken(late.defense, cast.attack(broken.red, days=42), found=CLOSED + timedelta(9))
    cast.ended(late, at=CLOSED + timedelta(10))
    cast.caught_up(broken.stake.defense)
    prizes_settle(now=CLOSED + timedelta(10))
    assert balance(broken.red) == PRIZE
    shown = money_figures(told_at=CLOSED)
    assert (shown.paid, shown.teams, shown.held) == (PRIZE, (), PRIZE)
    assert "Paid to team red." in page()


def test_what_is_set_off_against_a_told_debt_is_owed_still(broken: Broken) -> None:
    cast.released("2026-W47")
    owed(broken)
    assert [each.cents for each in money_figures(told_at=CLOSED).debts] == [PRIZE]
    late = cast.staked(cast.defense("late", Team.objects.get(name="makers")), at=CLOSED)
    cast.broken(late.defense, cast.attack(broken.red, days=42), found=CLOSED + timedelta(9))
    cast.ended(late, at=CLOSED + timedelta(10))
    cast.caught_up(broken.stake.defense)
    for _ in range(2):
        prizes_settle(now=CLOSED + timedelta(10))
    assert list(debts()) == [] and balance(broken.red) == 0
    shown = money_figures(told_at=CLOSED)
    assert [(each.team, each.cents) for each in shown.debts] == [(broken.red, PRIZE)]
    adds_up(shown)
    cast.released(Attack.objects.order_by("-received_at")[0].week)
    assert money_figures(told_at=CLOSED).debts == ()


# A winner -------------------------------------------------------------------------------------------------------------


def test_an_award_that_a_late_break_takes_is_told_with_its_week(olga: User, rita: User) -> None:
    factories.policy_version()
    cast.deposit(100_000, olga)
    makers = cast.team("makers")
    stake = cast.staked(cast.defense("net", makers))
    give(all_met(stake), rita)
    before = money_figures(told_at=CLOSED)
    found_late(stake, cast.team("red"))
    sweep()
    after = money_figures(told_at=CLOSED)
    assert (after.balances, after.teams, after.held) == (before.balances, before.teams, before.held)
    adds_up(after)
    shown = page().split("<main")[1]
    assert "found late" not in shown and " red" not in shown and "follows from a break" not in shown
    cast.released(*(week for week in {each.week for each in Attack.objects.all()}))
    assert "found late" in page()


# A team's own page ---------------------------------------------------------------------------------------------------


def test_a_team_is_not_told_which_other_team_broke_it_earlier(broken: Broken, signed_in: Any) -> None:
    carl = factories.user("carl")
    Member.objects.create(team=broken.red, user=carl, captain=True)
    broken.settled()
    other = cast.attack(cast.team("blue"), days=0.1)
    cast.broken(broken.stake.defense, other)
    prizes_settle(now=CLOSED)
    assert balance(broken.red) == PRIZE // 2

    def own_page() -> str:
        return signed_in(carl).get("/team/money/").content.decode().split("<main")[1]

    shown = own_page()
    assert "Correction: what is due for net changed" in shown
    assert broken.attack.public_id in shown and broken.attack.image.public_id in shown, "what it sent itself it knows"
    for secret in (other.public_id, other.image.public_id, "blue"):
        assert secret not in shown, secret
    cast.released("2026-W47")
    assert other.public_id in own_page() and other.image.public_id in own_page()


def test_who_sent_a_copy_is_told_of_the_break_with_everybody_else(broken: Broken, signed_in: Any) -> None:
    carl = factories.user("carl")
    Member.objects.create(team=broken.red, user=carl, captain=True)
    broken.settled()
    other = cast.attack(cast.team("blue"), days=0.1)
    Attack.objects.filter(pk=broken.attack.pk).update(copy_of=other)
    assert broken.attack.image.public_id not in signed_in(carl).get("/team/money/").content.decode()


# Other places --------------------------------------------------------------------------------------------------------


def test_no_later_week_is_released_before_the_one_that_its_money_follows_from(broken: Broken, tmp_path: Path) -> None:
    prizes_settle(now=SETTLED)
    later = week_at(LedgerEntry.objects.get(target__team=broken.red).made_at)
    with pytest.raises(Conflict, match="who broke what in week 2026-W47, which is not released"):
        release_week(later, out=tmp_path, now=CLOSED, incomplete=True)
    cast.released("2026-W47")
    assert release_week(later, out=tmp_path, now=CLOSED, incomplete=True).new


def test_the_leaderboard_knows_of_which_breaks_each_sum_tells(broken: Broken) -> None:
    """What takes a share back, and what is withheld of it, is told no earlier than the share."""
    broken.settled()
    proof = broken.stake.defense.breaks.get().pk
    money_withhold(
        of=broken.account, cents=500, reason="Looked into.", by=mandate("withhold", broken.rita, CLOSED), now=CLOSED
    )
    broken.overruled()
    prizes = [each for each in read_facts().prizes if each.team == broken.red.pk]
    assert [each.cents for each in prizes] == [PRIZE, -500, 500 - PRIZE]
    assert all(proof in each.breaks for each in prizes)
