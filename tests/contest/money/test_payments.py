"""What is due when, and money that leaves by the hands of two organizers (R22, R34, R38)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from contest.awards.settling import prizes_settle
from contest.board.moves import withhold_move
from contest.enums import AccountKind
from contest.models import Account, Association, BoardDecision, LedgerEntry, Payment, Stake, Team
from contest.money.correcting import owed
from contest.money.due import payable, payables
from contest.money.exports import guarded, payable_rows, receipt_rows
from contest.money.ledger import account, check, move
from contest.money.payments import payment_ask, payment_cancel, payment_pay
from contest.money.withholding import money_return, money_withhold, withheld, withheld_of
from scoring.models import Defense
from tests import factories
from tests.at_once import refusals_at_once
from tests.contest.money import cast
from tests.contest.money.cast import CLOSED, MONDAY, PRIZE, SETTLED, balance
from tests.factories import mandate
from tests.refusals import refused

pytestmark = pytest.mark.django_db


@pytest.fixture
def olaf(db: None) -> User:
    return factories.user("olaf", "organizers")


@pytest.fixture
def red(olga: User) -> Team:
    """Team red with a share of a week that is settled, and can be appealed until seven days after its rulings."""
    factories.policy_version()
    cast.deposit(4 * PRIZE, olga)
    red = cast.team("red")
    stake = cast.staked(cast.defense("net", cast.team("makers")))
    cast.broken(stake.defense, cast.attack(red))
    cast.ended(stake)
    assert prizes_settle(now=SETTLED) == 1
    return red


RULED = MONDAY.replace(hour=0) + timedelta(days=7)  # two days after the end of its week
APPEALS = [
    (RULED, 0, "just ruled"),
    (RULED + timedelta(days=7, microseconds=-1), 0, "a moment before the appeals close"),
    (RULED + timedelta(days=7), PRIZE, "the appeals are closed"),
]


@pytest.mark.parametrize(("at", "due", "why"), APPEALS, ids=[row[2] for row in APPEALS])
def test_nothing_is_due_before_the_appeals_of_the_week_are_closed(
    at: datetime, due: int, why: str, red: Team, olga: User
) -> None:
    found = payable(red, now=at)
    assert (found.balance, found.due, found.waiting) == (PRIZE, due, PRIZE - due), why
    assert found.weeks == (("2026-W47",) if not due else ())
    assert payables(now=at) == [found]
    if not due:
        refused("nothing_due", payment_ask, team=red, by=olga, now=at)
    cast.ruled(cast.attack(cast.team("blue"), days=2).image, "", at=CLOSED - timedelta(1))
    assert [payable(red, now=CLOSED + timedelta(days)).due for days in (0, 6)] == [0, PRIZE], "ruled again: it waits"


def test_an_earlier_week_of_the_stake_that_is_open_holds_back_what_came_later(red: Team) -> None:
    stake = cast.staked(cast.caught_up(cast.defense("second", cast.team("others"))))
    cast.broken(stake.defense, cast.attack(cast.team("blue"), days=6))
    cast.ruled(cast.attack(red, days=1).image, "", at=CLOSED - timedelta(1))
    cast.ended(stake)
    prizes_settle(now=SETTLED)
    found = payable(Team.objects.get(name="blue"), now=CLOSED)
    assert (found.due, found.weeks) == (0, ("2026-W47",))


@pytest.mark.both("a constraint refuses the same organizer")
def test_two_organizers_pay(red: Team, olga: User, olaf: User) -> None:
    asked = payment_ask(team=red, by=olga, now=CLOSED)
    assert (asked.cents, asked.asked_by, balance(red)) == (PRIZE, olga, PRIZE), "nothing moves yet"
    refused("payment_open", payment_ask, team=red, by=olaf, now=CLOSED)
    same = refused("same_person", payment_pay, payment_id=asked.pk, reference="SEPA 7", by=olga, now=CLOSED)
    assert "another organizer" in same.message
    with pytest.raises(IntegrityError, match="payment_by_two"), transaction.atomic():
        Payment.objects.filter(pk=asked.pk).update(paid_by=olga)
    for reference in ("", "  ", "\x00", "x" * 201):
        refused("invalid", payment_pay, payment_id=asked.pk, reference=reference, by=olaf, now=CLOSED)
    paid = payment_pay(payment_id=asked.pk, reference=" SEPA 7 ", by=olaf, now=CLOSED)
    assert (paid.paid_by, paid.reference, paid.paid_at) == (olaf, "SEPA 7", CLOSED)
    assert paid.entry is not None and (paid.entry.rule, paid.entry.causes) == ("R34", {"payment": [paid.pk]})
    assert balance(red) == 0 and check().wrong == ()


def pays(payment: Payment, by: User) -> object:
    return payment_pay(payment_id=payment.pk, reference="SEPA 8", by=by, now=CLOSED)


def cancels(payment: Payment, by: User) -> object:
    return payment_cancel(payment_id=payment.pk, by=by, now=CLOSED)


@pytest.mark.parametrize("first", [pays, cancels])
def test_a_payment_that_is_over_stays_as_it_is(
    first: Callable[[Payment, User], object], red: Team, olga: User, olaf: User
) -> None:
    asked = payment_ask(team=red, by=olga, now=CLOSED)
    first(asked, olaf)
    for second in (pays, cancels):
        refused("payment_over", second, asked, olaf)
    assert LedgerEntry.objects.filter(source__team=red).count() == (first is pays)
    asked.refresh_from_db()
    if first is cancels:
        assert (asked.cancelled_by, payment_ask(team=red, by=olaf, now=CLOSED).cents) == (olaf, PRIZE)


def test_a_payment_of_more_than_is_due_by_now_is_refused(red: Team, olga: User, olaf: User) -> None:
    asked = payment_ask(team=red, by=olga, now=CLOSED)
    own = account(AccountKind.TEAM, team=red)
    move(own, account(AccountKind.ATTACKERS), 1, rule="R35", why="Correction.", causes={}, now=CLOSED)
    refused("less_due", payment_pay, payment_id=asked.pk, reference="SEPA 7", by=olaf, now=CLOSED)
    assert balance(red) == PRIZE - 1


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_of_two_who_mark_it_at_once_one_does(red: Team, olga: User, olaf: User) -> None:
    asked, third = payment_ask(team=red, by=olga, now=CLOSED), factories.user("oona", "organizers")
    assert sorted(refusals_at_once(partial(pays, asked, olaf), partial(pays, asked, third))) == ["", "payment_over"]
    assert (balance(red), LedgerEntry.objects.filter(source__team=red).count()) == (0, 1)


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_four_sweeps_at_once_post_a_share_once(olga: User) -> None:
    factories.policy_version()
    cast.deposit(4 * PRIZE, olga)
    red, blue = cast.team("red"), cast.team("blue")
    for number in range(3):
        stake = cast.staked(cast.defense(f"net {number}", cast.team(f"makers {number}")), cents=1001)
        cast.broken(stake.defense, cast.attack(red, days=1))
        cast.broken(stake.defense, cast.attack(blue, days=2))
        cast.ended(stake)
    for defense in Defense.objects.all():
        cast.caught_up(defense)
    posted: list[int] = []
    assert refusals_at_once(*[lambda: posted.append(prizes_settle(now=SETTLED))] * 4) == [""] * 4
    assert (sum(posted), balance(red), balance(blue), check().wrong) == (3, 3 * 501, 3 * 500, ())


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.slow("three threads")
@pytest.mark.django_db(transaction=True)
def test_of_merged_teams_nothing_is_paid_that_a_sweep_takes_at_once(red: Team, olga: User, olaf: User) -> None:
    blue, first = cast.team("blue"), Stake.objects.get()
    second = cast.staked(cast.caught_up(cast.defense("second", cast.team("others"))))
    cast.broken(second.defense, cast.attack(blue, days=1))
    cast.ended(second)
    cast.caught_up(first.defense)
    prizes_settle(now=SETTLED)
    Team.objects.filter(pk=blue.pk).update(merged_into=red, merged_at=SETTLED)
    asked = [payment_ask(team=each, by=olga, now=CLOSED) for each in (red, blue)]
    assert [each.cents for each in asked] == [PRIZE, PRIZE]
    Association.objects.create(team=red, since=MONDAY, until=SETTLED, reason="Worked here.", declared_at=CLOSED)
    acts = [*(partial(pays, each, olaf) for each in asked), partial(prizes_settle, now=CLOSED)]
    assert refusals_at_once(*acts) == ["less_due", "", ""]
    assert (owed(), balance(red), balance(blue), check().wrong) == ([], 0, 0, ())


# Withheld -------------------------------------------------------------------------------------------------------------


def own(red: Team) -> Account:
    return Account.objects.get(team=red)


def test_the_board_withholds_with_a_public_reason_and_gives_back(red: Team, rita: User) -> None:
    entry = money_withhold(
        of=own(red), cents=1_000, reason="Two accounts of one person.", by=mandate("withhold", rita, CLOSED), now=CLOSED
    )
    assert (entry.rule, entry.decision.kind, entry.causes) == ("R38", "withhold", {"team": [red.pk]})  # type: ignore[union-attr]
    assert (balance(red), balance(AccountKind.WITHHELD)) == (PRIZE - 1_000, 1_000)
    (found,) = withheld()
    assert (found.account, found.cents) == (own(red), 1_000)
    back = money_return(of=own(red), reason="It was cleared up.", by=mandate("return", rita, CLOSED), now=CLOSED)
    assert (back.details["cents"], balance(red), balance(AccountKind.WITHHELD), withheld()) == (1_000, PRIZE, 0, [])
    assert BoardDecision.objects.get(kind="return").reason == "It was cleared up."


@pytest.fixture
def two_broke_it(olga: User) -> Stake:
    """A stake of 10,000 that red and blue broke in the same week."""
    factories.policy_version()
    cast.deposit(10 * PRIZE, olga)
    stake = cast.staked(cast.defense("net", cast.team("makers")), cents=10_000)
    cast.broken(stake.defense, cast.attack(cast.team("red"), days=1))
    cast.broken(stake.defense, cast.attack(cast.team("blue"), days=2))
    return cast.ended(stake)


WITHHELD_OF = [
    ("red", 5_000, {"red": 0, "blue": 5_000}, "the first one"),
    ("blue", 5_000, {"red": 5_000, "blue": 0}, "the second one"),
    ("red", 2_000, {"red": 3_000, "blue": 5_000}, "a part"),
    ("red", 10_000, {"red": 0, "blue": 5_000}, "more than its share"),
    ("makers", 10_000, {"red": 5_000, "blue": 5_000}, "a team without a share"),
]


@pytest.mark.parametrize(("team", "cents", "got", "why"), WITHHELD_OF, ids=[row[3] for row in WITHHELD_OF])
def test_what_is_withheld_of_one_team_is_missing_to_no_other(
    team: str, cents: int, got: dict[str, int], why: str, two_broke_it: Stake, rita: User
) -> None:
    of, cheat, by = (
        Account.objects.get(stake=two_broke_it),
        Team.objects.get(name=team),
        mandate("withhold", rita, MONDAY),
    )
    money_withhold(of=of, team=cheat, cents=cents, reason="It cheated.", by=by, now=MONDAY)
    prizes_settle(now=SETTLED)
    assert {name: balance(Team.objects.get(name=name)) for name in got} == got, why
    assert balance(AccountKind.WITHHELD) == 10_000 - sum(got.values())
    assert prizes_settle(now=SETTLED) == 0 and check().wrong == ()
    money_return(of=of, team=cheat, reason="It was cleared up.", by=mandate("return", rita, SETTLED), now=SETTLED)
    prizes_settle(now=SETTLED)
    assert {balance(Team.objects.get(name=name)) for name in ("red", "blue")} == {5_000}
    assert (withheld(), withheld_of(of, cheat)) == ([], None)


def test_what_is_withheld_of_a_share_grows_with_it_up_to_what_was_decided(two_broke_it: Stake, rita: User) -> None:
    of, by = Account.objects.get(stake=two_broke_it), mandate("withhold", rita, MONDAY)
    red, blue = Team.objects.filter(name__in=["red", "blue"]).order_by("pk")
    money_withhold(of=of, team=red, cents=8_000, reason="It cheated.", by=by, now=MONDAY)
    prizes_settle(now=SETTLED)
    assert [each.cents for each in withheld()] == [5_000]
    green = cast.team("green")
    Team.objects.filter(pk=red.pk).update(merged_into=green, merged_at=CLOSED)
    assert withheld()[0].team == green, "it stays withheld of a team that was merged"
    cast.overruled(blue.attacks.get().image)
    prizes_settle(now=CLOSED)
    assert (balance(green) + balance(red), balance(blue), [each.cents for each in withheld()]) == (2_000, 0, [8_000])


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"cents": PRIZE + 1}, "not_enough", "more than is there"),
    ({"reason": " "}, "invalid", "no reason"),
    ({"of": AccountKind.ATTACKERS}, "invalid", "the account of no team"),
    ({"of": AccountKind.STAKE}, "invalid", "a stake, and nobody says whose share"),
]


def test_only_the_board_withholds_and_only_what_is_there(red: Team, olga: User, rita: User) -> None:
    refused("not_on_board", withhold_move, own(red), 1, reason="Two accounts are one person.", by=olga, now=CLOSED)
    for changed, code, why in WRONG:
        told = {"of": AccountKind.TEAM, "cents": 1, "reason": "Why."} | changed
        told["of"] = Account.objects.filter(kind=told["of"])[0]
        assert refused(code, money_withhold, **told, by=mandate("withhold", rita, CLOSED), now=CLOSED), why
    refused(
        "nothing_withheld", money_return, of=own(red), reason="Why.", by=mandate("return", rita, CLOSED), now=CLOSED
    )
    assert not BoardDecision.objects.filter(kind__in=["withhold", "return"]).exists(), "a decision that came to nothing"


# Files ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@sum", "\tx", "\rx", "−1"])
def test_no_cell_is_read_as_a_formula(cell: str) -> None:
    assert guarded(["ok", cell]) == ("ok", f"'{cell}")


def test_what_is_due_as_a_file(red: Team, olga: User) -> None:
    Team.objects.filter(pk=red.pk).update(name="=red")
    payment_ask(team=red, by=olga, now=CLOSED)
    (row,) = payable_rows(currency="USD", now=CLOSED)
    assert row[1:7] == ("'=red", "USD", "100.01", "0.00", "", "100.01") and row[7] == "olga"
    (waits,) = payable_rows(currency="USD", now=SETTLED)
    assert waits[3:6] == ("0.00", "100.01", "2026-W47")


def test_what_came_in_and_went_out_as_a_file(red: Team, olga: User, olaf: User) -> None:
    own_stake = cast.staked(cast.defense("own", red), by=red)
    own_stake.receipt = "-SEPA 1"
    own_stake.save()
    paid = payment_ask(team=red, by=olga, now=CLOSED + timedelta(30))
    payment_pay(payment_id=paid.pk, reference="SEPA 7", by=olaf, now=CLOSED + timedelta(30))
    deposit, received, went = receipt_rows(currency="USD")
    assert (deposit[2], deposit[4], deposit[9]) == ("received", "400.04", "A gift.")
    assert (received[2], received[7], received[8]) == ("received", "red", "'-SEPA 1")
    assert (went[2], went[4], went[8]) == ("paid", "100.01", "SEPA 7")
