"""The sweep before an award in a real browser: the whole of it by keyboard (R37)."""

from collections.abc import Callable
from datetime import timedelta

from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from contest.models import Case, Stake
from tests import factories
from tests.browser.looking import Look, organizer, press
from tests.contest.board import cast as board
from tests.contest.money import cast


def made() -> Stake:
    """A defense at stake whose time saw four rejected pictures, each of answers that were not sure."""
    cast.deposit(4 * cast.PRIZE, organizer())
    stake, red = cast.staked(cast.defense("net", cast.team("makers"))), cast.team("red")
    for number in range(4):
        sent = cast.MONDAY + timedelta(days=1, hours=number)
        image = factories.image(origin="attack", received_at=sent, label_from=board.RULED - timedelta(days=2))
        cast.attack(red, days=1 + number / 24, image=image)
        panel = factories.panel(image, dealt_at=board.RULED - timedelta(days=1))
        board.answers(panel, board.SURE, board.SURE, board.UNSURE)
        board.rule(panel)
    return stake


def pages(stake: Stake) -> list[Look]:
    return [(factories.user("rita", "review board"), f"/board/examinations/{stake.defense.public_id}/")]


def shown(page: Page) -> str:
    return page.locator("#sweep [name=image]").input_value()


def test_the_whole_sweep_by_keyboard(rita: User, visit: Callable[..., Page]) -> None:
    stake = made()
    page = visit(f"/board/examinations/{stake.defense.public_id}/", rita)
    expect(page.locator("label[for=examined]")).to_have_text("0 of 4 confirmed, 0 %")
    first = shown(page)
    # What is drawn goes and comes.
    press(page, "1")
    expect(page.locator(".of-1")).to_be_hidden()
    expect(page.locator("#spoken")).to_contain_text("hidden")
    press(page, "b")
    expect(page.locator(".of-box")).to_be_hidden()
    # Confirmed, passed over and come back to, in a case.
    press(page, "c")
    expect(page.locator("label[for=examined]")).to_have_text("1 of 4 confirmed, 25 %")
    second = shown(page)
    press(page, "j")
    expect(page.locator("#ruled")).to_be_visible()
    page.wait_for_url("**at=1")
    third = shown(page)
    assert len({first, second, third}) == 3
    press(page, "k")
    page.wait_for_url(lambda url: "at=1" not in url)
    assert shown(page) == second
    press(page, "o")
    expect(page.locator("#sure")).to_be_visible()
    press(page, "Escape")
    expect(page.locator("#sure")).to_be_hidden()
    assert not Case.objects.exists()
    press(page, "o")
    press(page, "Enter")
    page.wait_for_url("**/board/cases/**")
    case = Case.objects.get()
    assert case.image is not None and case.image.public_id == second
