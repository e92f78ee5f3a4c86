"""What the public page of money tells of a week that is not released, and that its sums are those of its rows (R24)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
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
    """A staked defense that a team broke in week 2026-W47, and who works with money; what can happen next."""

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

    def owed(self) -> None:
        self.overruled()
        assert [each.team for each in debts()] == [self.red]

    def withholds_share(self) -> None:
        of, by = Account.objects.get(stake=self.stake), mandate("withhold", self.rita, SETTLED)
        money_withhold(of=of, team=self.red, cents=PRIZE, reason="Looked into.", by=by, now=SETTLED)

    def returns_share(self) -> None:
        of, by = Account.objects.get(stake=self.stake), mandate("return", self.rita, CLOSED)
        money_return(of=of, team=self.red, reason="Red was right.", by=by, now=CLOSED)

    def shrinks(self) -> None:
        cast.broken(self.stake.defense, cast.attack(cast.team("blue"), days=1.1))
        self.settled()
        assert LedgerEntry.objects.filter(why__contains="follows that share").exists()

    def withholds(self) -> None:
        by = mandate("withhold", self.rita, CLOSED)
        money_withhold(of=self.account, cents=500, reason="Looked into.", by=by, now=CLOSED)

    def returns(self) -> None:
        money_return(of=self.account, reason="Red was right.", by=mandate("return", self.rita, CLOSED), now=CLOSED)

    def repays(self) -> None:
        self.confirmed(repayment_ask(team=self.red, cents=100, reason="Wire 9.", by=self.olga, now=CLOSED))
        prizes_settle(now=CLOSED)

    def came_back(self) -> None:
        entry = LedgerEntry.objects.get(target__kind=OUTSIDE)
        self.confirmed(correction_ask(entry=entry.pk, cents=100, reason="Red's IBAN.", by=self.olga, now=CLOSED))

    def confirmed(self, asked: Any) -> None:
        correction_confirm(correction_id=asked.pk, by=self.olaf, now=CLOSED)

    def named(self) -> None:
        told = {"subject": {}, "reason": "As Red broke net.", "policy": factories.policy_version()}
        decision = BoardDecision.objects.create(kind="end", decided_at=CLOSED, **told)
        half, pool = account(AccountKind.ATTACKERS), account(AccountKind.POOL)
        move(half, pool, 1, rule="R34", why="Tests.", causes={}, decision=decision, now=CLOSED)

    def breaks_late(self) -> None:
        """It breaks another defense, in a week that is not released."""
        late = cast.staked(cast.defense("late", Team.objects.get(name="makers")), at=CLOSED)
        cast.broken(late.defense, cast.attack(self.red, days=42), found=CLOSED + timedelta(9))
        cast.ended(late, at=CLOSED + timedelta(10))
        cast.caught_up(self.stake.defense)
        while prizes_settle(now=CLOSED + timedelta(10)):
            pass


@pytest.fixture(scope="module")
def made(module_world: Path) -> Broken:
    factories.policy_version()
    olga, olaf = (factories.user(name, "organizers") for name in ("olga", "olaf"))
    cast.deposit(20 * PRIZE, olga)
    red, stake = cast.team("red"), cast.staked(cast.defense("net", cast.team("makers")))
    attack = cast.attack(red)
    cast.broken(stake.defense, attack)
    cast.ended(stake)
    return Broken(stake, red, attack, olga, olaf, factories.user("rita", "review board"))


@pytest.fixture
def broken(made: Broken) -> Broken:
    """The same in each test, read anew."""
    return replace(made, stake=Stake.objects.get(), red=Team.objects.get(name="red"), attack=Attack.objects.get())


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


HAPPENED: list[tuple[list[Callable[[Broken], object]], str]] = [
    ([Broken.settled], "its share is on its account"),
    ([Broken.settled, Broken.pays], "its share was paid out"),
    ([Broken.settled, Broken.pays, Broken.owed], "what was paid is owed"),
    ([Broken.settled, Broken.pays, Broken.owed, Broken.repays], "some of what is owed was repaid"),
    ([Broken.settled, Broken.pays, Broken.came_back], "some of a payment came back"),
    ([Broken.withholds_share, Broken.settled], "the board withheld its share before it was posted"),
    ([Broken.withholds_share, Broken.shrinks], "what is withheld of its share follows it"),
    ([Broken.withholds_share, Broken.settled, Broken.returns_share, Broken.settled], "withheld and given back"),
    ([Broken.settled, Broken.withholds], "the board withheld what is on its account"),
    ([Broken.settled, Broken.withholds, Broken.returns], "what was withheld of its account was given back"),
    ([Broken.settled, Broken.named], "the board names it in another decision"),
]


@pytest.mark.parametrize(("happened", "why"), HAPPENED, ids=[row[1] for row in HAPPENED])
def test_until_the_release_the_page_does_not_name_who_broke_it(
    happened: list[Callable[[Broken], object]], why: str, broken: Broken
) -> None:
    for happens in happened:
        happens(broken)
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
    broken.settled()
    broken.pays()
    broken.breaks_late()
    shown = money_figures(told_at=CLOSED)
    assert (balance(broken.red), shown.paid, shown.teams, shown.held) == (PRIZE, PRIZE, (), PRIZE)
    assert "Paid to team red." in page()


def test_what_is_set_off_against_a_told_debt_is_owed_still(broken: Broken) -> None:
    cast.released("2026-W47")
    broken.settled()
    broken.pays()
    broken.owed()
    assert [each.cents for each in money_figures(told_at=CLOSED).debts] == [PRIZE]
    broken.breaks_late()
    assert list(debts()) == [] and balance(broken.red) == 0
    shown = money_figures(told_at=CLOSED)
    assert [(each.team, each.cents) for each in shown.debts] == [(broken.red, PRIZE)]
    adds_up(shown)
    cast.released(Attack.objects.order_by("-received_at")[0].week)
    assert money_figures(told_at=CLOSED).debts == ()


# A winner -------------------------------------------------------------------------------------------------------------


def test_an_award_that_a_late_break_takes_is_told_with_its_week(broken: Broken) -> None:
    broken.settled()
    stake = cast.staked(cast.caught_up(cast.defense("won", cast.team("winners"))))
    give(all_met(stake), broken.rita)
    before, follow = money_figures(told_at=CLOSED), page().count("follows from a break")
    found_late(stake, broken.red)
    sweep()
    after = money_figures(told_at=CLOSED)
    assert (after.balances, after.teams, after.held) == (before.balances, before.teams, before.held)
    adds_up(after)
    shown = page().split("<main")[1]
    assert "found late" not in shown and " red" not in shown and shown.count("follows from a break") == follow
    cast.released(*{each.week for each in Attack.objects.all()})
    assert "found late" in page()


# A team's own page ---------------------------------------------------------------------------------------------------


@pytest.fixture
def own_page(broken: Broken, signed_in: Any) -> Callable[[], str]:
    """What red reads, whose share is posted; blue's picture of earlier in the week is found later."""
    carl = factories.user("carl")
    Member.objects.create(team=broken.red, user=carl, captain=True)
    broken.settled()
    return lambda: signed_in(carl).get("/team/money/").content.decode().split("<main")[1]


