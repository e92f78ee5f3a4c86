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
from contest.core.enums import AccountKind
from contest.core.models import Attack, Award, BoardDecision, Member, Stake, Team
from contest.core.weeks import week_at
from contest.ledger.models import LedgerEntry, Payment
from contest.ledger.services import check_ledger_sums, ledger_account, move
from contest.payments.statements import MoneyOverview, debts, entries, money_overview
from contest.prizes.forfeits import award_forfeit, award_withhold
from contest.prizes.sweeps import prizes_settle
from contest.record.leaderboard.fact_reader import read_facts
from contest.releases.services import release_week
from tests import factories, tables
from tests.contest.ledger import cast
from tests.contest.ledger.cast import BEFORE, CLOSED, MONDAY, PRIZE, SETTLED, balance
from tests.contest.pages import lacking, main
from tests.contest.prizes.test_awards import NOW, all_met, found_late, give, sweep

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

    def settled(self) -> None:
        prizes_settle(now=SETTLED)

    def pays(self) -> Payment:
        return cast.paid(self.red, self.olga, self.olaf)

    def overruled(self) -> None:
        cast.overruled(self.attack.image)
        cast.swept(CLOSED)

    def owed(self) -> None:
        self.overruled()
        assert [each.team for each in debts()] == [self.red]

    def withholds_share(self) -> None:
        cast.withheld(self.stake, PRIZE, self.rita, team=self.red, now=SETTLED)

    def returns_share(self) -> None:
        cast.given_back(self.stake, self.rita, team=self.red, why="Red was right.")

    def shrinks(self) -> None:
        cast.broken(self.stake.defense, cast.attack(cast.team("blue"), days=1.1))
        self.settled()
        assert LedgerEntry.objects.filter(why__contains="follows that share").exists()

    def withholds(self) -> None:
        cast.withheld(self.red, 500, self.rita)

    def returns(self) -> None:
        cast.given_back(self.red, self.rita, why="Red was right.")

    def repays(self) -> None:
        cast.repaid(self.red, 100, self.olga, self.olaf)
        prizes_settle(now=CLOSED)

    def came_back(self) -> None:
        cast.corrected(LedgerEntry.objects.get(target__kind=OUTSIDE), 100, self.olga, self.olaf, "Red's IBAN.")

    def named(self) -> None:
        told = {"subject": {}, "reason": "As Red broke net.", "policy": factories.policy_version()}
        decision = BoardDecision.objects.create(kind="end", decided_at=CLOSED, **told)
        half, pool = ledger_account(AccountKind.ATTACKERS), ledger_account(AccountKind.POOL)
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
    assert check_ledger_sums().wrong == ()


def page() -> str:
    return main(Client(), "/money/")


def adds_up(shown: MoneyOverview, why: str = "") -> None:
    """All sums are those of the rows that are listed."""
    assert shown.received - shown.paid == (sum(shown.balances.values()) + shown.staked + shown.held), why
    assert shown.embargoed >= 0 and shown.withheld_embargoed >= 0, why
    received = paid = 0
    for row in (row.entry for row in entries(told_at=CLOSED, limit=1000)[0]):
        came, went = ((side.kind == OUTSIDE) * row.cents for side in (row.source, row.target))
        received, paid = (received + came, paid + went) if row.corrects_id is None else (received - went, paid - came)
    assert (shown.received, shown.paid) == (received, paid), why


@tables.cases(
    "happened why",
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
)
def test_until_the_release_the_page_does_not_name_who_broke_it(
    happened: list[Callable[[Broken], object]], why: str, broken: Broken
) -> None:
    for happens in happened:
        happens(broken)
    shown = page()
    secrets = (" red", ">red", "Red ", broken.red.public_id, broken.attack.public_id, "2026-W47", "Looked into")
    assert lacking(shown, *secrets) == [*secrets], why
    adds_up(money_overview(told_at=CLOSED), why)
    cast.released("2026-W47")
    shown = page()
    assert "team red" in shown and "release of" not in shown, why
    told = money_overview(told_at=CLOSED)
    assert told.paid == money_overview(told_at=None).paid, why
    adds_up(told, why)


# A team with a share that is told of, and one that is not ----------------------------------------------------------


@pytest.fixture
def both(broken: Broken) -> Broken:
    """The same, and a share of an earlier week that is released."""
    early = cast.staked(cast.defense("early", Team.objects.get(name="makers"), received=BEFORE), at=EARLIER)
    cast.broken(early.defense, cast.attack(broken.red, days=-6))
    cast.ended(early)
    cast.all_caught_up()
    cast.released("2026-W46")
    broken.settled()
    return broken


def test_a_payment_of_both_leaves_what_is_told_as_it_was(both: Broken) -> None:
    before = money_overview(told_at=CLOSED)
    assert ([(each.team, each.cents) for each in before.teams], both.pays().cents) == ([(both.red, PRIZE)], 2 * PRIZE)
    after = money_overview(told_at=CLOSED)
    assert (after.teams, after.held, after.paid) == (before.teams, before.held, 0) and after.waits and not before.waits
    assert "What a team was paid, gave back or had withheld" in page()
    adds_up(after)
    cast.released("2026-W47")
    told = money_overview(told_at=CLOSED)
    assert (told.teams, told.held, told.paid, told.waits) == ((), 0, 2 * PRIZE, False)


def test_a_payment_from_before_the_share_stays_listed(broken: Broken) -> None:
    cast.released("2026-W47")
    broken.settled()
    broken.pays()
    broken.breaks_late()
    shown = money_overview(told_at=CLOSED)
    assert (balance(broken.red), shown.paid, shown.teams, shown.held) == (PRIZE, PRIZE, (), PRIZE)
    assert "Paid to team red." in page()


