"""Deposits, the halves of the pool, reserved stakes, the check that no cent is lost (R34), and the pages of money."""

import csv
import io
from datetime import datetime
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from common.errors import Conflict
from contest.core.enums import AccountKind
from contest.core.models import Attack, Case, Member, Team
from contest.ledger import services as ledger
from contest.ledger.amounts import cents_of, money
from contest.ledger.models import Account, LedgerEntry, Payment
from contest.ledger.services import check_ledger_sums, ledger_account, move
from contest.payments import services as payments
from contest.payments import statements
from tests import factories, tables
from tests.contest.ledger import cast
from tests.contest.ledger.cast import PRIZE, SETTLED, balance
from tests.contest.pages import lacking, main, plain
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
    wrong = [
        *((cents, "A gift.", "cents") for cents in (0, -5, 10**14 + 1)),
        *((5, reason, "reason") for reason in (" \x00", "x" * 1001)),
    ]
    for cents, reason, field in wrong:
        assert refused("invalid", ledger.pool_deposit, cents=cents, reason=reason, by=olga, now=now).field == field
    assert not LedgerEntry.objects.exists()
    cast.deposit(10**14, olga, now)
    assert balance(OUTSIDE) == -(10**14), "the largest sum there is"


def test_no_account_gives_more_than_it_has_or_less_than_a_cent(olga: User, now: datetime) -> None:
    cast.deposit(100, olga, now)
    told = {"rule": "R34", "why": "A test.", "causes": {}, "now": now}
    refused("not_enough", move, ledger_account(ATTACKERS), ledger_account(POOL), 51, **told)
    refused("invalid", move, ledger_account(OUTSIDE), ledger_account(POOL), 0, **told)
    assert balance(ATTACKERS) == 50
    cast.deposit(1, olga, now)
    assert balance(POOL) == 1, "one cent waits in the pool"


def test_what_a_team_stakes_comes_from_outside_and_goes_back_to_its_account() -> None:
    factories.policy_version()
    red = cast.team("red")
    stake = cast.staked(cast.defense("own", red), by=red)
    assert (balance(stake), balance(OUTSIDE)) == (PRIZE, -PRIZE)
    entry, nothing = (ledger.stake_refunded(stake, why="Taken back.", now=cast.SETTLED) for _ in range(2))
    assert (entry.rule, entry.why, nothing, balance(stake), balance(red)) == ("R36", "Taken back.", None, 0, PRIZE)


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
    hours = (now, now + ledger.CHECK_EVERY / 2, now + ledger.CHECK_EVERY)
    assert [ledger.ledger_check_periodically(now=each) for each in hours] == [2, 0, 2]


# Properties -----------------------------------------------------------------------------------------------------------


KINDS = st.sampled_from([each for each in AccountKind if each not in (AccountKind.STAKE, AccountKind.TEAM)])


class WhateverMoves(TestCase):
    """Any moves between any accounts: refused or done, the sum is zero and nobody but the outside is below it."""

    @settings(max_examples=25)
    @given(st.lists(st.tuples(KINDS, KINDS, st.integers(1, 500)).filter(lambda row: row[0] != row[1]), max_size=12))
    def test_sums_never_change_and_nobody_is_overdrawn(self, moves: list[tuple[AccountKind, AccountKind, int]]) -> None:
        for source, target, cents in moves:
            try:
                move(
                    ledger_account(source),
                    ledger_account(target),
                    cents,
                    rule="R34",
                    why="A test.",
                    causes={},
                    now=factories.NOW,
                )
            except Conflict as late:
                assert late.code == "not_enough"
        balances = dict(Account.objects.values_list("kind", "balance_cents"))
        assert sum(balances.values()) == 0 and all(cents >= 0 for kind, cents in balances.items() if kind != OUTSIDE)
        assert check_ledger_sums().wrong == ()


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


WHY = "Two accounts of one person."


@pytest.fixture(autouse=True)
def after_the_appeals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the pages look from a day when the appeals of the week are closed."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: cast.CLOSED)


