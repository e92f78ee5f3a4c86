"""The policy in a real browser: numbers are tried, recorded after a look at what they change, and called back."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from adjudication.services import panels_settle
from contest.policy.selectors import history
from labeling.models import PolicyVersion
from labeling.policy import Policy
from labeling.selectors import forget_versions, policy_in_force
from tests import factories
from tests.browser.looking import SCREENS, too_wide, violations

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
WHY = "A fifth of the picture is enough."


@pytest.fixture(autouse=True)
def ruled(olga: User) -> None:
    """A bird that fills its picture, and one whose box covers about a fifth of it: too small for version 1."""
    forget_versions()
    now = timezone.now()
    shapes: list[dict[str, Any]] = [{}, {"box": (0, 0, 13450, 13450)}]
    for number, shape in enumerate(shapes):
        panel = factories.panel()
        for name in ("tara", "otto", "uma"):
            factories.response(factories.tasker(f"{name}{number}"), panel, **shape)
    assert panels_settle(policy_at=policy_in_force, now=now) == len(shapes)


def test_numbers_are_tried_recorded_and_called_back(olga: User, visit: Callable[..., Page]) -> None:
    page = visit("/organizer/policy/")
    # Tried: what would change is told, and nothing is written.
    page.get_by_role("link", name="Try numbers first").click()
    page.get_by_label("Smallest box").fill("20 %")
    page.get_by_role("button", name="Try on 2 pictures").click()
    expect(page.locator("[data-done] [data-kind=valid]")).to_have_text("1")
    expect(page.locator(".pictures li")).to_have_count(1)
    # Taken over into the form. Without a reason nothing is shown or recorded, and what was typed stays.
    page.get_by_role("link", name="Record these numbers").click()
    expect(page.locator("#min_box_fraction")).to_have_value("20 %")
    page.locator("#appeal_days").fill("9")
    page.get_by_role("button", name="Show what it changes").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was recorded. Correct Reason.")
    page.get_by_role("alert").get_by_role("link", name="Reason").click()
    expect(page.locator("#reason")).to_be_focused()
    page.keyboard.type(WHY)
    expect(page.locator("#appeal_days")).to_have_value("9")
    page.get_by_role("button", name="Show what it changes").click()
    # Looked at.
    expect(page.locator("h1")).to_have_text("What version 2 changes")
    changes = page.locator("table.changes tbody tr")
    expect(changes).to_have_count(2)
    expect(changes.filter(has_text="min_box_fraction").locator("td")).to_contain_text(["R14", "25 %", "20 %"])
    expect(changes.filter(has_text="appeal_days").locator("td")).to_contain_text(["R18", "7 days", "9 days"])
    expect(page.locator("blockquote")).to_have_text(WHY)
    assert PolicyVersion.objects.count() == 1
    page.get_by_role("button", name="Record version 2").click()
    expect(page.get_by_role("status")).to_contain_text("Version 2 is recorded. It holds from ")
    coming = page.get_by_role("region", name="To come")
    expect(coming.locator("#version-2")).to_contain_text("by olga")
    # Called back, with a reason, before it holds.
    expect(coming.get_by_label("Why (it is public)")).to_be_hidden()  # the way back to Reason leads to no other one
    coming.locator("summary", has_text="Call version 2 back").click()
    coming.get_by_label("Why (it is public)").fill("A quarter after all.")
    coming.get_by_role("button", name="Call version 2 back").click()
    expect(page.get_by_role("status")).to_contain_text("Version 2 is called back. Version 3 goes on")
    past = page.get_by_role("region", name="Past, and called back")
    expect(past.locator("#version-2")).to_contain_text("Never in force: version 3 took its place.")
    assert [each.policy for each in history(now=timezone.now())] == [
        Policy(),
        Policy.from_json(Policy().to_json() | {"min_box_fraction": "1/5", "appeal_days": 9}),
        Policy(),
    ]
    # Everybody reads it, without by whom.
    public = visit("/rules/versions/2/", who="")
    expect(public.locator("blockquote")).to_have_text(WHY)
    expect(public.locator("main")).not_to_contain_text("olga")


@pytest.mark.parametrize("screen", SCREENS)
def test_the_pages_are_accessible_and_fit(screen: str, visit: Callable[..., Page]) -> None:
    page = visit("/organizer/policy/new/", screen=screen)
    origin = page.url.partition("/organizer/")[0]
    found = {}

    def look(name: str) -> None:
        page.locator("main details").evaluate_all("(all) => all.forEach((each) => { each.open = true; })")
        expect(page.locator("h1")).to_have_count(1)
        found[name] = violations(page) + too_wide(page)

    page.locator("#panel_size").fill("5")
    page.locator("#time_zone").fill("Nowhere")
    page.get_by_role("button", name="Show what it changes").click()
    look("refused")
    page.locator("#time_zone").fill("Europe/Berlin")
    page.locator("#reason").fill(f"{WHY} {'without_an_end_' * 12}")
    page.get_by_role("button", name="Show what it changes").click()
    look("preview")
    page.get_by_role("button", name="Record version 2").click()
    look("policy")
    for address in ("/organizer/what-if/", "/rules/", "/rules/versions/2/"):
        page.goto(origin + address)
        look(address)
    assert found == dict.fromkeys(found, [])


@pytest.mark.parametrize("address", ["/organizer/policy/", "/organizer/policy/new/", "/organizer/what-if/"])
def test_who_is_no_organizer_is_refused(address: str, visit: Callable[..., Page]) -> None:
    assert visit(address, who="").locator("h1").inner_text() == "Sign in"
    member = factories.user("rita", "review board")
    expect(visit(address, member).locator("h1")).to_have_text("For organizers only")
