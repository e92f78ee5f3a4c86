"""What was recorded wrongly is put right by two organizers (R34); what a team owes is taken, also of one that it was
merged with (R22, R35, R37).
"""

import csv
import io
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from contest.core.enums import AccountKind, StakeEnd
from contest.core.models import Attack, Award, Stake, Team
from contest.core.weeks import week_at
from contest.defenses import staking
from contest.defenses.stake_ends import stakes_end
from contest.ledger.models import Correction, LedgerEntry
from contest.ledger.services import check_ledger_sums, ledger_account, move, pool_deposit
from contest.payments import exports, statements
from contest.payments.corrections import (
    correction_cancel,
    correction_confirm,
    correction_request,
    movement,
    movements,
    owed_by_teams,
    repayment_request,
)
from contest.payments.payable import payable, payables, payables_of
from contest.prizes import settlement
from contest.prizes.forfeits import withholdable
from contest.prizes.sweeps import prizes_settle
from contest.releases.contest_tables import _ledger_rows
from contest.teams.models import AssociationMistake
from tests import factories, tables
from tests.at_once import refusals_at_once
from tests.contest.ledger import cast
from tests.contest.ledger.cast import CLOSED, MONDAY, PRIZE, SETTLED, balance
from tests.contest.pages import lacking, main, words
from tests.contest.prizes.test_awards import NOW, all_met, associated, found_late
from tests.contest.prizes.test_awards import give as award
from tests.refusals import refused

pytestmark = pytest.mark.django_db
ATTACKERS, DEFENDERS, POOL = AccountKind.ATTACKERS, AccountKind.DEFENDERS, AccountKind.POOL


@pytest.fixture(autouse=True)
def nothing_is_lost(db: None) -> object:
    yield
    assert check_ledger_sums().wrong == ()


# A deposit ------------------------------------------------------------------------------------------------------------


@tables.cases(
    "deposits cents left why",
    ((1_000, 1_000), 1_000, (500, 500, 0), "recorded twice"),
    ((1_000,), 100, (450, 450, 0), "too much"),
    ((1_001,), 1_001, (0, 0, 0), "odd, all of it"),
    ((1_001, 1), 1_001, (0, 0, 1), "odd, where another odd one was halved with it"),
    ((1_001,), 1, (500, 500, 0), "the odd cent alone"),
    ((1_000,), 1, (499, 499, 1), "one cent of even halves"),
)
def test_a_deposit_is_taken_back_from_both_halves(
    deposits: tuple[int, ...], cents: int, left: tuple[int, int, int], why: str, olga: User, olaf: User
) -> None:
    wrong = [cast.deposit(each, olga) for each in deposits][0]
    done = cast.corrected(wrong, cents, olga, olaf)
    assert (balance(ATTACKERS), balance(DEFENDERS), balance(POOL)) == left, why
    entry = LedgerEntry.objects.get(pk=done.entry_id)
    assert (entry.corrects, entry.cents, entry.rule, entry.made_by) == (wrong, cents, "R34", olaf)
    assert (entry.why, entry.causes) == ("Correction of a deposit: It came once.", {"correction": [done.pk]})


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
            cast.corrected(row, cents, one, other)
            left -= cents
            assert balance(ATTACKERS) == balance(DEFENDERS) and min(balance(ATTACKERS), balance(POOL)) >= 0
            assert 2 * balance(ATTACKERS) + balance(POOL) == left


def test_a_payment_that_came_back_is_told_and_can_be_made_again(
    red: Team, captain: User, olga: User, olaf: User
) -> None:
    cast.corrected(cast.paid(red, olga, olaf).entry, PRIZE, olga, olaf)
    letter = red.messages.order_by("-pk")[0]
    assert letter.facts["corrected"] and "Correction of a payment: It came once." in str(letter.facts["lines"])
    assert (balance(red), payable(red, now=CLOSED).due) == (PRIZE, PRIZE)
    assert prizes_settle(now=CLOSED) == 0, "it is still the team's"
    cast.corrected(cast.deposit(10, olga), 10, olga, olaf)
    shown = statements.money_overview(told_at=None)
    assert (shown.received, shown.paid) == (4 * PRIZE, 0), "what came in and went out counts once"
    cast.paid(red, olaf, olga)
    assert balance(red) == 0


