"""The pages of money: what they show, to whom, and what their forms do."""

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from contest.awards.settling import prizes_settle
from contest.models import Account, Attack, Case, LedgerEntry, Member, Payment, Team
from contest.money.correcting import correction_ask, correction_confirm
from contest.money.figures import entries
from contest.money.payments import payment_ask, payment_pay
from contest.money.withholding import money_withhold
from tests import factories
from tests.contest.money import cast
from tests.contest.money.cast import PRIZE, SETTLED, balance
from tests.factories import mandate

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]
WHY = "Two accounts of one person."


@pytest.fixture
def olaf(db: None) -> User:
    return factories.user("olaf", "organizers")


@pytest.fixture
def captain(db: None) -> User:
    return factories.user("carl")


@pytest.fixture
def red(olga: User, captain: User) -> Team:
    """Team red, which broke a staked defense in a week whose appeals are closed today."""
    factories.policy_version()
    cast.deposit(4 * PRIZE, olga)
    red = cast.team("red")
    Member.objects.create(team=red, user=captain, captain=True)
    stake = cast.staked(cast.defense("net", cast.team("makers")))
    cast.broken(stake.defense, cast.attack(red))
    cast.ended(stake)
    prizes_settle(now=SETTLED)
    return red


@pytest.fixture(autouse=True)
def after_the_appeals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the pages look from a day when the appeals of the week are closed."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: cast.CLOSED)


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_everybody_sees_where_the_money_is_and_why(red: Team, rita: User, client: Client) -> None:
    of, by = Account.objects.get(team=red), mandate("withhold", rita, SETTLED)
    money_withhold(of=of, cents=500, reason="<b>Two</b> accounts.", by=by, now=SETTLED)
    shown = page(client, "/money/")
    assert "Two" not in shown and red.name not in shown, "it is about money of a week that is not released"
    assert "It follows from a break that is told of with the release" in shown
    cast.released("2026-W47")
    shown = page(client, "/money/")
    assert "USD 200.02" in shown, "the defenders' half"
    assert "USD 95.01" in shown, "the prize of team red, less what is withheld"
    assert "USD 5.00. &lt;b&gt;Two&lt;/b&gt; accounts." in shown
    entry, attack = LedgerEntry.objects.get(target__team=red), red.attacks.get()
    assert f'id="entry-{entry.pk}"' in shown and "R35" in shown and f'href="/attacks/{attack.public_id}/"' in shown
    assert "Share of the attacker prize: net was broken in week 2026-W47." in shown
    Attack.objects.filter(pk=attack.pk).update(received_at=cast.CLOSED)
    assert attack.public_id not in page(client, "/money/"), "of a picture sent again this week no attack is named"


def test_the_ledger_goes_on_over_pages(olga: User, client: Client, django_assert_max_num_queries: Any) -> None:
    cast.deposit(2, olga)
    with django_assert_max_num_queries(20) as few:
        entries(told_at=cast.CLOSED)
    for _ in range(19):
        cast.deposit(2, olga)
    with django_assert_max_num_queries(len(few)):
        entries(told_at=cast.CLOSED)
    first = page(client, "/money/")
    last = LedgerEntry.objects.order_by("-pk")[49].pk
    assert f'href="?before={last}#ledger"' in first and f'id="entry-{last - 1}"' not in first
    assert f'id="entry-{last - 1}"' in page(client, f"/money/?before={last}")
    assert client.get("/money/?before=x").status_code == client.get("/money/?before=9" + "9" * 30).status_code == 200


def test_a_team_sees_its_own_account_and_no_other(
    red: Team, captain: User, tara: Any, signed_in: SignIn, stan: User
) -> None:
    shown = page(signed_in(captain), "/team/money/")
    assert "USD 100.01" in shown and "Share of the attacker prize" in shown
    assert "A gift." not in shown, "deposits are not its entries"
    other = factories.user("bert")
    Member.objects.create(team=Team.objects.get(name="makers"), user=other)
    assert "Share of the attacker prize" not in page(signed_in(other), "/team/money/")
    assert signed_in(stan).get("/team/money/").status_code == 404
    assert signed_in(tara).get("/money/").status_code == 403, "taskers are told nothing of money"


def test_a_deposit_by_the_form_which_keeps_what_was_typed(olga: User, signed_in: SignIn) -> None:
    client = signed_in(olga)
    wrong = [("12,5", "Why.", "like 1234.50"), ("5", " ", "where the money came from"), ("0", "Why.", "more than none")]
    for typed, reason, words in wrong:
        answer = client.post("/organizer/money/", {"sum": typed, "reason": reason})
        shown = answer.content.decode()
        assert (answer.status_code, words in shown, f'value="{typed}"' in shown) == (400, True, True), words
    assert not LedgerEntry.objects.exists()
    answer = client.post("/organizer/money/", {"sum": "1,000.01", "reason": "From the sponsors."}, follow=True)
    assert "USD 1,000.01 came into the pool" in answer.content.decode()
    assert LedgerEntry.objects.order_by("pk")[0].made_by == olga