def test_what_is_set_off_against_a_told_debt_is_owed_still(broken: Broken) -> None:
    cast.released("2026-W47")
    for happens in (Broken.settled, Broken.pays, Broken.owed):
        happens(broken)
    assert [each.cents for each in money_overview(told_at=CLOSED).debts] == [PRIZE]
    broken.breaks_late()
    assert list(debts()) == [] and balance(broken.red) == 0
    shown = money_overview(told_at=CLOSED)
    assert [(each.team, each.cents) for each in shown.debts] == [(broken.red, PRIZE)]
    adds_up(shown)
    cast.released(Attack.objects.order_by("-received_at")[0].week)
    assert money_overview(told_at=CLOSED).debts == ()


# A winner -------------------------------------------------------------------------------------------------------------


def test_an_award_that_a_late_break_takes_is_told_with_its_week(broken: Broken) -> None:
    broken.settled()
    stake = cast.staked(cast.caught_up(cast.defense("won", cast.team("winners"))))
    give(all_met(stake), broken.rita)
    before, follow = money_overview(told_at=CLOSED), page().count("follows from a break")
    found_late(stake, broken.red)
    sweep()
    after = money_overview(told_at=CLOSED)
    assert (after.balances, after.teams, after.held) == (before.balances, before.teams, before.held)
    adds_up(after)
    shown = page()
    assert "found late" not in shown and " red" not in shown and shown.count("follows from a break") == follow
    cast.released(*{each.week for each in Attack.objects.all()})
    assert "found late" in page()


@dataclass
class Winner:
    """The award of one of two winners; the other may lose by a late break."""

    award: Award
    loser: Stake
    by: Broken

    def withheld(self) -> None:
        award_withhold(award=self.award, **self._by("withhold"))

    def forfeited(self) -> None:
        award_forfeit(award=self.award, **self._by("forfeit"))

    def grows(self) -> None:
        found_late(self.loser, self.by.red)
        sweep()

    def _by(self, kind: str) -> dict[str, Any]:
        return {"reason": "It looked.", "by": factories.mandate(kind, self.by.rita, NOW), "now": NOW}


@pytest.fixture
def winner(broken: Broken) -> Winner:
    broken.settled()
    both = cast.batch()
    won, lost = (cast.staked(cast.caught_up(cast.defense(n, cast.team(n))), of=both) for n in ("one", "two"))
    all_met(lost)
    return Winner({each.stake: each for each in give(all_met(won), broken.rita)}[won], lost, broken)


def test_what_a_withheld_award_gets_by_a_late_break_is_told_with_its_week(winner: Winner) -> None:
    """Also if it is taken for good before that."""
    winner.withheld()
    before, cents = money_overview(told_at=NOW), winner.award.cents
    winner.grows()
    assert balance(AccountKind.WITHHELD) == 2 * cents
    told = money_overview(told_at=NOW)
    assert (told.balances, told.held, [each.cents for each in told.withheld]) == (before.balances, before.held, [cents])
    adds_up(told)
    winner.forfeited()
    adds_up(money_overview(told_at=NOW))
    assert money_overview(told_at=NOW).balances == before.balances, "its sum would tell of the break"
    cast.released(*{each.week for each in Attack.objects.all()})
    told = money_overview(told_at=NOW)
    assert (told.balances["withheld"], told.withheld) == (0, ())
    adds_up(told)


def test_what_is_withheld_of_an_award_that_grew_by_a_late_break_is_told_with_its_week(winner: Winner) -> None:
    """Its sum would tell of the break; also if it is taken for good before that."""
    before, cents = money_overview(told_at=NOW), winner.award.cents
    winner.grows()
    winner.withheld()
    assert balance(AccountKind.WITHHELD) == 2 * cents
    told = money_overview(told_at=NOW)
    assert (told.balances, told.teams, told.withheld) == (before.balances, before.teams, ())
    adds_up(told)
    winner.forfeited()
    told = money_overview(told_at=NOW)
    assert (told.balances, told.teams, told.withheld) == (before.balances, before.teams, ())
    adds_up(told)
    cast.released(*{each.week for each in Attack.objects.all()})
    told = money_overview(told_at=NOW)
    assert (told.balances["withheld"], told.balances["defenders"], told.withheld) == (0, 2 * cents, ())
    adds_up(told)


# A team's own page ---------------------------------------------------------------------------------------------------


@pytest.fixture
def own_page(broken: Broken, signed_in: Any) -> Callable[[], str]:
    """What red reads, whose share is posted; blue's picture of earlier in the week is found later."""
    carl = factories.user("carl")
    Member.objects.create(team=broken.red, user=carl, captain=True)
    broken.settled()
    return lambda: main(signed_in(carl), "/team/money/")


def test_a_team_is_not_told_which_other_team_broke_it_earlier(broken: Broken, own_page: Callable[[], str]) -> None:
    other = cast.attack(cast.team("blue"), days=0.1)
    cast.broken(broken.stake.defense, other)
    prizes_settle(now=CLOSED)
    assert balance(broken.red) == PRIZE // 2
    shown = own_page()
    assert "Correction: what is due for net changed" in shown
    assert broken.attack.public_id in shown and broken.attack.image.public_id in shown, "what it sent itself it knows"
    secrets = [other.public_id, other.image.public_id, "blue"]
    assert lacking(shown, *secrets) == secrets
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