# A stake's payment ----------------------------------------------------------------------------------------------------


@pytest.fixture
def own(olga: User, red: Team, captain: User) -> Stake:
    """A stake whose payment was meant for another one."""
    asked = staking.stake_request(cast.defense("own", red), by=captain, now=CLOSED)
    return staking.stake_receive(asked, "wire 7", by=olga, now=CLOSED)


def test_a_payment_for_another_stake_is_taken_off(own: Stake, red: Team, olga: User, olaf: User) -> None:
    received = LedgerEntry.objects.get(target__stake=own)
    half, held, blue = balance(ATTACKERS), balance(red), cast.team("blue")
    sent = cast.attack(blue, days=(CLOSED - MONDAY).days + 0.1)
    done = cast.corrected(received, own.cents, olga, olaf)
    own.refresh_from_db()
    assert (own.end, own.ended_at, balance(own)) == (StakeEnd.WITHDRAWN, CLOSED, 0)
    assert LedgerEntry.objects.get(pk=done.entry_id).corrects == received
    (row,) = [row for row in exports.receipt_rows(currency="USD") if row[10]]
    assert (row[2], row[7], row[8], row[10]) == ("correction of received", "red", "wire 7", str(received.pk))
    cast.broken(own.defense, sent)
    assert [prizes_settle(now=CLOSED + timedelta(days)) for days in (0, 30)] == [0, 0]
    assert (balance(ATTACKERS), balance(red), balance(blue)) == (half, held, 0), "nobody is given what never came"


def test_after_a_payment_was_taken_off_its_team_asks_again(own: Stake, captain: User, olga: User, olaf: User) -> None:
    cast.corrected(LedgerEntry.objects.get(target__stake=own), own.cents, olga, olaf)
    again = staking.stake_request(own.defense, by=captain, now=CLOSED)
    staking.stake_receive(again, "wire 8", by=olga, now=CLOSED)
    assert balance(again) == own.cents


def test_one_that_was_broken_meanwhile_pays_who_broke_it(own: Stake, olga: User, olaf: User) -> None:
    received = LedgerEntry.objects.get(target__stake=own)
    asked = correction_request(entry=received.pk, cents=own.cents, reason="Wrong one.", by=olga, now=CLOSED)
    cast.broken(own.defense, cast.attack(cast.team("blue"), days=(CLOSED - MONDAY).days + 0.1))
    refused("stake_over", correction_confirm, correction_id=asked.pk, by=olaf, now=CLOSED + timedelta(9))
    assert balance(own) == own.cents


# What a team gives back -----------------------------------------------------------------------------------------------


@pytest.fixture
def owing(red: Team, olga: User, olaf: User) -> Team:
    """Team red, which was paid and owes all of it since its break was overruled."""
    cast.paid(red, olga, olaf)
    cast.overruled(red.attacks.get().image)
    cast.swept(CLOSED)
    assert [(each.team, each.cents) for each in owed_by_teams()] == [(red, PRIZE)]
    return red


def test_what_a_team_gives_back_is_taken_by_the_next_sweep(owing: Team, olga: User, olaf: User) -> None:
    stake = Stake.objects.get()
    for cents in (PRIZE - 1, 1):
        done = cast.repaid(owing, cents, olga, olaf)
        assert balance(owing) == cents
        prizes_settle(now=CLOSED)
        assert balance(owing) == 0
    assert owed_by_teams() == [] and balance(stake) == PRIZE
    entry = LedgerEntry.objects.get(pk=done.entry_id)
    assert (entry.corrects, entry.why) == (None, "Team red gave back what it owes: Wire 9.")


