"""Cases of the board in a real browser: disclosed, looked at and voted on by keyboard, confirmed by a second member."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import BrowserContext, Page, expect

from common.models import UserSession
from contest.enums import CaseState, ConflictKind, VoteChoice
from contest.models import Case, Conflict, Disclosure, Vote
from tests import factories
from tests.browser.looking import SCREENS, press, signed_in, too_wide, violations
from tests.contest.board import case_cast, cast
from tests.contest.board.cast import WHY, Scene

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def rich(olga: User) -> tuple[Scene, Case]:
    """A case with two sides, marks, a settled one like it, and a motion beside it."""
    return case_cast.rich()


def base(case: Case, part: str = "") -> str:
    return f"/board/cases/{case.public_id}/{part}"


def test_one_member_discloses_looks_and_votes_by_keyboard_and_a_second_confirms(
    rich: tuple[Scene, Case], visit: Callable[..., Page]
) -> None:
    scene, case = rich
    first, second, _ = scene.members
    page = visit("/board/", first)
    page.get_by_role("link", name=case.public_id).click()
    expect(page.locator("h1")).to_have_text(f"Before case {case.public_id} opens")
    expect(page.locator("main")).not_to_contain_text(scene.image.public_id)
    for choice in page.get_by_label("Nothing ties me to this team").all():
        choice.check()
    page.get_by_role("button", name="Record and go on").click()
    expect(page.locator("h1")).to_contain_text(scene.image.public_id)
    # The outlines.
    outline, box = page.locator(".of-2"), page.locator(".of-box")
    expect(outline).to_be_visible()
    press(page, "2")
    expect(outline).to_be_hidden()
    expect(page.locator("#spoken")).to_contain_text("hidden")
    press(page, "2")
    expect(outline).to_be_visible()
    press(page, "b")
    expect(box).to_be_hidden()
    press(page, "0")
    expect(page.locator(".outline:visible")).to_have_count(0)
    press(page, "0")
    expect(page.locator(".outline:visible")).to_have_count(3)
    # The keys are told.
    press(page, "?")
    expect(page.locator("#keys")).to_be_visible()
    press(page, "Escape")
    # The vote: chosen, asked for, sent.
    press(page, "o")
    expect(page.get_by_label("valid, a bird")).to_be_visible()
    page.get_by_label("valid, a bird").check()
    press(page, "Enter")
    expect(page.locator("#sure-words")).to_have_text("overrule: valid, a bird")
    press(page, "Escape")
    assert not Vote.objects.filter(case=case).exists()
    page.get_by_label("valid, a bird").focus()
    press(page, "Enter")
    press(page, "Enter")
    expect(page.get_by_role("status").first).to_contain_text("Your vote is recorded: overrule (valid, a bird)")
    expect(page.locator("#vote")).to_have_text("Your vote: overrule (valid, a bird)")
    # The second one votes the same, and confirms.
    cast.tell(case, second)
    other = visit(base(case), second)
    expect(other.locator("main")).not_to_contain_text("(yours)")
    other.get_by_label("Overrule").check()
    other.get_by_label("valid, a bird").check()
    other.locator("summary", has_text="Your own words").click()
    other.locator("#words").fill("The wing is folded, not hidden.")
    other.get_by_label("Publish them").check()
    other.get_by_role("button", name="Vote").click()
    other.locator("#sure").get_by_role("button", name="Send").click()
    other.get_by_role("button", name="See what follows").click()
    expect(other.locator("main")).to_contain_text("A ruling of the board is appended")
    other.locator("#explanation").fill(f"{WHY}\n\nIt is <b>one</b> bird.")
    expect(other.locator(".preview blockquote:visible p")).to_have_text(
        [WHY, "It is <b>one</b> bird.", "The wing is folded, not hidden."]
    )
    other.get_by_role("button", name="Confirm").click()
    expect(other.locator(".public-decision")).to_contain_text("overruled, and the picture is valid, a bird.")
    expect(other.locator(".public-decision blockquote:visible p")).to_have_text(
        [WHY, "It is <b>one</b> bird.", "The wing is folded, not hidden."]
    )
    assert Case.objects.get(pk=case.pk).state == CaseState.CLOSED


def test_who_steps_aside_says_why_and_is_led_away(rich: tuple[Scene, Case], visit: Callable[..., Page]) -> None:
    scene, case = rich
    page = visit(base(case), scene.members[0])
    blue = page.locator("fieldset.tie").filter(has_text="Team blue")
    expect(blue.get_by_label("What ties you to it")).to_be_hidden()
    blue.get_by_label("I step aside").check()
    blue.get_by_label("What ties you to it").select_option("advisor")
    page.locator("fieldset.tie").filter(has_text="Team red").get_by_label("Nothing ties me").check()
    page.get_by_role("button", name="Record and go on").click()
    expect(page.get_by_role("status")).to_contain_text("You stepped aside")
    assert Conflict.objects.get().kind == ConflictKind.ADVISOR and not Disclosure.objects.filter(case=case).exists()


def test_everything_works_without_a_script(rich: tuple[Scene, Case], visit: Callable[..., Page]) -> None:
    scene, case = rich
    for member in scene.members[:2]:
        cast.tell(case, member)
    cast.vote(case, scene.members[1], VoteChoice.UPHOLD)
    page = visit(base(case), scene.members[0], java_script_enabled=False)
    page.locator("#show-1").uncheck()
    expect(page.locator(".of-1")).to_be_hidden()
    expect(page.locator("kbd:visible")).to_have_count(0)
    page.get_by_label("Uphold").check()
    page.get_by_role("button", name="Vote").click()
    page.get_by_role("button", name="See what follows").click()
    page.locator("#explanation").fill("It stands.")
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("status").filter(has_text="This is how everybody will read it")).to_be_visible()
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator(".public-decision")).to_contain_text("the ruling is upheld")


@pytest.mark.parametrize("screen", SCREENS)
def test_the_pages_are_accessible_and_fit(screen: str, rich: tuple[Scene, Case], visit: Callable[..., Page]) -> None:
    scene, case = rich
    mia, other, third = scene.members
    motion, new = case_cast.motion(scene, other, scene.blue), case_cast.another(scene)
    for each in (case, motion):
        cast.tell(each, mia)
    cast.vote(case, third, VoteChoice.UPHOLD, words="It is good as it is.", public=True)
    cast.vote(case, mia, cast.OVERRULE_REJECTED)
    cast.conflict(third, scene.red)
    closed = Case.objects.get(state=CaseState.CLOSED)
    pages = {
        "list": ("/board/?state=all", mia),
        "disclosure": (base(new), mia),
        "case": (base(case), mia),
        "decision": (base(case, "decide/"), mia),
        "settled": (base(closed), mia),
        "motion": (base(motion), mia),
        "conflicts": ("/board/conflicts/", third),
        "registry": ("/organizer/conflicts/", "olga"),
    }
    found = {}
    for name, (address, who) in pages.items():
        page = visit(address, who, screen=screen)
        page.locator("main details").evaluate_all("(all) => all.forEach((each) => { each.open = true; })")
        expect(page.locator("h1")).to_have_count(1)
        found[name] = violations(page) + too_wide(page)
        page.close()
    assert found == dict.fromkeys(pages, [])


def test_the_picture_and_the_vote_stand_on_a_laptop_without_scrolling_and_each_pixel_is_whole(
    rich: tuple[Scene, Case], visit: Callable[..., Page]
) -> None:
    scene, case = rich
    cast.tell(case, scene.members[0])
    page: Any = visit(base(case), scene.members[0])
    for part in ("#picture", "#vote-send"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= 768, part
    assert page.locator("#picture").evaluate("(each) => each.getBoundingClientRect().width") == 2 * 299
    phone: Any = visit(base(case), scene.members[0], screen="phone")
    assert phone.locator("#picture").evaluate("(each) => each.getBoundingClientRect().width") == 299
    assert page.locator("#picture image").evaluate("(each) => getComputedStyle(each).imageRendering") == "pixelated"


def test_on_paper_there_is_the_case_and_no_form(rich: tuple[Scene, Case], visit: Callable[..., Page]) -> None:
    scene, case = rich
    cast.tell(case, scene.members[0])
    page: Any = visit(base(case), scene.members[0])
    page.emulate_media(media="print")
    for shown in ("#picture", ".answers", ".certificate", ".argument"):
        expect(page.locator(shown).first).to_be_visible()
    for hidden in ("#vote-form", ".case-nav", ".site-header nav"):
        expect(page.locator(hidden)).to_be_hidden()


def test_the_keys_lead_from_case_to_case(rich: tuple[Scene, Case], visit: Callable[..., Page]) -> None:
    scene, case = rich
    later = case_cast.another(scene)
    for each in (case, later):
        cast.tell(each, scene.members[0])
    page = visit(base(case), scene.members[0])
    press(page, "j")
    expect(page.locator("h1")).to_contain_text(later.public_id)
    press(page, "k")
    expect(page.locator("h1")).to_contain_text(case.public_id)
    page.locator("summary", has_text="Your own words").click()
    page.locator("#words").fill("")
    page.locator("#words").press_sequentially("umo0?j")
    expect(page.locator("#words")).to_have_value("umo0?j")
    expect(page).to_have_url(re.compile(case.public_id))


def test_a_vote_outlives_a_sign_in_and_is_forgotten_once_it_is_cast(
    rich: tuple[Scene, Case], browser: Callable[..., BrowserContext]
) -> None:
    scene, case = rich
    member = scene.members[0]
    cast.tell(case, member)
    page = signed_in(browser(), member.username)
    page.goto(base(case))
    page.get_by_label("overrule").check()
    page.get_by_label("valid, a bird").check()
    page.locator("summary", has_text="Your own words").click()
    page.locator("#words").fill("The wing is folded, not hidden.")
    UserSession.objects.all().delete()
    page.get_by_role("button", name="Vote").click()
    page.get_by_role("button", name="Send", exact=True).click()
    page.fill("#id_username", member.username)
    page.fill("#id_password", factories.PASSWORD)
    page.click("main button[type=submit]")
    expect(page.locator("#words")).to_have_value("The wing is folded, not hidden.")
    expect(page.get_by_label("valid, a bird")).to_be_checked()
    assert not Vote.objects.filter(case=case).exists()
    page.get_by_role("button", name="Vote").click()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator(".notice")).to_contain_text("Your vote is recorded")
    assert page.evaluate("sessionStorage.length") == 0, "nothing is left of the draft"
    page.go_back()
    expect(page.locator("h1")).to_contain_text(case.public_id)
    assert Vote.objects.filter(case=case).count() == 1


def test_what_another_account_typed_in_the_same_tab_stays_its_own(
    rich: tuple[Scene, Case], browser: Callable[..., BrowserContext]
) -> None:
    scene, case = rich
    for member in scene.members[:2]:
        cast.tell(case, member)
    page = signed_in(browser(), scene.members[0].username)
    page.goto(base(case))
    page.locator("summary", has_text="Your own words").click()
    page.locator("#words").fill("Between us: it is hidden.")
    UserSession.objects.all().delete()
    page.reload()
    page.fill("#id_username", scene.members[1].username)
    page.fill("#id_password", factories.PASSWORD)
    page.click("main button[type=submit]")
    expect(page.locator("#vote-form")).to_be_visible()
    expect(page.locator("#words")).to_have_value("")
