"""What was recorded wrongly is put right by two organizers, by one more entry, and never below zero (R34)."""

import csv
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connections, transaction
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from common.errors import Conflict, DomainError, InvalidInput, NotAllowed
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
from tests.contest.money import cast
from tests.contest.money.cast import CLOSED, MONDAY, PRIZE, SETTLED, balance

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

    @settings(max_examples=20)
    @given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.data())
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


def test_no_half_falls_below_zero(olga: User, olaf: User) -> None:
    wrong = cast.deposit(2 * PRIZE, olga)
    cast.staked(cast.defense("net", cast.team("makers")))
    asked = correction_ask(entry=wrong.pk, cents=2, reason="Twice.", by=olga, now=CLOSED)
    with pytest.raises(Conflict) as refused:
        correction_confirm(correction_id=asked.pk, by=olaf, now=CLOSED)
    assert refused.value.code == "not_enough" and "attackers" in refused.value.message
    assert (balance(ATTACKERS), balance(DEFENDERS)) == (0, PRIZE), "all of it or nothing"


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


def test_a_payment_that_came_back_can_be_made_again(red: Team, olga: User, olaf: User) -> None:
    gone = paid(red, olga, olaf)
    corrected(gone, PRIZE, olga, olaf)
    assert (balance(red), payable(red, now=CLOSED).due) == (PRIZE, PRIZE)
    assert prizes_settle(now=CLOSED) == 0, "it is still the team's"
    paid(red, olaf, olga)
    assert balance(red) == 0


def test_what_came_in_and_went_out_counts_each_once(red: Team, olga: User, olaf: User) -> None:
    gone, twice = paid(red, olga, olaf), cast.deposit(10, olga)
    corrected(gone, PRIZE, olga, olaf), corrected(twice, 10, olga, olaf)
    shown = money_figures(told_at=None)
    assert (shown.received, shown.paid) == (4 * PRIZE, 0)


def test_a_team_is_told_that_its_payment_came_back(red: Team, olga: User, olaf: User) -> None:
    carl = factories.user("carl")
    carl.email = "carl@example.org"
    carl.save()
    Member.objects.create(team=red, user=carl, captain=True)
    corrected(paid(red, olga, olaf), PRIZE, olga, olaf)
    letter = red.messages.order_by("-pk")[0]
    assert letter.facts["corrected"] and "Correction of a payment: It came once." in str(letter.facts["lines"])


# A stake's payment ----------------------------------------------------------------------------------------------------


@pytest.fixture
def own(olga: User, red: Team) -> Stake:
    """A stake whose payment was meant for another one."""
    Member.objects.create(team=red, user=factories.user("carl"), captain=True)
    asked = services.stake_ask(cast.defense("own", red), by=User.objects.get(username="carl"), now=CLOSED)
    return services.stake_receive(asked, "wire 7", by=olga, now=CLOSED)


def test_a_payment_for_another_stake_is_taken_off(own: Stake, red: Team, olga: User, olaf: User) -> None:
    received = LedgerEntry.objects.get(target__stake=own)
    half, held = balance(ATTACKERS), balance(red)
    done = corrected(received, own.cents, olga, olaf)
    own.refresh_from_db()
    assert (own.end, own.ended_at, balance(own)) == (StakeEnd.WITHDRAWN, CLOSED, 0)
    assert LedgerEntry.objects.get(pk=done.entry_id).corrects == received
    for days in (0, 30):
        assert prizes_settle(now=CLOSED + timedelta(days)) == 0
    assert (balance(ATTACKERS), balance(red)) == (half, held), "nobody is given what never came"
    again = services.stake_ask(own.defense, by=User.objects.get(username="carl"), now=CLOSED)
    services.stake_receive(again, "wire 8", by=olga, now=CLOSED)
    assert balance(again) == own.cents


def test_a_break_pays_nothing_of_a_stake_whose_payment_was_taken_off(
    own: Stake, red: Team, olga: User, olaf: User
) -> None:
    sent = cast.attack(cast.team("blue"), days=(CLOSED - MONDAY).days + 0.1)
    corrected(LedgerEntry.objects.get(target__stake=own), own.cents, olga, olaf)
    cast.broken(own.defense, sent)
    half = balance(ATTACKERS)
    prizes_settle(now=CLOSED + timedelta(30))
    assert (balance(Team.objects.get(name="blue")), balance(ATTACKERS)) == (0, half)