def test_nobody_gives_back_more_than_is_owed(owing: Team, olga: User, olaf: User) -> None:
    refused("less_owed", repayment_request, team=owing, cents=PRIZE + 1, reason="Wire 9.", by=olga, now=CLOSED)
    asked = repayment_request(team=owing, cents=PRIZE, reason="Wire 9.", by=olga, now=CLOSED)
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
    asked = correction_request(entry=wrong.pk, cents=2, reason="Twice.", by=olga, now=CLOSED)
    assert "another organizer" in refused("same_person", confirm, asked, olga).message
    with pytest.raises(IntegrityError, match="correction_by_two"), transaction.atomic():
        Correction.objects.filter(pk=asked.pk).update(confirmed_by=olga)
    assert "attackers" in refused("not_enough", confirm, asked, olaf).message
    assert (balance(ATTACKERS), balance(DEFENDERS)) == (0, PRIZE), "all of it or nothing"


@pytest.mark.parametrize("first", [confirm, call_off])
def test_one_that_is_over_stays_as_it_is(first: Callable[..., object], olga: User, olaf: User) -> None:
    wrong = cast.deposit(10, olga)
    told = {"entry": wrong.pk, "reason": "Too much.", "now": CLOSED}
    asked = correction_request(cents=4, by=olga, **told)
    refused("correction_open", correction_request, cents=1, by=olaf, **told)
    first(asked, olaf)
    for second in (confirm, call_off):
        refused("correction_over", second, asked, olaf)
    assert wrong.corrections.count() == (first is confirm)
    if first is confirm:
        assert movement(wrong.corrections.get().pk) is None and [each.left for each in movements(5)] == [6]
        refused("invalid", correction_request, cents=7, by=olga, **told)
        cast.corrected(wrong, 6, olga, olaf)
        refused("corrected_before", correction_request, cents=1, by=olga, **told)


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
        assert refused("invalid", correction_request, **told), why
    assert not Correction.objects.exists()


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_of_two_who_confirm_at_once_one_does(olga: User, olaf: User) -> None:
    asked = correction_request(entry=cast.deposit(10, olga).pk, cents=10, reason="Twice.", by=olga, now=CLOSED)
    third = factories.user("oona", "organizers")
    found = refusals_at_once(partial(confirm, asked, olaf), partial(confirm, asked, third))
    assert sorted(found) == ["", "correction_over"] and balance(ATTACKERS) == 0


# Files and pages ------------------------------------------------------------------------------------------------------


def test_corrections_by_the_pages(olga: User, olaf: User, stan: User, signed_in: Any, client: Client) -> None:
    first, address = signed_in(olga), "/organizer/money/corrections/"
    told = ("No correction is under way.", "No money came in or went out yet.", "No team owes anything.")
    assert lacking(words(first, address), *told) == []
    wrong = cast.deposit(1_000, olga, CLOSED)
    form = main(first, f"{address}?entry={wrong.pk}")
    assert f'value="{wrong.pk}"' in form and 'value="10.00"' in form
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
    entry = LedgerEntry.objects.get(corrects=wrong)
    last = list(_ledger_rows(week_at(entry.made_at)))[-1]
    assert last[0] == entry.pk and wrong.pk in last, "it goes with the release"


def test_what_a_team_gave_back_by_the_pages(owing: Team, olga: User, olaf: User, signed_in: Any) -> None:
    first, address = signed_in(olga), "/organizer/money/corrections/"
    assert "red: owes USD 100.01" in first.get(address).content.decode()
    form = {"action": "repay", "back-team": owing.public_id, "back-sum": "100.02", "back-reason": "Wire 9."}
    assert first.post(address, form).status_code == 409
    wrong = [first.post(address, form | other) for other in ({"back-sum": "1,2"}, {"back-team": "G-0"})]
    assert [each.status_code for each in wrong] == [400, 400] and 'id="back-sum_error"' in wrong[0].content.decode()
    first.post(address, form | {"back-sum": "100.01"})
    one, second = f"{address}{Correction.objects.get().pk}/", signed_in(olaf)
    assert "called off. Nothing was moved." in second.post(one, {"cancel": "1"}, follow=True).content.decode()
    assert "Called off" in second.get(one).content.decode() and balance(owing) == 0


LATER = NOW + timedelta(60)


@pytest.fixture
def one(olga: User) -> Team:
    cast.deposit(40 * PRIZE, olga)
    return cast.team("red")


