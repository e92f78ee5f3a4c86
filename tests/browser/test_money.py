"""Attack to prize and defense to award, in a real browser: two organizers, the board, and what everybody sees."""

from collections.abc import Callable
from datetime import datetime

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from contest.awards.settling import prizes_settle
from contest.models import Account, Case, Correction, LedgerEntry, Member, Stake, Team
from contest.money.correcting import correction_ask
from contest.money.withholding import money_withhold
from tests import factories
from tests.browser.looking import SCREENS, too_wide, violations
from tests.contest.awards.test_awards import NOW, found_late, run_again, sweep
from tests.contest.money import cast
from tests.contest.money.cast import CLOSED, PRIZE, SETTLED, balance
from tests.factories import mandate

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
Visit = Callable[..., Page]


def it_is(moment: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: moment)


@pytest.fixture
def red(olga: User) -> Team:
    red = cast.team("red")
    Member.objects.create(team=red, user=factories.user("carl"), captain=True)
    factories.user("olaf", "organizers")
    factories.user("rita", "review board")
    return red


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


def test_from_90_days_unbroken_to_the_award_and_a_break_found_late(
    red: Team, olga: User, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    it_is(NOW, monkeypatch)
    cast.deposit(4 * PRIZE, olga)
    makers = cast.team("makers of nets")
    stake = cast.staked(cast.defense("A net of three layers", makers))
    cast.ruled(cast.attack(red).image, "")
    cast.ruled(cast.attack(red, days=2).image)
    cast.caught_up(stake.defense)
    page = visit(f"/board/awards/{stake.pk}/", who="rita")
    expect(page.get_by_text("not yet", exact=True)).to_have_count(2)
    expect(page.get_by_text("An award can be decided when every condition is met")).to_be_visible()
    page.get_by_role("link", name="Look at: Every rejected picture examined").click()
    page.get_by_role("button", name="Invalid, as ruled").click()
    expect(page.get_by_role("status")).to_contain_text("is confirmed as invalid")
    run_again(stake)
    page.goto(page.url.split("/board/")[0] + f"/board/awards/{stake.pk}/")
    page.fill("#statement", "Unbroken for 90 days.")
    page.fill("#reason", "Every condition is met.")
    page.get_by_role("button", name="Move to award it").click()
    expect(page.get_by_role("heading", name="As the board will read it")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Move it").click()
    expect(page.get_by_role("status")).to_contain_text("2 votes are needed, and yours is the first.")
    expect(page.get_by_text("Moved by you, 1 of 2 votes")).to_be_visible()
    assert (balance(makers), violations(page)) == (0, [])
    factories.carried(Case.objects.get(), factories.user("ron", "review board"), NOW)
    assert balance(makers) == 2 * PRIZE
    found_late(stake, red)
    sweep()
    page.reload()
    expect(page.get_by_role("heading", name="A break found late changes this award")).to_be_visible()
    assert (balance(makers), balance(red)) == (0, PRIZE)


@pytest.fixture
def full(red: Team, olga: User, monkeypatch: pytest.MonkeyPatch) -> Stake:
    """Every page with something to show."""
    deposit = cast.deposit(9 * PRIZE, olga)
    correction_ask(entry=deposit.pk, cents=7, reason="Mistyped: seven cents too much.", by=olga, now=SETTLED)
    stake = cast.staked(cast.defense("A second net with a rather long name", cast.team("people of another institute")))
    broken_by(red)
    cast.ruled(cast.attack(red, days=2).image, "")
    prizes_settle(now=SETTLED)
    board = User.objects.get(username="rita")
    money_withhold(
        of=Account.objects.get(team=red),
        cents=500,
        reason="Looked at.",
        by=mandate("withhold", board, SETTLED),
        now=SETTLED,
    )
    it_is(NOW, monkeypatch)
    return stake


ADDRESSES = [
    ("/money/", ""),
    ("/organizer/money/", "olga"),
    ("/organizer/money/corrections/", "olga"),
    ("/organizer/money/corrections/{correction}/", "olaf"),
    ("/team/money/", "carl"),
    ("/board/withheld/", "rita"),
    ("/board/awards/", "rita"),
    ("/board/awards/{stake}/", "rita"),
    ("/board/examinations/{defense}/", "rita"),
]


@pytest.mark.parametrize("screen", SCREENS)
def test_the_pages_of_money_are_accessible_and_fit(screen: str, full: Stake, visit: Visit) -> None:
    assert LedgerEntry.objects.exists()
    for address, who in ADDRESSES:
        asked = Correction.objects.get()
        there = address.format(stake=full.pk, defense=full.defense.public_id, correction=asked.pk)
        page = visit(there, screen=screen, who=who)
        assert (violations(page), too_wide(page)) == ([], []), address
