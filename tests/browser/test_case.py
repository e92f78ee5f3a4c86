"""Cases of the board in a real browser: disclosed, looked at and voted on by keyboard, confirmed by a second member."""

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import BrowserContext, Page, expect

from accounts.models import UserSession
from contest.board.models import Vote
from contest.core.enums import CaseState, VoteChoice
from contest.core.models import Case
from tests.browser.looking import (
    CHECKED,
    HIDDEN,
    SHOWN,
    Look,
    counts,
    follow,
    holds,
    once,
    organizer,
    press,
    push,
    shows,
    signed_in,
    signs_in,
)
from tests.contest.board import case_cast, cast
from tests.contest.board.cast import Scene


def made() -> tuple[Scene, Case]:
    """A case with two sides, marks, a settled one like it, and a motion beside it."""
    organizer()
    return case_cast.rich()


rich = once(made)


def pages(found: tuple[Scene, Case]) -> list[Look]:
    scene, case = found
    mia, other, third = scene.members
    motion, new = case_cast.motion(scene, other, scene.blue), case_cast.another(scene)
    for each in (case, motion):
        cast.tell(each, mia)
    cast.vote(case, third, VoteChoice.UPHOLD, words="It is good as it is.", public=True)
    cast.vote(case, mia, cast.OVERRULE_REJECTED)
    cast.conflict(third, scene.red)
    cases = [base(new), base(case), base(case, "decide/"), base(Case.objects.get(state=CaseState.CLOSED)), base(motion)]
    return [
        (mia, "/board/?state=all"),
        *((mia, address) for address in cases),
        (third, "/board/conflicts/"),
        ("olga", "/organizer/conflicts/"),
    ]


def base(case: Case, part: str = "") -> str:
    return f"/board/cases/{case.public_id}/{part}"


def test_a_member_discloses_looks_and_votes_by_keyboard(rich: tuple[Scene, Case], visit: Callable[..., Page]) -> None:
    scene, case = rich
    page = visit("/board/", scene.members[0])
    page.get_by_role("link", name=case.public_id).click()
    shows(page, {"h1": f"Before case {case.public_id} opens"})
    expect(page.locator("main")).not_to_contain_text(scene.image.public_id)
    page.get_by_label("I step aside").first.check()
    expect(page.get_by_label("Kind of conflict").first).to_be_visible()
    for choice in page.get_by_label("No conflict with this team").all():
        choice.check()
    expect(page.get_by_label("Kind of conflict").first).to_be_hidden()
    page.get_by_role("button", name="Record and go on").click()
    expect(page.locator("h1")).to_contain_text(scene.image.public_id)
    # The outlines.
    follow(
        page,
        *[("", ".of-2", SHOWN), ("2", ".of-2", HIDDEN), ("", "#spoken", "hidden"), ("2", ".of-2", SHOWN)],
        *[("b", ".of-box", HIDDEN), ("0", ".outline:visible", counts(0)), ("0", ".outline:visible", counts(3))],
        *[("?", "#keys", SHOWN), ("Escape", "#keys", HIDDEN)],
    )
    # The vote: chosen, asked for, sent.
    press(page, "o")
    expect(page.get_by_label("valid, a bird")).to_be_visible()
    page.get_by_label("valid, a bird").check()
    follow(page, ("Enter", "#sure-words", "Overrule: valid, a bird"), ("Escape", "#sure-words", HIDDEN))
    assert not Vote.objects.filter(case=case).exists()
    page.get_by_label("valid, a bird").focus()
    press(page, "Enter", "Enter")
    told = "Your vote is recorded: overrule (valid, a bird)"
    shows(page, {"[role=status] >> nth=0": told, "#vote": "Your vote: overrule (valid, a bird)"})


