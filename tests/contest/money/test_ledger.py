"""Deposits, the halves of the pool, reserved stakes, and the check that no cent is lost (R34)."""

from datetime import datetime
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from common.errors import Conflict
from contest.enums import AccountKind, StakeKind
from contest.models import Account, LedgerEntry, Stake
from contest.money.deposits import pool_deposit
from contest.money.ledger import account, check, move
from contest.money.nightly import CHECK_EVERY, ledger_check_now_and_then
from contest.money.stakes import stake_funded, stake_refunded
from contest.money.words import cents_of, money
from tests import factories
from tests.contest.money import cast
from tests.contest.money.cast import PRIZE, balance
from tests.refusals import refused

pytestmark = pytest.mark.django_db
POOL, OUTSIDE = AccountKind.POOL, AccountKind.OUTSIDE
ATTACKERS, DEFENDERS = AccountKind.ATTACKERS, AccountKind.DEFENDERS


def test_a_deposit_is_halved_and_an_odd_cent_waits_for_another(olga: User, now: datetime) -> None:
    cast.deposit(101, olga, now)
    assert [balance(each) for each in (OUTSIDE, POOL, ATTACKERS, DEFENDERS)] == [-101, 1, 50, 50]
    cast.deposit(101, olga, now)
    assert [balance(each) for each in (OUTSIDE, POOL, ATTACKERS, DEFENDERS)] == [-202, 0, 101, 101]
    deposit = LedgerEntry.objects.order_by("pk")[0]
    halves = LedgerEntry.objects.filter(causes={"ledger_entry": [deposit.pk]})
    assert (deposit.why, deposit.made_by, deposit.rule) == ("A gift.", olga, "R34")
    assert sorted(each.target.kind for each in halves) == ["attackers", "defenders"]


def test_a_deposit_needs_a_sum_and_a_reason(olga: User, now: datetime) -> None:
    wrong = [(0, "A gift.", "cents"), (-5, "A gift.", "cents"), (10**15, "A gift.", "cents"), (5, " \x00", "reason"),
             (5, "x" * 1001, "reason")]  # fmt: skip
    for cents, reason, field in wrong:
        assert refused("invalid", pool_deposit, cents=cents, reason=reason, by=olga, now=now).field == field
    assert not LedgerEntry.objects.exists()


def test_no_account_gives_more_than_it_has_or_less_than_a_cent(olga: User, now: datetime) -> None:
    cast.deposit(100, olga, now)
    told = {"rule": "R34", "why": "A test.", "causes": {}, "now": now}
    refused("not_enough", move, account(ATTACKERS), account(POOL), 51, **told)
    refused("invalid", move, account(OUTSIDE), account(POOL), 0, **told)
    assert balance(ATTACKERS) == 50
    cast.deposit(1, olga, now)
    assert balance(POOL) == 1, "one cent waits in the pool"


def test_the_board_stakes_what_the_attackers_half_has(olga: User) -> None:
    factories.policy_version()
    cast.deposit(2 * PRIZE, olga)
    first = cast.staked(cast.defense("first", cast.team("red")))
    assert (balance(first), balance(ATTACKERS)) == (PRIZE, 0)
    entry = LedgerEntry.objects.get(target__stake=first)
    assert (entry.rule, entry.causes) == ("R32", {"stake": [first.pk]})
    second = Stake(defense=cast.defense("second"), kind=StakeKind.BOARD, cents=1, asked_at=cast.MONDAY)
    second.batch = cast.batch()
    second.save()
    refused("not_enough", stake_funded, second, now=cast.MONDAY)


def test_what_a_team_stakes_comes_from_outside_and_goes_back_to_its_account() -> None:
    factories.policy_version()
    red = cast.team("red")
    stake = cast.staked(cast.defense("own", red), by=red)
    assert (balance(stake), balance(OUTSIDE)) == (PRIZE, -PRIZE)
    entry = stake_refunded(stake, why="Taken back.", now=cast.SETTLED)
    assert entry is not None and (entry.rule, entry.why) == ("R36", "Taken back.")
    assert (balance(stake), balance(red)) == (0, PRIZE)
    assert stake_refunded(stake, why="Taken back.", now=cast.SETTLED) is None, "nothing is left"


# The check ------------------------------------------------------------------------------------------------------------


def test_the_command_says_whether_all_adds_up(olga: User, now: datetime) -> None:
    out, errors = StringIO(), StringIO()
    cast.deposit(100, olga, now)
    call_command("check_ledger", stdout=out)
    assert out.getvalue() == "4 accounts and 3 entries: all of it adds up.\n"
    Account.objects.filter(kind=POOL).update(balance_cents=7)
    with pytest.raises(CommandError, match="2 things are wrong"):
        call_command("check_ledger", stderr=errors)
    assert "shows 7 cents, its entries add up to 0" in errors.getvalue()
    assert "hold 7 cents instead of none" in errors.getvalue()


def test_the_nightly_check_runs_once_a_day(olga: User, now: datetime) -> None:
    cast.deposit(100, olga, now)
    Account.objects.filter(kind=POOL).update(balance_cents=7)
    hours = (now, now + CHECK_EVERY / 2, now + CHECK_EVERY)
    assert [ledger_check_now_and_then(now=each) for each in hours] == [2, 0, 2]


# Properties -----------------------------------------------------------------------------------------------------------


KINDS = st.sampled_from([each for each in AccountKind if each not in (AccountKind.STAKE, AccountKind.TEAM)])


class WhateverMoves(TestCase):
    """Any moves between any accounts: refused or done, the sum is zero and nobody but the outside is below it."""

    @settings(max_examples=25)
    @given(st.lists(st.tuples(KINDS, KINDS, st.integers(1, 500)).filter(lambda row: row[0] != row[1]), max_size=12))
    def test_sums_never_change_and_nobody_is_overdrawn(self, moves: list[tuple[AccountKind, AccountKind, int]]) -> None:
        for source, target, cents in moves:
            try:
                move(account(source), account(target), cents, rule="R34", why="A test.", causes={}, now=factories.NOW)
            except Conflict as late:
                assert late.code == "not_enough"
        balances = dict(Account.objects.values_list("kind", "balance_cents"))
        assert sum(balances.values()) == 0
        assert all(cents >= 0 for kind, cents in balances.items() if kind != OUTSIDE)
        assert check().wrong == ()


# Words ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "cents"),
    [
        ("1234.50", 123_450), ("1,234.50", 123_450), ("1234.5", 123_450), ("0.01", 1), (" 7 ", 700), ("1,23", None),
        ("1.234,50", None), ("-5", None), ("1e3", None), ("", None), ("٣", None), ("1.005", None),
    ],
)  # fmt: skip
def test_a_typed_sum_is_read_exactly_or_not_at_all(typed: str, cents: int | None) -> None:
    assert cents_of(typed) == cents


@pytest.mark.parametrize(("cents", "words"), [(123_450, "USD 1,234.50"), (1, "USD 0.01"), (-105, "−USD 1.05")])
def test_a_sum_in_words(cents: int, words: str) -> None:
    assert money(cents, "USD") == words