def test_everybody_sees_where_the_money_is_and_why(red: Team, rita: User, client: Client) -> None:
    cast.withheld(red, 500, rita, now=SETTLED, why="<b>Two</b> accounts.")
    shown = main(client, "/money/")
    assert "Two" not in shown and red.name not in shown, "it is about money of a week that is not released"
    assert "It follows from a break that is told of with the release" in shown
    cast.released("2026-W47")
    shown = main(client, "/money/")
    entry, attack = LedgerEntry.objects.get(target__team=red, rule="R35"), red.attacks.get()
    told = ("USD 200.02", "USD 95.01", "USD 5.00. &lt;b&gt;Two&lt;/b&gt; accounts.", f'id="entry-{entry.pk}"', "R35")
    why = "Share of the attacker prize: net was broken in week 2026-W47."
    assert lacking(shown, *told, why, f'href="/attacks/{attack.public_id}/"') == [], "a half, and the prize of team red"
    Attack.objects.filter(pk=attack.pk).update(received_at=cast.CLOSED)
    assert attack.public_id not in main(client, "/money/"), "of a picture sent again this week no attack is named"


def test_the_ledger_goes_on_over_pages(olga: User, client: Client, django_assert_max_num_queries: Any) -> None:
    cast.deposit(2, olga)
    with django_assert_max_num_queries(20) as few:
        statements.entries(told_at=cast.CLOSED)
    for _ in range(19):
        cast.deposit(2, olga)
    with django_assert_max_num_queries(len(few)):
        statements.entries(told_at=cast.CLOSED)
    first, last = main(client, "/money/"), LedgerEntry.objects.order_by("-pk")[49].pk
    assert f'href="?before={last}#ledger"' in first and f'id="entry-{last - 1}"' not in first
    assert f'id="entry-{last - 1}"' in main(client, f"/money/?before={last}")
    assert client.get("/money/?before=x").status_code == client.get("/money/?before=9" + "9" * 30).status_code == 200


def test_a_team_sees_its_own_account_and_no_other(
    red: Team, captain: User, tara: Any, signed_in: Any, stan: User
) -> None:
    shown = main(signed_in(captain), "/team/money/")
    assert "USD 100.01" in shown and "Share of the attacker prize" in shown
    assert "A gift." not in shown, "deposits are not its entries"
    other = factories.user("bert")
    Member.objects.create(team=Team.objects.get(name="makers"), user=other)
    assert "Share of the attacker prize" not in main(signed_in(other), "/team/money/")
    assert signed_in(stan).get("/team/money/").status_code == 404
    assert signed_in(tara).get("/money/").status_code == 403, "taskers are told nothing of money"


def test_a_deposit_by_the_form_which_keeps_what_was_typed(olga: User, signed_in: Any) -> None:
    client = signed_in(olga)
    wrong = [("12,5", "Why.", "like 1234.50"), ("5", " ", "where the money came from"), ("0", "Why.", "more than none")]
    for typed, reason, said in wrong:
        answer = client.post("/organizer/money/", {"sum": typed, "reason": reason})
        assert answer.status_code == 400 and lacking(answer.content.decode(), said, f'value="{typed}"') == []
    assert not LedgerEntry.objects.exists()
    answer = client.post("/organizer/money/", {"sum": "1,000.01", "reason": "From the sponsors."}, follow=True)
    assert "USD 1,000.01 came into the pool" in answer.content.decode()
    assert LedgerEntry.objects.order_by("pk")[0].made_by == olga


def test_a_payment_is_asked_for_and_called_off_by_the_page(red: Team, olga: User, signed_in: Any) -> None:
    client, makers = signed_in(olga), Team.objects.get(name="makers")
    shown = plain(client.post(f"/organizer/money/ask/{red.public_id}/", follow=True))
    payment, sent = Payment.objects.get(), red.attacks.get().public_id  # who broke what, before the release
    assert lacking(shown, "wait for another organizer", f"Asked for: payment {payment.pk}", sent) == []
    assert "Ask for payment" not in shown
    asked = [client.post(f"/organizer/money/ask/{team}/").status_code for team in (makers.public_id, "G-00000")]
    assert asked == [409, 404], "a team without money, and none"
    shown = plain(client.post(f"/organizer/money/payments/{payment.pk}/", {"action": "cancel"}, follow=True))
    assert "is cancelled. Nothing was moved." in shown and balance(red) == PRIZE