def test_two_organizers_pay_by_the_pages(red: Team, olga: User, olaf: User, signed_in: SignIn) -> None:
    first, second = signed_in(olga), signed_in(olaf)
    assert red.attacks.get().public_id in page(first, "/organizer/money/"), "who broke what, before the release"
    ask = f"/organizer/money/ask/{red.public_id}/"
    assert "wait for another organizer" in first.post(ask, follow=True).content.decode()
    called_off = first.post(f"/organizer/money/payments/{Payment.objects.get().pk}/", {"cancel": "1"}, follow=True)
    assert "is cancelled. Nothing was moved." in called_off.content.decode() and balance(red) == PRIZE
    first.post(ask)
    payment = Payment.objects.get(cancelled_at=None)
    shown = page(first, "/organizer/money/")
    assert f"Asked for: payment {payment.pk}" in shown and "Ask for payment" not in shown
    address = f"/organizer/money/payments/{payment.pk}/"
    assert "Another organizer transfers it" in page(first, address)
    assert first.post(address, {"reference": "SEPA 7"}).status_code == 403
    assert second.post(address, {"reference": " "}).status_code == 400
    assert "recorded as paid" in second.post(address, {"reference": "SEPA 7"}, follow=True).content.decode()
    assert second.post(address, {"reference": "SEPA 8"}).status_code == 409
    assert balance(red) == 0 and "reference SEPA 7" in page(second, address)
    makers = Team.objects.get(name="makers").public_id
    asked = [first.post(f"/organizer/money/ask/{team}/").status_code for team in (makers, "G-00000")]
    assert asked == [409, 404], "a team without money, and none"


@pytest.mark.parametrize("address", ["/organizer/money/", "/organizer/money/ask/G-00000/", "/board/withheld/"])
def test_a_stranger_posts_nothing(address: str, stan: User, captain: User, signed_in: SignIn, client: Client) -> None:
    assert client.post(address, {"sum": "1"}).status_code == 302
    assert signed_in(stan).post(address, {"sum": "1"}).status_code == 404
    assert not LedgerEntry.objects.exists()


def test_the_files(red: Team, olga: User, signed_in: SignIn) -> None:
    for name, first in (("payables", "team_id"), ("receipts", "entry")):
        answer = signed_in(olga).get(f"/organizer/money/{name}.csv")
        rows = list(csv.reader(io.StringIO(answer.content.decode())))
        assert (rows[0][0], len(rows), {len(row) for row in rows}) == (first, 2, {len(rows[0])})
        assert answer["Content-Disposition"] == f'attachment; filename="{name}-2026-12-26.csv"'


def test_the_organizers_see_that_it_does_not_add_up(red: Team, olga: User, signed_in: SignIn) -> None:
    assert "adds up" in page(signed_in(olga), "/organizer/money/")
    Account.objects.filter(kind="pool").update(balance_cents=7)
    assert "Pay nothing until it does" in page(signed_in(olga), "/organizer/money/")


def test_the_board_withholds_and_gives_back_by_its_page(red: Team, rita: User, signed_in: SignIn) -> None:
    client, of = signed_in(rita), Account.objects.get(team=red).pk
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
    done = client.post("/board/withheld/", {"account": of, "return": "1", "reason": WHY, "do": "move"}, follow=True)
    assert "It is moved to give this back." in done.content.decode()
    factories.carried(Case.objects.get(state="open"), rosa, timezone.now())
    assert balance(red) == PRIZE and "Nothing is withheld." in page(client, "/board/withheld/")


BACK = [(PRIZE, "came back", "of it came back", "all of it"), (2_500, "USD 25.00 of it came back", "", "a part of it")]


@pytest.mark.parametrize(("cents", "words", "never", "why"), BACK, ids=[row[3] for row in BACK])
def test_a_payment_that_came_back_says_how_much_of_it(
    cents: int, words: str, never: str, why: str, red: Team, olga: User, olaf: User, captain: User, signed_in: SignIn
) -> None:
    asked = payment_ask(team=red, by=olga, now=cast.CLOSED)
    paid = payment_pay(payment_id=asked.pk, reference="wire 7", by=olaf, now=cast.CLOSED)
    assert paid.entry is not None
    correction = correction_ask(entry=paid.entry.pk, cents=cents, reason="Sent back.", by=olga, now=cast.CLOSED)
    correction_confirm(correction_id=correction.pk, by=olaf, now=cast.CLOSED)
    shown = [page(signed_in(olga), "/organizer/money/"), page(signed_in(captain), "/team/money/")]
    assert all(words in each and (not never or never not in each) for each in shown), why
    part = "All" if cents == PRIZE else "USD 25.00"
    assert f"{part} of it came back." in page(signed_in(olga), f"/organizer/money/payments/{paid.pk}/")