@pytest.fixture
def other(one: Team) -> Team:
    return cast.team("blue")


def merged(team: Team, into: Team) -> None:
    Team.objects.filter(pk=team.pk).update(merged_into=into, merged_at=CLOSED)
    team.refresh_from_db()


def broken_by(team: Team, name: str, at: datetime = MONDAY) -> Stake:
    stake = cast.broken_stake(team, cast.team(f"makers of {name}"), name, at=at, days=(at - MONDAY).days + 1)
    cast.ended(stake, at=at + timedelta(12))
    cast.all_caught_up()
    sweep(at + timedelta(12))
    return stake


def sweep(now: datetime) -> None:
    while prizes_settle(now=now):
        pass


def owes_of_a_stake(one: Team, rita: User) -> None:
    """It was paid for a break that was overruled: the attackers' half advanced it."""
    broken_by(one, "first")
    cast.paid_out(one)
    cast.overruled(one.attacks.get().image)


def owes_of_an_award(one: Team, rita: User) -> None:
    """It won, was paid, and a break was found late."""
    stake = cast.staked(cast.defense("first", one))
    award(all_met(stake), rita)
    cast.paid_out(one)
    found_late(stake, cast.team("green"))


Debt = Callable[[Team, User], None]
DEBTS = [(owes_of_a_stake, AccountKind.ATTACKERS), (owes_of_an_award, AccountKind.DEFENDERS)]
each_debt = pytest.mark.parametrize(("debt", "half"), DEBTS, ids=["of a stake", "of an award"])


@pytest.fixture
def joint_debt(one: Team, other: Team, rita: User, debt: Debt) -> int:
    """Red owes, and is merged into blue before that is known; returns how much."""
    debt(one, rita)
    merged(one, other)
    stakes_end(now=LATER), sweep(LATER)
    (found,) = owed_by_teams()
    assert found.team == other and balance(one) == balance(other) == 0
    return found.cents


def due(*teams: Team) -> int:
    return sum(row.due for row in payables(now=LATER) if row.team in teams)


@each_debt
def test_what_the_one_gives_back_that_is_left_is_taken_for_the_debt(
    debt: Debt, half: AccountKind, one: Team, other: Team, joint_debt: int, olga: User, olaf: User, signed_in: Any
) -> None:
    had = balance(half)
    cast.repaid(other, joint_debt, olga, olaf)
    assert (balance(other), due(one, other)) == (joint_debt, 0), "it is not the team's, and not paid before it is taken"
    sweep(LATER)
    assert (owed_by_teams(), balance(one), balance(other), balance(half)) == ([], 0, 0, had + joint_debt)
    assert LedgerEntry.objects.get(source__team=other, corrects__target__team=one)
    for each in Award.objects.all():
        assert "it has not won" in main(signed_in(olga), f"/board/awards/{each.stake_id}/")
        assert withholdable(each) == 0, "it was paid out"


@each_debt
def test_what_the_other_earns_is_set_off(
    debt: Debt, half: AccountKind, one: Team, other: Team, joint_debt: int
) -> None:
    broken_by(other, "second", at=LATER + timedelta(1))
    now = LATER + timedelta(60)
    sweep(now)
    assert sum(row.cents for row in owed_by_teams()) == max(joint_debt - PRIZE, 0)
    assert [(row.balance, row.due) for row in payables_of(other, now=now)] == [
        (max(PRIZE - joint_debt, 0),) * 2,
        (0, 0),
    ]


def found_broken(winner: Stake) -> Callable[[], object]:
    found_late(winner, cast.team("green"))
    image = Team.objects.get(name="green").attacks.get().image
    return lambda: cast.overruled(image, at=LATER)


def declared_associated(winner: Stake) -> Callable[[], object]:
    declared = associated(Team.objects.get(name="blue"))
    told = {"association": declared, "reason": "Another team.", "declared_at": LATER}
    return lambda: AssociationMistake.objects.create(**told)


