"""The policy in a real browser: numbers are tried, recorded after a look at what they change, and called back."""

import re
from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from adjudication.services import panels_settle
from policy.selectors import policy_in_force
from tests import factories
from tests.browser.looking import Look, counts, fill, holds, organizer, push, shows

WHY = "A fifth of the picture is enough."


def made() -> None:
    """A bird that fills its picture, and one whose box covers about a fifth of it: too small for version 1."""
    organizer()
    now = timezone.now()
    shapes: list[dict[str, Any]] = [{}, {"box": (0, 0, 13450, 13450)}]
    for number, shape in enumerate(shapes):
        panel = factories.panel()
        for name in ("tara", "otto", "uma"):
            factories.response(factories.tasker(f"{name}{number}"), panel, **shape)
    assert panels_settle(policy_at=policy_in_force, now=now) == len(shapes)


def pages(_: None) -> list[Look]:
    """Numbers that are refused, looked at, and recorded."""

    def show(page: Page, zone: str, reason: str = "") -> None:
        for name, value in (("panel_size", "5"), ("time_zone", zone)):
            page.get_by_role("searchbox").fill(name)
            fill(page, {f"#{name}": value})
        fill(page, {"#reason": reason})
        push(page, "Show what it changes")
        expect(page.locator("h1")).to_have_count(1)

    def record(page: Page) -> None:
        show(page, "Europe/Berlin", f"{WHY} {'without_an_end_' * 12}")
        push(page, "Record version 2")

    new = "/organizer/policy/new/"
    return [
        ("olga", new, lambda page: show(page, "Nowhere")),
        ("olga", new, lambda page: show(page, "Europe/Berlin", WHY)),
        ("olga", new, record),
        *(("olga", address) for address in ("/organizer/what-if/", "/rules/", "/rules/versions/2/")),
    ]


def test_numbers_are_tried_part_by_part_and_taken_over(transactional_db: None, visit: Callable[..., Page]) -> None:
    """What another smallest box (R14) would have changed."""
    made()
    page = visit("/organizer/what-if/")
    page.get_by_role("textbox", name="Smallest box").fill("20 %")
    parts = "**/organizer/what-if/part/**"
    page.route(parts, lambda route: route.fulfill(status=403))
    push(page, "Try on 2 pictures")
    shows(page, {".status": "The server does not answer, or you are signed out."})
    page.unroute(parts)
    push(page, "Go on")
    shows(page, {"[data-done] [data-kind=valid]": re.compile("^1$"), ".pictures li": counts(1)})
    page.get_by_role("link", name="Record these numbers").click()
    shows(page, {"#min_box_fraction": holds("20 %")})


def test_a_number_is_found_by_its_name_its_rule_and_its_setting(olga: User, visit: Callable[..., Page]) -> None:
    page = visit("/organizer/policy/new/")
    search, numbers = page.get_by_role("searchbox"), page.locator(".number:visible")
    reason = 2  # from when on and why, which are never hidden
    expect(numbers).to_have_count(reason)
    for words, found in (
        ("smallest BOX", "min_box_fraction"),
        ("r14", "min_box_fraction"),
        ("lease_sec", "lease_seconds"),
    ):
        search.fill(words)
        expect(page.locator(f"#{found}")).to_be_visible()
    search.fill("nothing like it")
    shows(page, {".find [role=status]": re.compile("^0 of "), ".fold:visible": counts(0)})
    search.fill("")
    expect(numbers).to_have_count(reason)


def test_a_number_to_correct_is_not_folded_away(olga: User, visit: Callable[..., Page]) -> None:
    page = visit("/organizer/policy/new/?panel_size=x")
    push(page, "Show what it changes")
    page.get_by_role("link", name="Taskers for each picture").click()
    expect(page.locator("#panel_size")).to_be_visible()
    expect(page.locator(".fold[open]")).to_have_count(1)
