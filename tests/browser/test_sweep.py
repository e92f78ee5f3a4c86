"""The sweep before an award in a real browser: the whole of it by keyboard (R37)."""

from collections.abc import Callable
from datetime import timedelta

from django.contrib.auth.models import User
from playwright.sync_api import Page

from contest.core.models import Case, Stake
from labeling.models import Image
from tests import factories
from tests.browser.looking import HIDDEN, SHOWN, Look, follow, organizer, press
from tests.contest.board import cast as board
from tests.contest.ledger import cast


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
    first, done = shown(page), "label[for=examined]"
    # What is drawn goes and comes; a picture is confirmed, passed over and come back to, in a case.
    follow(
        page,
        *[("", done, "0 of 4 confirmed, 0 %"), ("1", ".of-1", HIDDEN), ("b", ".of-box", HIDDEN)],
        ("c", done, "1 of 4 confirmed, 25 %"),
    )
    second = shown(page)
    follow(page, ("j", "#ruled", SHOWN))
    page.wait_for_url("**at=1")
    assert len({first, second, shown(page)}) == 3
    press(page, "k")
    page.wait_for_url(lambda url: "at=1" not in url)
    assert shown(page) == second
    follow(page, ("o", "#sure", SHOWN), ("Escape", "#sure", HIDDEN))
    assert not Case.objects.exists()
    press(page, "o", "Enter")
    page.wait_for_url("**/board/cases/**")
    assert Case.objects.get().image == Image.objects.get(public_id=second)
