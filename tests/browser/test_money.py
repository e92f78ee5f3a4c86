"""Attack to prize and defense to award, in a real browser: two organizers, the board, and what everybody sees."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from contest.awards.settling import prizes_settle
from contest.models import Account, Correction, LedgerEntry, Member, Stake, Team
from contest.money.correcting import correction_ask
from contest.money.withholding import money_withhold
from tests import factories
from tests.browser.looking import Look, organizer
from tests.contest.money import cast
from tests.contest.money.cast import CLOSED, PRIZE, SETTLED, balance
from tests.factories import mandate

Visit = Callable[..., Page]


def it_is(moment: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: moment)


def made() -> Team:
    """A team and its captain, two organizers and a member of the board."""
    organizer()
    red = cast.team("red")
    Member.objects.create(team=red, user=factories.user("carl"), captain=True)
    factories.user("olaf", "organizers")
    factories.user("rita", "review board")
    return red


@pytest.fixture
def red(made_once: Any) -> Team:
    return made_once(made)


def pages(red: Team) -> list[Look]:
    """Every page with something to show."""
    olga, board = User.objects.get(username="olga"), User.objects.get(username="rita")
    deposit = cast.deposit(9 * PRIZE, olga)
    asked = correction_ask(entry=deposit.pk, cents=7, reason="Mistyped: seven cents too much.", by=olga, now=SETTLED)
    stake = cast.staked(cast.defense("A second net with a rather long name", cast.team("people of another institute")))
    broken_by(red)
    cast.ruled(cast.attack(red, days=2).image, "")
    prizes_settle(now=SETTLED)
    withheld = {"of": Account.objects.get(team=red), "cents": 500, "reason": "Looked at.", "now": SETTLED}
    money_withhold(by=mandate("withhold", board, SETTLED), **withheld)
    assert LedgerEntry.objects.exists()
    return [
        ("", "/money/"),
        ("olga", "/organizer/money/"),
        ("olga", "/organizer/money/corrections/"),
        ("olaf", f"/organizer/money/corrections/{Correction.objects.get(pk=asked.pk).pk}/"),
        ("carl", "/team/money/"),
        ("rita", "/board/withheld/"),
        ("rita", "/board/awards/"),
        ("rita", f"/board/awards/{stake.pk}/"),
        ("rita", f"/board/examinations/{stake.defense.public_id}/"),
    ]


def broken_by(red: Team) -> Stake:
    stake = cast.staked(cast.defense("A net of three layers", cast.team("makers of nets")))
    cast.broken(stake.defense, cast.attack(red))
    return cast.ended(stake)


def test_from_a_deposit_over_a_broken_stake_to_a_payment(
    red: Team, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    it_is(CLOSED, monkeypatch)
    page = visit("/organizer/money/", who="olga")
    page.fill("#sum", "1000")
    page.fill("#deposit ~ form #reason", "From the sponsors.")
    page.get_by_role("button", name="Record the deposit").click()
    expect(page.get_by_role("status")).to_contain_text("USD 1,000.00 came into the pool")
    broken_by(red)
    prizes_settle(now=SETTLED)
    page.reload()
    page.get_by_role("button", name="Ask for payment to team red").click()
    expect(page.get_by_role("status")).to_contain_text("USD 100.01 to team red wait for another organizer")
    page.get_by_role("link", name="Mark as paid, or cancel").click()
    expect(page.get_by_text("Another organizer transfers it")).to_be_visible()
    second = visit(_path(page), who="olaf")
    second.fill("#reference", "SEPA 2026-7")
    second.get_by_role("button", name="Mark as paid").click()
    expect(second.get_by_role("status")).to_contain_text("recorded as paid")
    assert balance(red) == 0
    everybody = visit("/money/", who="")
    expect(everybody.locator("#ledger ~ table tbody tr").first).to_contain_text("told of with the release of its week")
    expect(everybody.locator("main")).not_to_contain_text("team red")
    cast.released("2026-W47")
    everybody.reload()
    expect(everybody.locator("#ledger ~ table tbody tr").first).to_contain_text("Paid to team red")
    own = visit("/team/money/", who="carl")
    expect(own.get_by_text("SEPA 2026-7")).to_be_visible()


def _path(page: Page) -> str:
    return "/" + page.url.split("/", 3)[3]