def test_another_organizer_pays_by_the_page(red: Team, captain: User, olga: User, olaf: User, signed_in: Any) -> None:
    first, second = signed_in(olga), signed_in(olaf)
    address = f"/organizer/money/payments/{payments.payment_request(team=red, by=olga, now=cast.CLOSED).pk}/"
    assert "Another organizer transfers it" in main(first, address)
    assert first.post(address, {"reference": "SEPA 7"}).status_code == 403
    assert second.post(address, {"reference": " "}).status_code == 400
    paid = plain(second.post(address, {"reference": "SEPA 7"}, follow=True))
    assert "recorded as paid" in paid and "reference SEPA 7" in main(second, address) and balance(red) == 0
    assert second.post(address, {"reference": "SEPA 8"}).status_code == 409
    assert "SEPA 7" in main(signed_in(captain), "/team/money/")


@pytest.mark.parametrize("address", ["/organizer/money/", "/organizer/money/ask/G-00000/", "/board/withheld/"])
def test_a_stranger_posts_nothing(address: str, stan: User, signed_in: Any, client: Client) -> None:
    assert client.post(address, {"sum": "1"}).status_code == 302
    assert signed_in(stan).post(address, {"sum": "1"}).status_code == 404 and not LedgerEntry.objects.exists()


def test_the_files(red: Team, olga: User, signed_in: Any) -> None:
    for name, first in (("payables", "team_id"), ("receipts", "entry")):
        answer = signed_in(olga).get(f"/organizer/money/{name}.csv")
        rows = list(csv.reader(io.StringIO(answer.content.decode())))
        assert (rows[0][0], len(rows), {len(row) for row in rows}) == (first, 2, {len(rows[0])})
        assert answer["Content-Disposition"] == f'attachment; filename="{name}-2026-12-26.csv"'


def test_the_organizers_see_that_it_does_not_add_up(red: Team, olga: User, signed_in: Any) -> None:
    assert "adds up" in main(signed_in(olga), "/organizer/money/")
    Account.objects.filter(kind="pool").update(balance_cents=7)
    assert "Pay nothing until it does" in main(signed_in(olga), "/organizer/money/")


def test_the_board_withholds_and_gives_back_by_its_page(red: Team, rita: User, signed_in: Any) -> None:
    client, of = signed_in(rita), cast.account_of(red).pk
    form = {"account": of, "sum": "7", "reason": WHY, "do": "move"}
    wrong = client.post("/board/withheld/", form | {"reason": " "})
    assert wrong.status_code == 400 and "Give the reason" in wrong.content.decode()
    assert client.post("/board/withheld/", form | {"account": "0"}).status_code == 400
    done = client.post("/board/withheld/", form, follow=True)
    assert "A motion to withhold money: team red. Moved by you, 1 of 2 votes" in done.content.decode()
    assert balance(red) == PRIZE, "one vote is no decision"
    rosa = factories.user("rosa", "review board")
    factories.carried(Case.objects.get(), rosa, timezone.now())
    assert balance(red) == PRIZE - 700
    done = client.post(
        "/board/withheld/", {"account": of, "action": "return", "reason": WHY, "do": "move"}, follow=True
    )
    assert "It is moved to give this back." in done.content.decode()
    factories.carried(Case.objects.get(state="open"), rosa, timezone.now())
    assert balance(red) == PRIZE and "Nothing is withheld." in main(client, "/board/withheld/")


@tables.cases(
    "cents words never why",
    (PRIZE, "came back", "of it came back", "all of it"),
    (2_500, "USD 25.00 of it came back", "", "a part of it"),
)
def test_a_payment_that_came_back_says_how_much_of_it(
    cents: int, words: str, never: str, why: str, red: Team, olga: User, olaf: User, captain: User, signed_in: Any
) -> None:
    paid = cast.paid(red, olga, olaf)
    cast.corrected(paid.entry, cents, olga, olaf)
    shown = [main(signed_in(olga), "/organizer/money/"), main(signed_in(captain), "/team/money/")]
    assert all(words in each and (not never or never not in each) for each in shown), why
    part = "All" if cents == PRIZE else "USD 25.00"
    assert f"{part} of it came back." in main(signed_in(olga), f"/organizer/money/payments/{paid.pk}/")