def test_one_that_was_broken_meanwhile_pays_who_broke_it(own: Stake, olga: User, olaf: User) -> None:
    received = LedgerEntry.objects.get(target__stake=own)
    asked = correction_ask(entry=received.pk, cents=own.cents, reason="Wrong one.", by=olga, now=CLOSED)
    cast.broken(own.defense, cast.attack(cast.team("blue"), days=(CLOSED - MONDAY).days + 0.1))
    with pytest.raises(Conflict) as refused:
        correction_confirm(correction_id=asked.pk, by=olaf, now=CLOSED + timedelta(9))
    assert refused.value.code == "stake_over" and balance(own) == own.cents


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
    with pytest.raises(Conflict) as refused:
        repayment_ask(team=owing, cents=PRIZE + 1, reason="Wire 9.", by=olga, now=CLOSED)
    assert refused.value.code == "less_owed"
    asked = repayment_ask(team=owing, cents=PRIZE, reason="Wire 9.", by=olga, now=CLOSED)
    cast.overruled(owing.attacks.get().image, label="bird")
    stakes_end(now=CLOSED)
    with pytest.raises(Conflict) as refused:
        correction_confirm(correction_id=asked.pk, by=olaf, now=CLOSED)
    assert refused.value.code == "less_owed", "the break stands again"


# Two organizers -------------------------------------------------------------------------------------------------------


def test_never_the_same_one(olga: User) -> None:
    asked = correction_ask(entry=cast.deposit(10, olga).pk, cents=10, reason="Twice.", by=olga, now=CLOSED)
    with pytest.raises(NotAllowed, match="another organizer"):
        correction_confirm(correction_id=asked.pk, by=olga, now=CLOSED)
    with pytest.raises(IntegrityError, match="correction_by_two"), transaction.atomic():
        Correction.objects.filter(pk=asked.pk).update(confirmed_by=olga)
    assert balance(ATTACKERS) == 5


def confirm(row: Correction, by: User) -> object:
    return correction_confirm(correction_id=row.pk, by=by, now=CLOSED)


def call_off(row: Correction, by: User) -> object:
    return correction_cancel(correction_id=row.pk, by=by, now=CLOSED)


@pytest.mark.parametrize("first", [confirm, call_off])
@pytest.mark.parametrize("second", [confirm, call_off])
def test_one_that_is_over_stays_as_it_is(
    first: Callable[..., object], second: Callable[..., object], olga: User, olaf: User
) -> None:
    wrong = cast.deposit(10, olga)
    asked = correction_ask(entry=wrong.pk, cents=4, reason="Too much.", by=olga, now=CLOSED)
    with pytest.raises(Conflict) as refused:
        correction_ask(entry=wrong.pk, cents=1, reason="Too much.", by=olaf, now=CLOSED)
    assert refused.value.code == "correction_open"
    first(asked, olaf)
    with pytest.raises(Conflict) as refused:
        second(asked, olaf)
    assert refused.value.code == "correction_over"
    assert wrong.corrections.count() == (first is confirm)


WRONG = [
    (lambda e: {"entry": 0}, InvalidInput, "no entry"),
    (lambda e: {"entry": e.pk + 1}, InvalidInput, "one between two accounts of the contest"),
    (lambda e: {"cents": 0}, InvalidInput, "nothing"),
    (lambda e: {"cents": 11}, InvalidInput, "more than it is"),
    (lambda e: {"reason": " \x00"}, InvalidInput, "no reason"),
    (lambda e: {"reason": "x" * 1_001}, InvalidInput, "too long a reason"),
]


@pytest.mark.parametrize(("change", "error", "why"), WRONG, ids=[row[2] for row in WRONG])
def test_what_is_refused(
    change: Callable[..., dict[str, object]], error: type[DomainError], why: str, olga: User
) -> None:
    entry = cast.deposit(10, olga)
    asked = {"entry": entry.pk, "cents": 10, "reason": "Twice.", "by": olga, "now": CLOSED} | change(entry)
    with pytest.raises(error):
        correction_ask(**asked)  # type: ignore[arg-type]
    assert not Correction.objects.exists()


def test_nothing_is_taken_back_twice_and_no_correction_corrected(olga: User, olaf: User) -> None:
    wrong = cast.deposit(10, olga)
    done = corrected(wrong, 6, olga, olaf)
    assert movement(done.entry_id or 0) is None and [each.left for each in movements(5)] == [4]
    with pytest.raises(InvalidInput):
        correction_ask(entry=wrong.pk, cents=5, reason="Twice.", by=olga, now=CLOSED)
    corrected(wrong, 4, olga, olaf)
    with pytest.raises(Conflict) as refused:
        correction_ask(entry=wrong.pk, cents=1, reason="Twice.", by=olga, now=CLOSED)
    assert refused.value.code == "corrected_before"


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_of_two_who_confirm_at_once_one_does(olga: User, olaf: User) -> None:
    asked = correction_ask(entry=cast.deposit(10, olga).pk, cents=10, reason="Twice.", by=olga, now=CLOSED)
    third, together = factories.user("oona", "organizers"), Barrier(2)

    def at_once(by: User) -> bool:
        together.wait()
        try:
            confirm(asked, by)
            return True
        except DomainError:
            return False
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(at_once, [olaf, third])) == [False, True]
    assert balance(ATTACKERS) == 0


