"""What was recorded wrongly is put right by two organizers, by one more entry, and never below zero (R34)."""

import csv
import io
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from contest.awards.settling import prizes_settle
from contest.enums import AccountKind, StakeEnd
from contest.exports.contest_tables import _ledger_rows
from contest.models import Correction, LedgerEntry, Member, Stake, Team
from contest.money.correcting import (
    correction_ask,
    correction_cancel,
    correction_confirm,
    movement,
    movements,
    owed,
    repayment_ask,
)
from contest.money.deposits import pool_deposit
from contest.money.due import payable
from contest.money.exports import receipt_rows
from contest.money.figures import money_figures
from contest.money.ledger import check
from contest.money.payments import payment_ask, payment_pay
from contest.stakes import services
from contest.stakes.ends import stakes_end
from contest.weeks import week_at
from tests import factories
from tests.at_once import refusals_at_once
from tests.contest.money import cast
from tests.contest.money.cast import CLOSED, MONDAY, PRIZE, SETTLED, balance
from tests.refusals import refused

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]
ATTACKERS, DEFENDERS, POOL = AccountKind.ATTACKERS, AccountKind.DEFENDERS, AccountKind.POOL


@pytest.fixture
def olaf(db: None) -> User:
    return factories.user("olaf", "organizers")


@pytest.fixture(autouse=True)
def nothing_is_lost(db: None) -> object:
    factories.policy_version()
    yield
    assert check().wrong == ()


def corrected(entry: LedgerEntry, cents: int, by: User, other: User) -> Correction:
    asked = correction_ask(entry=entry.pk, cents=cents, reason="It came once.", by=by, now=CLOSED)
    return correction_confirm(correction_id=asked.pk, by=other, now=CLOSED)


# A deposit ------------------------------------------------------------------------------------------------------------

DEPOSITS = [
    ((1_000, 1_000), 1_000, (500, 500, 0), "recorded twice"),
    ((1_000,), 100, (450, 450, 0), "too much"),
    ((1_001,), 1_001, (0, 0, 0), "odd, all of it"),
    ((1_001, 1), 1_001, (0, 0, 1), "odd, where another odd one was halved with it"),
    ((1_001,), 1, (500, 500, 0), "the odd cent alone"),
    ((1_000,), 1, (499, 499, 1), "one cent of even halves"),
]


@pytest.mark.parametrize(("deposits", "cents", "left", "why"), DEPOSITS, ids=[row[3] for row in DEPOSITS])
def test_a_deposit_is_taken_back_from_both_halves(
    deposits: tuple[int, ...], cents: int, left: tuple[int, int, int], why: str, olga: User, olaf: User
) -> None:
    wrong = [cast.deposit(each, olga) for each in deposits][0]
    done = corrected(wrong, cents, olga, olaf)
    assert (balance(ATTACKERS), balance(DEFENDERS), balance(POOL)) == left, why
    entry = LedgerEntry.objects.get(pk=done.entry_id)
    assert (entry.corrects, entry.cents, entry.rule, entry.made_by) == (wrong, cents, "R34", olaf)
    assert entry.why == "Correction of a deposit: It came once."
    assert entry.causes == {"correction": [done.pk]}


class AnyDeposits(TestCase):
    """Whatever is deposited and taken back in whatever order, both halves stay the same, and none is overdrawn."""

    @settings(max_examples=8)
    @given(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.data())
    def test_both_halves_stay_the_same(self, deposits: list[int], data: st.DataObject) -> None:
        factories.policy_version()
        one, other = (factories.user(f"{name}{User.objects.count()}", "organizers") for name in ("a", "b"))
        rows = [pool_deposit(cents=each, reason="A gift.", by=one, now=MONDAY) for each in deposits]
        left = sum(deposits)
        for row in data.draw(st.lists(st.sampled_from(rows), unique=True)):
            cents = data.draw(st.integers(1, row.cents))
            corrected(row, cents, one, other)
            left -= cents
            assert balance(ATTACKERS) == balance(DEFENDERS) and min(balance(ATTACKERS), balance(POOL)) >= 0
            assert 2 * balance(ATTACKERS) + balance(POOL) == left


