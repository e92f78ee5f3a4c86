"""Every page once, as those have it who may: axe finds nothing, and nothing reaches beyond a desk or a phone.

In `make test` in light on a desk, narrowed to a phone's width; in `make test-all` in dark and on a phone as well.
"""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from labeling.models import Tasker
from tests import factories
from tests.browser import (
    money_site,
    team_site,
    test_accounts,
    test_appeals,
    test_attacks,
    test_case,
    test_front,
    test_learning,
    test_my_work,
    test_pages,
    test_policy,
    test_record,
    test_scoring_pages,
    test_stakes,
    test_sweep,
)
from tests.browser.label_desk import SQUARE, Desk
from tests.browser.looking import Look, faults, organizer, violations
from tests.contest.ledger import cast as money

# A contest as it is made, and its pages.
Site = tuple[Callable[[], Any], Callable[[Any], list[Look]]]
SITES: dict[str, Site] = {
    "a contest that has just begun": (organizer, test_pages.empty),
    "accounts": (test_accounts.made, test_accounts.pages),
    "appeals": (test_appeals.made, test_appeals.pages),
    "attacks": (test_attacks.full, list),
    "the board's cases": (test_case.made, test_case.pages),
    "the front": (test_front.made, test_front.pages),
    "learning": (test_learning.made, test_learning.pages),
    "money": (money_site.made, money_site.pages),
    "my work": (test_my_work.made, test_my_work.pages),
    "the overview, and around it": (test_pages.made, test_pages.pages),
    "the policy": (test_policy.made, test_policy.pages),
    "the record": (test_record.made, list),
    "scoring": (test_scoring_pages.with_trials, test_scoring_pages.pages),
    "stakes": (test_stakes.made, test_stakes.pages),
    "the sweep": (test_sweep.made, test_sweep.pages),
    "teams": (team_site.made, team_site.pages),
}
ELSEWHERE = pytest.mark.long("the same pages in other colours, and on a phone")
SEEN = [
    ("desk", ["light"]),
    pytest.param("desk", ["dark"], marks=ELSEWHERE),
    pytest.param("phone", ["light", "dark"], marks=ELSEWHERE),
]


@pytest.mark.parametrize(("screen", "schemes"), SEEN)
@pytest.mark.parametrize("name", SITES)
def test_every_page_is_accessible_and_fits(
    name: str, screen: str, schemes: list[str], transactional_db: None, visit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, pages = SITES[name]
    looks = pages(make())
    if name == "money":
        monkeypatch.setattr("django.utils.timezone.now", lambda: money.SETTLED)
    found, opened = {}, {}
    for who, address, *acts in looks:
        if who not in opened:
            opened[who] = visit(address, who, screen=screen)
        else:
            opened[who].goto("/".join(opened[who].url.split("/")[:3]) + address)
        page: Page = opened[who]
        for act in acts:
            act(page)
        expect(page.locator("h1")).to_have_count(1)
        found[f"{who}: {address}, {len(found)}"] = faults(page, *schemes)
    assert found == dict.fromkeys(found, [])


@pytest.mark.parametrize(("screen", "schemes"), SEEN)
def test_every_state_of_the_labeling_page_is_accessible(
    screen: str, schemes: list[str], pictures: Any, visit: Any
) -> None:
    tara = factories.tasker("tara")
    page: Page = visit("/label/", tara, screen=screen)
    desk = Desk(page, page.url.removesuffix("/label/")).ready()
    states: list[tuple[str, Callable[[], object]]] = [
        ("question 1", lambda: None),
        ("question 2", lambda: desk.press("1")),
        ("question 3", lambda: desk.press("4")),
        ("question 4", lambda: desk.corner(*SQUARE, SQUARE[0])),
        ("nothing to outline", lambda: desk.press("n")),
        ("question 3 with its tick", lambda: page.locator(".question summary").nth(2).click()),
        ("an outline after all", lambda: desk.press("n")),
        ("something missing", lambda: (page.locator(".question summary").nth(3).click(), desk.press("Enter"))),
        ("complete", lambda: desk.press("1", "2", "3")),
        ("instructions", lambda: desk.press("?")),
        ("report", lambda: desk.press("Escape", "r")),
        ("question", lambda: desk.press("Escape", "q")),
        ("receipts", lambda: desk.press("Escape", "v")),
        ("keys", lambda: desk.press("Escape", "k")),
        ("a key to be changed", lambda: page.locator("[data-change=undo]").click()),
        ("more", lambda: (desk.press("Escape", "Escape"), page.click("#open-more"))),
        ("signing in again", lambda: (desk.press("Escape"), page.context.clear_cookies(), desk.submit())),
    ]
    found = {}
    for name, act in states:
        act()
        if name == "signing in again":
            expect(page.locator("#sign-in-dialog")).to_be_visible()
        found[name] = violations(page, *schemes)
    assert found == dict.fromkeys(found, [])


@pytest.mark.parametrize(("screen", "schemes"), SEEN)
def test_pages_around_labeling_are_accessible(screen: str, schemes: list[str], pictures: Any, visit: Any) -> None:
    """For those who may label and those who may not, and the plain form that asks to sign in again."""
    found = {}
    for state in ("qualified", "learning", "paused"):
        for address in ("/label/", "/label/instructions/"):
            who = Tasker.objects.filter(state=state).first() or factories.tasker(state, state=state)
            found[state, address] = faults(visit(address, who, screen=screen), *schemes)
    page = visit("/label/", factories.user("olga", "organizers"), screen=screen)
    expect(page.locator("h1")).to_have_text("This account does not label")
    found["olga"] = faults(page, *schemes)
    page = visit("/label/", "qualified", screen=screen)
    page.context.clear_cookies(name="sessionid")
    page.evaluate("HTMLFormElement.prototype.submit.call(document.querySelector('#label-form'))")
    expect(page.locator("h1")).to_have_text("Sign in again")
    found["signing in again"] = faults(page, *schemes)
    assert found == dict.fromkeys(found, [])