# Files and pages ------------------------------------------------------------------------------------------------------


def test_the_file_tells_corrections_apart(red: Team, own: Stake, olga: User, olaf: User) -> None:
    gone = paid(red, olga, olaf)
    corrected(gone, PRIZE, olga, olaf), corrected(LedgerEntry.objects.get(target__stake=own), own.cents, olga, olaf)
    rows = {row[0]: row for row in receipt_rows(currency="USD")}
    of_paid, of_received = (row for row in rows.values() if row[10])
    assert (of_paid[2], of_paid[7], of_paid[10]) == ("correction of paid", "red", str(gone.pk))
    assert (of_received[2], of_received[7], of_received[8]) == ("correction of received", "red", "wire 7")
    assert rows[str(gone.pk)][2] == "paid"


def test_corrections_by_the_pages(olga: User, olaf: User, signed_in: SignIn, client: Client) -> None:
    first = signed_in(olga)
    shown = first.get("/organizer/money/corrections/").content.decode()
    assert "No correction is under way." in shown and "No money came in or went out yet." in shown
    assert "No team owes anything." in shown
    wrong = cast.deposit(1_000, olga)
    form = first.get(f"/organizer/money/corrections/?entry={wrong.pk}").content.decode()
    assert f'name="entry" inputmode="numeric" autocomplete="off" maxlength="18" required value="{wrong.pk}"' in form
    assert 'value="10.00"' in form
    bad = first.post("/organizer/money/corrections/", {"entry": wrong.pk, "sum": "10.01", "reason": "Twice."})
    assert bad.status_code == 400 and "no more than what is left" in bad.content.decode()
    assert first.post("/organizer/money/corrections/", {"entry": "x", "sum": "1", "reason": "a"}).status_code == 400
    done = first.post(
        "/organizer/money/corrections/", {"entry": wrong.pk, "sum": "10", "reason": "Twice."}, follow=True
    )
    assert "USD 10.00 wait for another organizer" in done.content.decode()
    address = f"/organizer/money/corrections/{Correction.objects.get().pk}/"
    assert address in first.get("/organizer/money/").content.decode()
    assert "Another organizer compares it" in first.get(address).content.decode()
    assert first.post(address).status_code == 403
    second = signed_in(olaf)
    assert "Confirm the correction" in second.get(address).content.decode()
    assert "are corrected: entry" in second.post(address, follow=True).content.decode()
    assert second.post(address).status_code == 409 and "Posted as entry" in second.get(address).content.decode()
    assert "Correction of a deposit: Twice." in client.get("/money/").content.decode()
    answer = second.get("/organizer/money/receipts.csv").content.decode()
    assert [row[-1] for row in csv.reader(io.StringIO(answer))] == ["corrects", "", str(wrong.pk)]


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


def test_a_payment_that_came_back_is_told(red: Team, olga: User, olaf: User, signed_in: SignIn) -> None:
    carl = factories.user("carl")
    Member.objects.create(team=red, user=carl, captain=True)
    corrected(paid(red, olga, olaf), PRIZE, olga, olaf)
    assert "came back" in signed_in(carl).get("/team/money/").content.decode()
    assert ", came back" in signed_in(olga).get("/organizer/money/").content.decode()


def test_a_stranger_corrects_nothing(stan: User, olga: User, signed_in: SignIn, client: Client) -> None:
    entry = cast.deposit(10, olga)
    form = {"entry": entry.pk, "sum": "0.10", "reason": "Mine."}
    assert client.post("/organizer/money/corrections/", form).status_code == 302
    assert signed_in(stan).post("/organizer/money/corrections/", form).status_code == 404
    assert not Correction.objects.exists()


def test_a_correction_goes_with_the_release(olga: User, olaf: User) -> None:
    wrong = cast.deposit(10, olga, CLOSED)
    corrected(wrong, 10, olga, olaf)
    last = list(_ledger_rows(week_at(CLOSED)))[-1]
    assert last[0] == str(Correction.objects.get().entry_id) and str(wrong.pk) in last