# A payment ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def red(olga: User) -> Team:
    """Team red with a share that can be paid at CLOSED."""
    cast.deposit(4 * PRIZE, olga)
    red = cast.team("red")
    stake = cast.staked(cast.defense("net", cast.team("makers")))
    cast.broken(stake.defense, cast.attack(red))
    stakes_end(now=SETTLED)
    assert prizes_settle(now=SETTLED) == 1
    return red


def paid(team: Team, by: User, other: User) -> LedgerEntry:
    asked = payment_ask(team=team, by=by, now=CLOSED)
    done = payment_pay(payment_id=asked.pk, reference="SEPA 7", by=other, now=CLOSED)
    assert done.entry is not None
    return done.entry


def test_a_payment_that_came_back_is_told_and_can_be_made_again(red: Team, olga: User, olaf: User) -> None:
    carl = factories.user("carl")
    User.objects.filter(pk=carl.pk).update(email="carl@example.org")
    Member.objects.create(team=red, user=carl, captain=True)
    corrected(paid(red, olga, olaf), PRIZE, olga, olaf)
    letter = red.messages.order_by("-pk")[0]
    assert letter.facts["corrected"] and "Correction of a payment: It came once." in str(letter.facts["lines"])
    assert (balance(red), payable(red, now=CLOSED).due) == (PRIZE, PRIZE)
    assert prizes_settle(now=CLOSED) == 0, "it is still the team's"
    corrected(cast.deposit(10, olga), 10, olga, olaf)
    shown = money_figures(told_at=None)
    assert (shown.received, shown.paid) == (4 * PRIZE, 0), "what came in and went out counts once"
    paid(red, olaf, olga)
    assert balance(red) == 0


# A stake's payment ----------------------------------------------------------------------------------------------------


@pytest.fixture
def own(olga: User, red: Team) -> Stake:
    """A stake whose payment was meant for another one."""
    Member.objects.create(team=red, user=factories.user("carl"), captain=True)
    asked = services.stake_ask(cast.defense("own", red), by=User.objects.get(username="carl"), now=CLOSED)
    return services.stake_receive(asked, "wire 7", by=olga, now=CLOSED)


def test_a_payment_for_another_stake_is_taken_off(own: Stake, red: Team, olga: User, olaf: User) -> None:
    received = LedgerEntry.objects.get(target__stake=own)
    half, held, blue = balance(ATTACKERS), balance(red), cast.team("blue")
    sent = cast.attack(blue, days=(CLOSED - MONDAY).days + 0.1)
    done = corrected(received, own.cents, olga, olaf)
    own.refresh_from_db()
    assert (own.end, own.ended_at, balance(own)) == (StakeEnd.WITHDRAWN, CLOSED, 0)
    assert LedgerEntry.objects.get(pk=done.entry_id).corrects == received
    (row,) = [row for row in receipt_rows(currency="USD") if row[10]]
    assert (row[2], row[7], row[8], row[10]) == ("correction of received", "red", "wire 7", str(received.pk))
    cast.broken(own.defense, sent)
    for days in (0, 30):
        assert prizes_settle(now=CLOSED + timedelta(days)) == 0
    assert (balance(ATTACKERS), balance(red), balance(blue)) == (half, held, 0), "nobody is given what never came"


def test_after_a_payment_was_taken_off_its_team_asks_again(own: Stake, olga: User, olaf: User) -> None:
    corrected(LedgerEntry.objects.get(target__stake=own), own.cents, olga, olaf)
    again = services.stake_ask(own.defense, by=User.objects.get(username="carl"), now=CLOSED)
    services.stake_receive(again, "wire 8", by=olga, now=CLOSED)
    assert balance(again) == own.cents


def test_one_that_was_broken_meanwhile_pays_who_broke_it(own: Stake, olga: User, olaf: User) -> None:
    received = LedgerEntry.objects.get(target__stake=own)
    asked = correction_ask(entry=received.pk, cents=own.cents, reason="Wrong one.", by=olga, now=CLOSED)
    cast.broken(own.defense, cast.attack(cast.team("blue"), days=(CLOSED - MONDAY).days + 0.1))
    refused("stake_over", correction_confirm, correction_id=asked.pk, by=olaf, now=CLOSED + timedelta(9))
    assert balance(own) == own.cents