def test_a_team_is_not_told_which_other_team_broke_it_earlier(broken: Broken, own_page: Callable[[], str]) -> None:
    other = cast.attack(cast.team("blue"), days=0.1)
    cast.broken(broken.stake.defense, other)
    prizes_settle(now=CLOSED)
    assert balance(broken.red) == PRIZE // 2
    shown = own_page()
    assert "Correction: what is due for net changed" in shown
    assert broken.attack.public_id in shown and broken.attack.image.public_id in shown, "what it sent itself it knows"
    for secret in (other.public_id, other.image.public_id, "blue"):
        assert secret not in shown, secret
    cast.released("2026-W47")
    assert other.public_id in own_page() and other.image.public_id in own_page()


def test_who_sent_a_copy_is_told_of_the_break_with_everybody_else(broken: Broken, own_page: Callable[[], str]) -> None:
    Attack.objects.filter(pk=broken.attack.pk).update(copy_of=cast.attack(cast.team("blue"), days=0.1))
    assert broken.attack.image.public_id not in own_page()


# Other places --------------------------------------------------------------------------------------------------------


def test_no_later_week_is_released_before_the_one_that_its_money_follows_from(broken: Broken, tmp_path: Path) -> None:
    broken.settled()
    later = week_at(LedgerEntry.objects.get(target__team=broken.red).made_at)
    told = {"out": tmp_path, "now": CLOSED, "incomplete": True}
    with pytest.raises(Conflict, match="who broke what in week 2026-W47, which is not released"):
        release_week(later, **told)
    cast.released("2026-W47")
    assert release_week(later, **told).new


def test_the_leaderboard_tells_of_each_sum_with_its_breaks(broken: Broken) -> None:
    """What takes a share back, and what is withheld of it, is told no earlier than the share."""
    broken.settled()
    proof = broken.stake.defense.breaks.get().pk
    broken.withholds()
    broken.overruled()
    prizes = [each for each in read_facts().prizes if each.team == broken.red.pk]
    assert [each.cents for each in prizes] == [PRIZE, -500, 500 - PRIZE]
    assert all(proof in each.breaks for each in prizes)