@pytest.mark.parametrize("lose", [found_broken, declared_associated])
@pytest.mark.parametrize("paid", [0, 1], ids=["on its account", "paid out"])
def test_what_a_winner_got_more_is_owed_when_the_other_has_not_lost(
    lose: Callable[[Stake], Callable[[], object]], paid: int, one: Team, other: Team, rita: User, olga: User, olaf: User
) -> None:
    both = cast.batch()
    first, second = (cast.staked(cast.defense(of.name, of), of=both) for of in (one, other))
    all_met(second)
    award(all_met(first), rita)
    share = balance(one)
    restore = lose(second)
    sweep(LATER)
    assert (balance(one), balance(other)) == (2 * share, 0)
    if paid:
        cast.paid_out(one)
    restore()
    assert [(each.team, each.stake, each.cents) for each in statements.debts()] == [(one, first, share)] * paid
    sweep(LATER)
    if paid:
        hidden = statements.money_overview(told_at=LATER).debts == ()
        assert (balance(other), hidden) == (0, lose is found_broken), "the other waits; a late break is not told yet"
        cast.released(*{each.week for each in Attack.objects.all()})
        assert statements.money_overview(told_at=LATER).debts == tuple(statements.debts())
        cast.repaid(one, share, olga, olaf)
        sweep(LATER)
    assert (list(statements.debts()), balance(one), balance(other)) == ([], share * (1 - paid), share)
    back = LedgerEntry.objects.filter(corrects__source__kind="defenders", target__kind="defenders").latest("pk")
    assert (back.rule, back.why) == ("R36", "Correction: the award is shared by red, blue, as the facts are now.")


def test_the_account_that_it_came_to_is_drawn_from_first_and_both_are_held(one: Team, other: Team) -> None:
    stake = broken_by(one, "first")
    own, its = (ledger_account(AccountKind.TEAM, team=team) for team in (one, other))
    told = {"causes": {}, "now": CLOSED}
    move(ledger_account(AccountKind.ATTACKERS), its, 500, rule="R35", why="Another.", **told)
    move(own, ledger_account(AccountKind.OUTSIDE), 200, rule="R34", why="Paid.", **told)
    merged(one, other)
    assert {own, its} <= set(settlement.accounts_of(stake, [])) and {own, its} <= set(
        settlement.accounts_of(stake, [other.pk])
    )
    cast.overruled(one.attacks.get().image)
    stakes_end(now=CLOSED), sweep(CLOSED)
    assert (balance(one), balance(other), balance(stake), owed_by_teams()) == (0, 300, PRIZE, [])


def assert_the_books_follow(breakers: list[str], story: list[str], *, both: bool) -> None:
    """What is left and what is owed follow from what was earned and what was paid alone."""
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
            cast.paid_out(teams[which])
            paid += left
        elif what == "overrule" and (both or which == "0"):
            cast.overruled(sent[int(which)].image)
            stakes_end(now=CLOSED)
        elif what == "sweep":
            sweep(CLOSED)
    sweep(CLOSED)
    earned, left = PRIZE * (len(breakers) - 1 - both), balance(teams["red"]) + balance(teams["blue"])
    assert (left, sum(each.cents for each in owed_by_teams())) == (max(earned - paid, 0), max(paid - earned, 0))
    assert sum(row.due for row in payables(now=CLOSED + timedelta(30))) == left
    assert prizes_settle(now=CLOSED) == 0 and check_ledger_sums().wrong == ()


@tables.cases(
    "story both why",
    (["pay red", "merge", "overrule 0", "sweep", "pay blue", "overrule 1", "sweep "], False, "one of two overruled"),
    (["pay red", "pay blue", "merge", "sweep", "sweep ", "overrule 1", "overrule 0"], True, "both, after all is paid"),
    (["overrule 0", "sweep", "pay blue", "merge", "overrule 1", "sweep ", "pay red"], True, "paid after an overrule"),
)
def test_the_books_say_the_same_in_any_order(story: list[str], both: bool, why: str) -> None:
    assert_the_books_follow(["red", "blue"], story, both=both)


@pytest.mark.long("thirty drawn orders of what two teams are paid, merged and lose")
@pytest.mark.both("triggers of the ledger")
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