# What a team gives back -----------------------------------------------------------------------------------------------


@pytest.fixture
def owing(red: Team, olga: User, olaf: User) -> Team:
    """Team red, which was paid and owes all of it since its break was overruled."""
    paid(red, olga, olaf)
    cast.overruled(red.attacks.get().image)
    stakes_end(now=CLOSED)
    prizes_settle(now=CLOSED)
    assert [(each.team, each.cents) for each in owed()] == [(red, PRIZE)]
    return red


def test_what_a_team_gives_back_is_taken_by_the_next_sweep(owing: Team, olga: User, olaf: User) -> None:
    stake = Stake.objects.get()
    for cents in (PRIZE - 1, 1):
        asked = repayment_ask(team=owing, cents=cents, reason="Wire 9.", by=olga, now=CLOSED)
        assert balance(owing) == 0, "nothing moves yet"
        done = correction_confirm(correction_id=asked.pk, by=olaf, now=CLOSED)
        assert balance(owing) == cents
        prizes_settle(now=CLOSED)
        assert balance(owing) == 0
    assert owed() == [] and balance(stake) == PRIZE
    entry = LedgerEntry.objects.get(pk=done.entry_id)
    assert (entry.corrects, entry.why) == (None, "Team red gave back what it owes: Wire 9.")


def test_nobody_gives_back_more_than_is_owed(owing: Team, olga: User, olaf: User) -> None:
    refused("less_owed", repayment_ask, team=owing, cents=PRIZE + 1, reason="Wire 9.", by=olga, now=CLOSED)
    asked = repayment_ask(team=owing, cents=PRIZE, reason="Wire 9.", by=olga, now=CLOSED)
    cast.overruled(owing.attacks.get().image, label="bird")
    stakes_end(now=CLOSED)
    refused("less_owed", correction_confirm, correction_id=asked.pk, by=olaf, now=CLOSED)


# Two organizers -------------------------------------------------------------------------------------------------------


def confirm(row: Correction, by: User) -> object:
    return correction_confirm(correction_id=row.pk, by=by, now=CLOSED)


def call_off(row: Correction, by: User) -> object:
    return correction_cancel(correction_id=row.pk, by=by, now=CLOSED)


@pytest.mark.both("a constraint refuses the same organizer")
def test_never_the_same_one_and_no_half_falls_below_zero(olga: User, olaf: User) -> None:
    wrong = cast.deposit(2 * PRIZE, olga)
    cast.staked(cast.defense("net", cast.team("makers")))
    asked = correction_ask(entry=wrong.pk, cents=2, reason="Twice.", by=olga, now=CLOSED)
    assert "another organizer" in refused("same_person", confirm, asked, olga).message
    with pytest.raises(IntegrityError, match="correction_by_two"), transaction.atomic():
        Correction.objects.filter(pk=asked.pk).update(confirmed_by=olga)
    assert "attackers" in refused("not_enough", confirm, asked, olaf).message
    assert (balance(ATTACKERS), balance(DEFENDERS)) == (0, PRIZE), "all of it or nothing"


@pytest.mark.parametrize("first", [confirm, call_off])
def test_one_that_is_over_stays_as_it_is(first: Callable[..., object], olga: User, olaf: User) -> None:
    wrong = cast.deposit(10, olga)
    told = {"entry": wrong.pk, "reason": "Too much.", "now": CLOSED}
    asked = correction_ask(cents=4, by=olga, **told)
    refused("correction_open", correction_ask, cents=1, by=olaf, **told)
    first(asked, olaf)
    for second in (confirm, call_off):
        refused("correction_over", second, asked, olaf)
    assert wrong.corrections.count() == (first is confirm)
    if first is confirm:
        assert movement(wrong.corrections.get().pk) is None and [each.left for each in movements(5)] == [6]
        refused("invalid", correction_ask, cents=7, by=olga, **told)
        corrected(wrong, 6, olga, olaf)
        refused("corrected_before", correction_ask, cents=1, by=olga, **told)