def test_each_pixel_is_whole_nothing_is_scrolled_for_and_paper_has_no_form(
    rich: tuple[Scene, Case], visit: Callable[..., Page]
) -> None:
    scene, case = rich
    cast.tell(case, scene.members[0])
    page: Any = visit(base(case), scene.members[0])
    for part in ("#picture", "#vote-send"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= 768, part
    width = "(each) => each.getBoundingClientRect().width"
    assert page.locator("#picture").evaluate(width) == 2 * 299
    assert page.locator("#picture image").evaluate("(each) => getComputedStyle(each).imageRendering") == "pixelated"
    page.emulate_media(media="print")
    for shown in ("#picture", ".answers", ".certificate", ".argument"):
        expect(page.locator(shown).first).to_be_visible()
    shows(page, dict.fromkeys(["#vote-form", ".case-nav", ".site-header nav"], HIDDEN))
    assert visit(base(case), scene.members[0], screen="phone").locator("#picture").evaluate(width) == 299


def test_the_picture_is_enlarged_moved_and_brightened(rich: tuple[Scene, Case], visit: Callable[..., Page]) -> None:
    scene, case = rich
    cast.tell(case, scene.members[0])
    page = visit(base(case), scene.members[0])
    tools, picture = page.locator("#picture-tools"), page.locator("#picture")
    follow(page, ("+ +", "#picture-tools output", "225 %"))
    whole = picture.get_attribute("viewBox")
    box: Any = picture.bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 220, steps=4)
    page.mouse.up()
    assert picture.get_attribute("viewBox") != whole, "dragging moves what is seen"
    assert picture.bounding_box() == box, "in the same place of the page"
    tools.get_by_label("Brightness").fill("200")
    assert "brightness(2" in picture.evaluate("(each) => getComputedStyle(each).filter")
    follow(page, ("-", "#picture-tools output", "150 %"))
    seen = picture.get_attribute("viewBox")
    tools.get_by_role("button", name="Fit").focus()
    press(page, "ArrowRight", "ArrowDown")
    assert picture.get_attribute("viewBox") != seen, "and so do the arrows"
    push(page, "Fit")
    shows(page, {"#picture-tools output": "100 %"})
    expect(picture).to_have_attribute("viewBox", "0 0 299 299")


def test_the_keys_lead_from_case_to_case(rich: tuple[Scene, Case], visit: Callable[..., Page]) -> None:
    scene, case = rich
    later = case_cast.another(scene)
    for each in (case, later):
        cast.tell(each, scene.members[0])
    page = visit(base(case), scene.members[0])
    follow(page, ("j", "h1", later.public_id), ("k", "h1", case.public_id))
    own_words(page, "")
    page.locator("#words").press_sequentially("umo0?j")
    expect(page.locator("#words")).to_have_value("umo0?j")
    expect(page).to_have_url(re.compile(case.public_id))


def test_an_explanation_is_shown_as_everybody_will_read_it(
    rich: tuple[Scene, Case], visit: Callable[..., Page]
) -> None:
    scene, case = rich
    for member in scene.members[:2]:
        cast.tell(case, member)
        cast.vote(case, member, cast.OVERRULE_REJECTED)
    page = visit(base(case, "decide/"), scene.members[0])
    page.locator("#explanation").fill("It is <b>one</b> bird.\n\nIts tail is\nwhole.")
    expect(page.locator("[data-preview] p")).to_have_text(["It is <b>one</b> bird.", "Its tail iswhole."])


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
    own_words(page, "The wing is folded, not hidden.")
    UserSession.objects.all().delete()
    votes(page)
    signs_in(page, member.username)
    shows(page, {"#words": holds("The wing is folded, not hidden."), "label:has-text('valid, a bird') input": CHECKED})
    assert not Vote.objects.filter(case=case).exists()
    votes(page)
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
    own_words(page, "Between us: it is hidden.")
    UserSession.objects.all().delete()
    page.reload()
    signs_in(page, scene.members[1].username)
    shows(page, {"#vote-form": SHOWN, "#words": holds("")})


def own_words(page: Page, words: str) -> None:
    page.locator("summary", has_text="Your own words").click()
    page.locator("#words").fill(words)


def votes(page: Page) -> None:
    push(page, "Vote")
    page.get_by_role("button", name="Send", exact=True).click()