WRONG = [
    (lambda e: {"entry": 0}, "no entry"),
    (lambda e: {"entry": e.pk + 1}, "one between two accounts of the contest"),
    (lambda e: {"cents": 0}, "nothing"),
    (lambda e: {"cents": 11}, "more than it is"),
    (lambda e: {"reason": " \x00"}, "no reason"),
    (lambda e: {"reason": "x" * 1_001}, "too long a reason"),
]


def test_what_is_refused(olga: User) -> None:
    entry = cast.deposit(10, olga)
    for change, why in WRONG:
        told = {"entry": entry.pk, "cents": 10, "reason": "Twice.", "by": olga, "now": CLOSED} | change(entry)
        assert refused("invalid", correction_ask, **told), why
    assert not Correction.objects.exists()


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_of_two_who_confirm_at_once_one_does(olga: User, olaf: User) -> None:
    asked = correction_ask(entry=cast.deposit(10, olga).pk, cents=10, reason="Twice.", by=olga, now=CLOSED)
    third = factories.user("oona", "organizers")
    assert sorted(refusals_at_once(partial(confirm, asked, olaf), partial(confirm, asked, third))) == [
        "",
        "correction_over",
    ]
    assert balance(ATTACKERS) == 0


# Files and pages ------------------------------------------------------------------------------------------------------


def test_corrections_by_the_pages(olga: User, olaf: User, stan: User, signed_in: SignIn, client: Client) -> None:
    first, address = signed_in(olga), "/organizer/money/corrections/"
    shown = first.get(address).content.decode()
    assert "No correction is under way." in shown and "No money came in or went out yet." in shown
    assert "No team owes anything." in shown
    wrong = cast.deposit(1_000, olga, CLOSED)
    form = first.get(f"{address}?entry={wrong.pk}").content.decode()
    assert f'required value="{wrong.pk}"' in form and 'value="10.00"' in form
    asked = {"entry": wrong.pk, "sum": "10", "reason": "Twice."}
    assert (client.post(address, asked).status_code, signed_in(stan).post(address, asked).status_code) == (302, 404)
    bad = first.post(address, asked | {"sum": "10.01"})
    assert bad.status_code == 400 and "no more than what is left" in bad.content.decode()
    assert first.post(address, asked | {"entry": "x"}).status_code == 400 and not Correction.objects.exists()
    assert "USD 10.00 wait for another organizer" in first.post(address, asked, follow=True).content.decode()
    one = f"{address}{Correction.objects.get().pk}/"
    assert one in first.get("/organizer/money/").content.decode()
    assert "Another organizer compares it" in first.get(one).content.decode() and first.post(one).status_code == 403
    second = signed_in(olaf)
    assert "Confirm the correction" in second.get(one).content.decode()
    assert "are corrected: entry" in second.post(one, follow=True).content.decode()
    assert second.post(one).status_code == 409 and "Posted as entry" in second.get(one).content.decode()
    assert "Correction of a deposit: Twice." in client.get("/money/").content.decode()
    answer = second.get("/organizer/money/receipts.csv").content.decode()
    assert [row[-1] for row in csv.reader(io.StringIO(answer))] == ["corrects", "", str(wrong.pk)]
    last = list(_ledger_rows(week_at(Correction.objects.get().entry.made_at)))[-1]
    assert last[0] == str(Correction.objects.get().entry_id) and str(wrong.pk) in last, "it goes with the release"


def test_what_a_team_gave_back_by_the_pages(owing: Team, olga: User, olaf: User, signed_in: SignIn) -> None:
    first, address = signed_in(olga), "/organizer/money/corrections/"
    assert "red: owes USD 100.01" in first.get(address).content.decode()
    form = {"back": "1", "team": owing.public_id, "back_sum": "100.02", "back_reason": "Wire 9."}
    assert first.post(address, form).status_code == 409
    wrong = first.post(address, form | {"back_sum": "1,2"})
    assert wrong.status_code == 400 and 'id="back_sum-error"' in wrong.content.decode()
    assert first.post(address, form | {"team": "G-0"}).status_code == 400
    first.post(address, form | {"back_sum": "100.01"})
    one = f"{address}{Correction.objects.get().pk}/"
    second = signed_in(olaf)
    assert "called off. Nothing was moved." in second.post(one, {"cancel": "1"}, follow=True).content.decode()
    assert "Called off" in second.get(one).content.decode() and balance(owing) == 0
